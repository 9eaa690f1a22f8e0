"""The view of SQL, with recipes; the statement is in the address, so an answer can be linked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from cli.output.text import is_number
from cli.serve.access.authorization import Unauthorized
from cli.serve.answers.sql import check_access, run_sql
from cli.serve.http.problems import Problem
from cli.serve.page.site import Table, more_text, show, show_problem, to_login
from queries.plain_values import plain_rows
from queries.printable import json_text
from queries.report.figures import NONE, count_text
from warehouse.errors import WarehouseError

MOST_ROWS = 500
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
    """The box, and the answer to its statement."""
    text = request.query_params.get("sql", "")
    parts: dict[str, Any] = {"title": "SQL", "sql": text, "recipes": RECIPES}
    try:
        check_access(request)
        if not text.strip():
            return show(request, "sql", parts)
        table, taken_at = await run_sql(request, text)
    except Unauthorized:
        return to_login(request)
    except (Problem, WarehouseError) as error:
        return show_problem(request, error, "sql", parts)
    answer = await run_in_threadpool(_answer, table, taken_at)
    return show(request, "sql", {**parts, **answer})


def _answer(table: pa.Table, taken_at: datetime) -> dict[str, Any]:
    rows = [list(map(_text, row)) for row in plain_rows(table.slice(0, MOST_ROWS))]
    numbers = frozenset(i for i, column in enumerate(table.schema) if is_number(column.type))
    return {
        "tables": [Table("Answer", table.column_names, rows, numbers)],
        "lead": (
            f"{count_text(table.num_rows, 'row')}, from the snapshot of "
            f"{taken_at:%Y-%m-%d %H:%M:%S}Z"
        ),
        "cut": more_text(table.num_rows - MOST_ROWS, "row", "POST /v1/sql returns all of them"),
    }


def _text(value: object) -> str:
    if value is None:
        return NONE
    return value if isinstance(value, str) else json_text(value)
