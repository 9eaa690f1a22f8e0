"""`POST /v1/sql`: SQL over the newest snapshot, which a separate process answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from cli.serve.access.authorization import Scope
from cli.serve.access.pools import need_all_pools
from cli.serve.answers.questions import ConcurrencyLimit
from cli.serve.answers.tables import TABLE_FORMS, table_answer
from cli.serve.http.bodies import read_short
from cli.serve.http.endpoints import TABLE_FORMAT, TEXT, Endpoint, Operation, table_content
from cli.serve.http.negotiation import choose_form
from cli.serve.http.problems import Problem
from cli.serve.service import Service
from ingest.strict_json import parse_json
from warehouse.errors import CostlyStatementError, StatementError
from warehouse.sandbox.bounds import SnapshotAnswer

_MOST_BODY_BYTES = 64 << 10
WAITING = 4  # statements that may wait for each worker
_PLAIN = str | int | float | bool | None
_STATUSES = {
    "seconds": (504, "deadline"),
    "memory": (422, "memory"),
    "answer": (413, "answer_too_long"),
    "text": (413, "statement_too_long"),
}


class _Statement(NamedTuple):
    text: str
    params: Mapping[str, object] | Sequence[object] | None = None


async def ask_sql(
    request: Request,
    text: str,
    params: Mapping[str, object] | Sequence[object] | None = None,
) -> SnapshotAnswer:
    """Rows of a statement of a client that may use SQL; see `check_access`.

    Raises:
        Problem: The statement is wrong or too costly, or too many statements wait.
    """
    request.state.what, request.state.is_audited = text, True
    service: Service = request.app.state.service
    limit: ConcurrencyLimit = request.app.state.sql_limit
    try:
        return await limit.run(partial(service.sandbox.answer, text, params))
    except CostlyStatementError as error:
        status, reason = _STATUSES[error.bound]
        raise Problem(status, reason, str(error)) from error
    except StatementError as error:
        raise Problem(400, "statement", str(error)) from error


def check_access(request: Request) -> None:
    """Check that the client may use SQL; a Problem is passed on if it may not."""
    service: Service = request.app.state.service
    need_all_pools(service.access.need(request, Scope.SQL), "SQL")


async def _sql(request: Request) -> Response:
    need_all_pools(request.state.bearer, "SQL")
    form = choose_form(request, TABLE_FORMS)
    threads = request.app.state.service.spooling
    body = await read_short(
        request, threads, most_bytes=_MOST_BODY_BYTES, reason="statement_too_long"
    )
    table, taken_at = await ask_sql(request, *_read_statement(request, body))
    headers = {"Tracehouse-Snapshot": taken_at.isoformat().replace("+00:00", "Z")}
    return await run_in_threadpool(table_answer, request, table, form, headers=headers)


def _read_statement(request: Request, body: bytes) -> _Statement:
    """The statement in a body.

    Raises:
        Problem: 400 or 415; the body is malformed or of another type.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if media_type == "text/plain":
            return _Statement(body.decode())
        if media_type == "application/json":
            return _parse_statement(parse_json(body))
    except (ValueError, RecursionError) as error:
        detail = f"the body {error}" if isinstance(error, ValueError) else "the body is too deep"
        raise Problem(400, "body", detail) from error
    detail = 'wanted application/json, as {"sql": "SELECT 1"}, or text/plain'
    raise Problem(415, "media_type", detail)


def _parse_statement(value: object) -> _Statement:
    """The statement in a JSON body.

    Raises:
        ValueError: The body has no statement, or more than that.
    """
    if not isinstance(value, dict) or not isinstance(value.get("sql"), str):
        raise ValueError('lacks "sql", wanted {"sql": "SELECT $a", "params": {"a": 1}}')
    if unknown := value.keys() - {"sql", "params"}:
        raise ValueError(f"has '{min(unknown)}', wanted only sql and params")
    params = value.get("params")
    if not (params is None or _is_flat(params)):
        raise ValueError(
            "has bad params, wanted a list or an object of texts, numbers and booleans"
        )
    return _Statement(value["sql"], params)


def _is_flat(params: object) -> bool:
    if not isinstance(params, dict | list):
        return False
    values = params.values() if isinstance(params, dict) else params
    return all(isinstance(value, _PLAIN) for value in values)


def routes() -> list[Endpoint]:
    """Endpoint of SQL."""
    statement = {
        "type": "object",
        "required": ["sql"],
        "properties": {"sql": TEXT, "params": {"type": ["object", "array", "null"]}},
        "additionalProperties": False,
    }
    operation = Operation(
        "post",
        "/v1/sql",
        "Rows of a SELECT over the newest snapshot.",
        (Scope.SQL,),
        {200: table_content()},
        (TABLE_FORMAT,),
        {"application/json": statement, "text/plain": TEXT},
        (400, 406, 408, 413, 415, 422, 429, 503, 504),
    )
    return [Endpoint(_sql, operation)]
