"""`POST /v1/sql`: SQL over the newest snapshot, which a separate process answers."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tracehouse.cli.serve.access.authorization import Scope, need_all_pools
from tracehouse.cli.serve.http.connections import MOST_PARAMETERS
from tracehouse.cli.serve.http.endpoints import (
    TABLE_FORMAT,
    TEXT,
    Operation,
    media_type_of,
    parse_body,
    read_short,
    table_content,
)
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import TABLE_FORMS, choose_form, table_answer
from tracehouse.cli.serve.http.threads import ConcurrencyLimit, stopping_without_client
from tracehouse.cli.serve.service import Service
from tracehouse.ingest.errors import pydantic_problem
from tracehouse.warehouse.errors import CostlyStatementError, StatementError
from tracehouse.warehouse.sandbox.bounds import SnapshotAnswer
from tracehouse.warehouse.sandbox.workers import Stop

_EXAMPLE = '{"sql": "SELECT $a", "params": {"a": 1}}'
_STATUSES = {
    "seconds": (504, "deadline"),
    "memory": (422, "memory"),
    "answer": (413, "answer_too_long"),
    "text": (413, "statement_too_long"),
}
Value = str | int | float | bool | None
_Few = Field(max_length=MOST_PARAMETERS)
Params = Annotated[dict[str, Value], _Few] | Annotated[list[Value], _Few] | None


class Statement(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sql: str
    params: Params = None


async def run_sql(request: Request, text: str, params: Params = None) -> SnapshotAnswer:
    """Rows of a statement of a client that may use SQL; see `check_access`.

    Raises:
        Problem: The statement is wrong or too costly, or too many statements wait.
    """
    request.state.what, request.state.is_audited = text, True
    service: Service = request.app.state.service
    limit: ConcurrencyLimit = request.app.state.sql_limit
    stop = Stop()
    try:
        async with stopping_without_client(request, stop.set):
            return await limit.run(partial(service.sandbox.answer, text, params, stop=stop))
    except CostlyStatementError as error:
        status, reason = _STATUSES[error.bound]
        raise Problem(status, reason, str(error)) from error
    except StatementError as error:
        raise Problem(400, "statement", str(error)) from error


def check_access(request: Request) -> None:
    """Check that the client may use SQL; a Problem is passed on if it may not."""
    service: Service = request.app.state.service
    need_all_pools(service.access.need(request, Scope.SQL), "SQL")


@Operation(
    "/v1/sql",
    "Rows of a SELECT over the newest snapshot.",
    {200: table_content()},
    (TABLE_FORMAT,),
    "post",
    (Scope.SQL,),
    {"application/json": Statement.model_json_schema(), "text/plain": TEXT},
    (400, 406, 408, 413, 415, 422, 429, 503, 504),
)
async def sql(request: Request) -> Response:
    """The rows of the statement in the body."""
    need_all_pools(request.state.bearer, "SQL")
    form = choose_form(request, TABLE_FORMS)
    body = await read_short(request, reason="statement_too_long")
    text, params = read_statement(media_type_of(request), body)
    table, taken_at = await run_sql(request, text, params)
    headers = {"Tracehouse-Snapshot": taken_at.isoformat().replace("+00:00", "Z")}
    return await run_in_threadpool(table_answer, request, table, form, headers=headers)


def read_statement(media_type: str, body: bytes) -> tuple[str, Params]:
    """The statement and its parameters in a body.

    Raises:
        Problem: 400 or 415; the body is malformed.
    """
    try:
        if media_type == "text/plain":
            return body.decode(), None
        if media_type == "application/json":
            statement = Statement.model_validate(parse_body(body))
            return statement.sql, statement.params
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{name}: " for name in first["loc"][:1])
        detail = f"the body: {place}{pydantic_problem(first['msg'])}; wanted {_EXAMPLE}"
        raise Problem(400, "body", detail) from error
    except UnicodeDecodeError as error:
        raise Problem(400, "body", f"the body is not UTF-8: {error.reason}") from error
    raise Problem(415, "media_type", f"wanted application/json, as {_EXAMPLE}, or text/plain")
