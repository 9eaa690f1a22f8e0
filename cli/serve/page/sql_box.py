"""The view of SQL, with recipes; the statement is in the address, so an answer can be linked."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tracehouse.cli.output.text import is_number
from tracehouse.cli.serve.access.authorization import Unauthorized
from tracehouse.cli.serve.answers.questions import query_store
from tracehouse.cli.serve.answers.sql import check_access, run_sql
from tracehouse.cli.serve.answers.tables import TABLE_FORMS, table_answer
from tracehouse.cli.serve.http.negotiation import check_parameters, choose_form
from tracehouse.cli.serve.page.answer_chart import answer_chart
from tracehouse.cli.serve.page.cells import Row
from tracehouse.cli.serve.page.charts import svg_answer
from tracehouse.cli.serve.page.listing import Column, Shown, listing, turn_pages
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.cli.serve.page.site import ERRORS, problem_parts, read_address, show, to_login
from tracehouse.queries.plain_values import plain_rows
from tracehouse.queries.printable import json_text
from tracehouse.queries.report.figures import NONE, count_text
from tracehouse.warehouse.sandbox.bounds import SnapshotAnswer

ROWS = 200  # of a page
FIELDS = ("sql", "page", "y", "format", "stop")
_FILES = ("csv", "json", "arrow", "parquet")
RECIPES = (
    ("Dumps of each device", "SELECT device, count(*) AS dumps, max(captured_at) AS last\n"
     "FROM named_dumps\nGROUP BY device\nORDER BY dumps DESC"),
    ("Slowest operators of the last build", "SELECT device, model, event_name, kind,\n"
     "    median(p50_ns) / 1e3 AS p50_us\nFROM named_event_stats\nWHERE build = (\n"
     "    SELECT build FROM builds_in_order ORDER BY position DESC LIMIT 1\n)\n"
     "GROUP BY ALL\nORDER BY p50_us DESC NULLS LAST\nLIMIT 50"),
    ("How each model is spread over builds", "SELECT model, backend, device, build,\n"
     "    count(*) AS dumps, median(p50_ns) / 1e6 AS p50_ms\nFROM named_event_stats\n"
     "WHERE event_name = 'Method::execute'\nGROUP BY ALL\n"
     "ORDER BY model, backend, device, build"),
    ("Why dumps were refused", "SELECT reason, count(*) AS files\nFROM ingest_errors\n"
     "GROUP BY reason\nORDER BY files DESC"),
    ("Tables and columns", "SELECT table_name, column_name, data_type, comment\n"
     "FROM duckdb_columns()\nWHERE NOT internal\nORDER BY ALL"),
)  # fmt: skip


async def sql_box(request: Request) -> Response:
    """The box, and the answer to its statement, as a page or as a file.

    With `stop`, the statement is not run: the browser leaves the page that waits for its answer,
    and the service stops the statement of a client that has gone.
    """
    text = request.query_params.get("sql", "")
    parts: dict[str, Any] = {"title": "SQL", "sql": text, "recipes": RECIPES}
    status = 200
    try:
        check_access(request)
        check_parameters(request, FIELDS)
        parts["schema"] = await _schema(request)
        if text.strip() and "stop" not in request.query_params:
            answer = await run_sql(request, text)
            if "format" in request.query_params:
                return await run_in_threadpool(_file, request, answer.table)
            parts |= await run_in_threadpool(_answer, read_address(request), answer)
    except Unauthorized:
        return to_login(request)
    except ERRORS as error:
        status, failed = problem_parts(request, error)
        parts |= failed
    return show(request, "sql", parts, status=status)


async def _schema(request: Request) -> list[tuple[str, list[Row]]]:
    """The tables and views with their columns, which are read once."""
    state = request.app.state
    if not hasattr(state, "schema"):
        rows = await query_store(request, lambda store: store.schema().to_pylist())
        tables: dict[str, list[Row]] = {}
        for row in rows:
            tables.setdefault(row["table_name"], []).append(row)
        state.schema = list(tables.items())
    found: list[tuple[str, list[Row]]] = state.schema
    return found


def _file(request: Request, table: pa.Table) -> Response:
    if request.query_params["format"] == "svg":
        return svg_answer(answer_chart(read_address(request), table))
    form = choose_form(request, TABLE_FORMS)
    name = {"Content-Disposition": f'attachment; filename="answer.{form}"'}
    return table_answer(request, table, form, headers=name)


def _answer(address: Address, answer: SnapshotAnswer) -> dict[str, Any]:
    table, taken_at = answer
    start, pager = turn_pages(address, table.num_rows, size=ROWS)
    columns = [
        Column(field.name, partial(_text, number=str(number)), is_number=is_number(field.type))
        for number, field in enumerate(table.schema)
    ]
    rows = [
        {str(i): value for i, value in enumerate(row)}
        for row in plain_rows(table.slice(start, ROWS))
    ]
    return {
        "tables": [listing(address, "Answer", columns, Shown(rows, pager=pager))],
        "lead": (
            f"{count_text(table.num_rows, 'row')}, from the snapshot of "
            f"{taken_at:%Y-%m-%d %H:%M:%S}Z"
        ),
        "charts": answer_chart(address, table),
        "files": [(form, address.here(format=form, page="")) for form in _FILES],
    }


def _text(row: Row, number: str) -> str:
    value = row[number]
    if value is None:
        return NONE
    return value if isinstance(value, str) else json_text(value)
