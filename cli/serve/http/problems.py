"""What goes wrong, as answers: a status, and JSON that says what, where and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ingest.errors import IngestError
from queries.printable import printable
from warehouse.errors import (
    ParameterError,
    QueryError,
    StoreError,
    UnknownQueryError,
    WarehouseError,
)

TYPE = "application/problem+json"


class Problem(HTTPException):
    """A request that is not answered as it was meant.

    Attributes:
        status_code: The answer's status.
        detail: What is wrong and what to do, as a sentence.
        reason: The same for programs: a word.
        more: What its answer says besides.
    """

    def __init__(
        self,
        status: HTTPStatus,
        reason: str,
        detail: str,
        *,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        """Say what is wrong; `retry_after` are seconds."""
        wait = {} if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(status, detail, {**(headers or {}), **wait})
        self.reason, self.more = reason, more or {}

    def content(self) -> dict[str, object]:
        """What its answer says."""
        return {
            "status": self.status_code,
            "reason": self.reason,
            "detail": "\n".join(map(printable, self.detail.split("\n"))),
            **self.more,
        }


def problem_response(problem: Problem) -> Response:
    """A problem as an answer."""
    headers = problem.headers
    return JSONResponse(problem.content(), problem.status_code, headers=headers, media_type=TYPE)


def as_problem(error: Exception) -> Problem:
    """What a request ran into, as its answer says it."""
    match error:
        case Problem():
            return error
        case HTTPException():
            status = HTTPStatus(error.status_code)
            detail = f"{error.detail}: /v1/openapi.json says what can be asked"
            return Problem(status, status.name.lower(), detail, headers=error.headers)
        case ClientDisconnect():  # which nobody hears
            return Problem(HTTPStatus.BAD_REQUEST, "disconnected", "the client went away")
        case UnknownQueryError():
            return Problem(HTTPStatus.NOT_FOUND, "unknown_query", str(error))
        case StoreError():
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "store", str(error), retry_after=5)
        case ParameterError():  # those of reports are called as options are
            return Problem(HTTPStatus.BAD_REQUEST, "refused", str(error).removeprefix("--"))
        case IngestError() | QueryError() | WarehouseError():
            return Problem(HTTPStatus.BAD_REQUEST, "refused", str(error))
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "the service failed; see its log")


async def answer_problem(request: Request, error: Exception) -> Response:
    """The answer to a request that ran into an error; its state keeps the reason, for the logs."""
    problem = as_problem(error)
    request.state.reason = problem.reason
    return problem_response(problem)
