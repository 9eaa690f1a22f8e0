"""`POST /v1/sql`: SQL from anybody, answered out of the newest snapshot in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from cli.serve.access.authorization import Scope
from cli.serve.access.pools import need_all_pools
from cli.serve.answers.limits import ConcurrencyLimit
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
_WAITING = 4  # for each that is answered
_PLAIN = str | int | float | bool | None
_STATUSES = {
    "seconds": (HTTPStatus.GATEWAY_TIMEOUT, "deadline"),
    "memory": (HTTPStatus.UNPROCESSABLE_ENTITY, "memory"),
    "answer": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "answer_too_long"),
    "text": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "statement_too_long"),
}


class _Statement(NamedTuple):
    text: str
    params: Mapping[str, object] | Sequence[object] | None = None


class SqlLimits:
    """Has statements answered, as many at a time as there may be workers."""

    def __init__(self, service: Service) -> None:
        """Nobody asks yet."""
        workers = service.settings.sql_workers
        self._service, self._turns = service, ConcurrencyLimit(workers, _WAITING * workers)

    async def ask(
        self,
        request: Request,
        text: str,
        params: Mapping[str, object] | Sequence[object] | None = None,
    ) -> SnapshotAnswer:
        """Rows of a statement of somebody who may ask it, see `check_asker`.

        Raises:
            Problem: 429 if too many ask; else what is wrong with it, or its cost.
        """
        request.state.what, request.state.is_audited = text, True
        return await self._turns.take(lambda: _answer(self._service, text, params))


def check_asker(request: Request) -> None:
    """Pass if whoever asks may ask SQL.

    Raises:
        Problem: 401 or 403; they may not.
    """
    service: Service = request.app.state.service
    need_all_pools(service.access.need(request, Scope.SQL), "SQL")


async def _sql(request: Request) -> Response:
    turns: SqlLimits = request.app.state.sql_limits
    need_all_pools(request.state.bearer, "SQL")
    form = choose_form(request, TABLE_FORMS)
    threads = request.app.state.service.spooling
    body = await read_short(
        request, threads, most_bytes=_MOST_BODY_BYTES, reason="statement_too_long"
    )
    table, taken_at = await turns.ask(request, *_read_statement(request, body))
    headers = {"Tracehouse-Snapshot": taken_at.isoformat().replace("+00:00", "Z")}
    return await run_in_threadpool(table_answer, request, table, form, headers=headers)


def _answer(
    service: Service, text: str, params: Mapping[str, object] | Sequence[object] | None
) -> SnapshotAnswer:
    try:
        return service.sandbox.answer(text, params)
    except CostlyStatementError as error:
        status, reason = _STATUSES[error.bound]
        raise Problem(status, reason, str(error)) from error
    except StatementError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "statement", str(error)) from error


def _read_statement(request: Request, body: bytes) -> _Statement:
    """What is asked.

    Raises:
        Problem: 400 or 415; it is not said as it should be.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if media_type == "text/plain":
            return _Statement(body.decode())
        if media_type == "application/json":
            return _parse_statement(parse_json(body))
    except (ValueError, RecursionError) as error:
        detail = f"the body {error}" if isinstance(error, ValueError) else "the body is too deep"
        raise Problem(HTTPStatus.BAD_REQUEST, "body", detail) from error
    detail = 'wanted application/json, as {"sql": "SELECT 1"}, or text/plain'
    raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "media_type", detail)


def _parse_statement(value: object) -> _Statement:
    """The statement of a JSON body.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(value, dict) or not isinstance(value.get("sql"), str):
        raise ValueError('lacks "sql", wanted {"sql": "SELECT $a", "params": {"a": 1}}')
    if unknown := value.keys() - {"sql", "params"}:
        raise ValueError(f"has '{min(unknown)}', wanted only sql and params")
    params = value.get("params")
    if not (params is None or _is_flat(params)):
        raise ValueError("has params that are no list or object of texts, numbers and truths")
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
