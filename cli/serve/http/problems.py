"""Problems: a status, and JSON with the error, its place and a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from tracehouse.ingest.errors import IngestError, ManifestError
from tracehouse.queries.printable import printable
from tracehouse.warehouse.errors import (
    ArchiveError,
    FullDiskError,
    ParameterError,
    QueryError,
    StoreError,
    UnknownQueryError,
    WarehouseError,
)

TYPE = "application/problem+json"


class Problem(HTTPException):
    """A request that is refused or fails.

    Attributes:
        status_code: Status of the answer.
        detail: What is wrong and what to do, as a sentence.
        reason: A word for programs.
        more: Other fields of the answer.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        detail: str,
        *,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> None:
        wait = {} if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(status, detail, {**(headers or {}), **wait})
        self.reason, self.more = reason, more or {}

    def content(self) -> dict[str, object]:
        """The fields of the answer."""
        return {
            "status": self.status_code,
            "reason": self.reason,
            "detail": "\n".join(map(printable, self.detail.split("\n"))),
            **self.more,
        }


def problem_response(problem: Problem) -> Response:
    """The answer that states a problem."""
    headers = problem.headers
    return JSONResponse(problem.content(), problem.status_code, headers=headers, media_type=TYPE)


def as_problem(error: Exception) -> Problem:
    """The problem that reports an error to the client."""
    match error:
        case Problem():
            return error
        case HTTPException():
            status = HTTPStatus(error.status_code)
            detail = f"{error.detail}: /v1/openapi.json lists all endpoints"
            return Problem(status, status.name.lower(), detail, headers=error.headers)
        case ClientDisconnect():  # for the logs; the client is gone
            return Problem(400, "disconnected", "the client went away")
        case UnknownQueryError():
            return Problem(404, "unknown_query", str(error))
        case StoreError() | ArchiveError():
            return _store_problem(error)
        case ParameterError():  # reports name their parameters like options
            return Problem(400, "refused", str(error).removeprefix("--"))
        case IngestError() | QueryError() | WarehouseError():
            reason = "manifest" if isinstance(error, ManifestError) else "refused"
            return Problem(400, reason, str(error))
    return Problem(500, "internal", "the service failed; its log has the details")


def _store_problem(error: StoreError | ArchiveError) -> Problem:
    """The problem of a store that cannot be read or written now."""
    if isinstance(error, FullDiskError):
        return Problem(507, "disk_full", str(error), retry_after=30)
    return Problem(503, "store", str(error), retry_after=5)


async def answer_problem(request: Request, error: Exception) -> Response:
    """The answer to a request that failed; the request's state keeps the reason for the logs."""
    problem = as_problem(error)
    request.state.reason = problem.reason
    return problem_response(problem)
