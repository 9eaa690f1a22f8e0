"""The view of SQL, with the recipes of the documents; the statement is in the address."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tracehouse.cli.agents.resources import resources
from tracehouse.cli.serve.access.authorization import Unauthorized
from tracehouse.cli.serve.answers.questions import query_store
from tracehouse.cli.serve.answers.sql import check_access, run_sql
from tracehouse.cli.serve.http.responses import (
    TABLE_FORMS,
    check_parameters,
    choose_form,
    table_answer,
)
from tracehouse.cli.serve.page.cells import Row, link
from tracehouse.cli.serve.page.charts import answer_chart, svg_answer
from tracehouse.cli.serve.page.listing import Column, Shown, listing, turn_pages
from tracehouse.cli.serve.page.page_request import Address
from tracehouse.cli.serve.page.site import ERRORS, problem_parts, read_address, show, to_login
from tracehouse.queries.cells import Column as CellColumn
from tracehouse.queries.cells import columns_of
from tracehouse.queries.plain_values import plain_rows
from tracehouse.queries.report.figures import NONE, count_text
from tracehouse.warehouse.sandbox.bounds import SnapshotAnswer
from tracehouse.warehouse.store import Store

ROWS = 200  # of a page
FIELDS = ("sql", "page", "y", "format", "stop")
_FILES = ("csv", "json", "arrow", "parquet")
_DOCUMENT = "tracehouse://docs/sql-recipes"
# Views of people, with names and nanoseconds; all else stands folded below them.
_HUMAN = ("named_", "operator_stats", "builds_in_order", "complete_runs", "ingest_errors")
_NEWEST = """SELECT device, build, model, backend, (
    SELECT build FROM builds_in_order ORDER BY position DESC LIMIT 1 OFFSET 1
) AS before
FROM named_dumps
ORDER BY dump_id DESC
LIMIT 1"""
_Tables = list[tuple[str, list[Row]]]


@cache
def read_recipes() -> tuple[tuple[str, str], ...]:
    """Title and statement of each recipe of docs/sql-recipes.md."""
    document = resources().get(_DOCUMENT)
    parts = document.read().split("\n## ")[1:] if document else []
    return tuple(
        (part.partition("\n")[0], part.partition("```sql\n")[2].partition(";\n")[0])
        for part in parts
        if "```sql\n" in part
    )


def _fit(statement: str, newest: Row) -> str:
    """A recipe with the newest names of the store in place of those of the document."""
    is_pair = "'f136'" in statement
    places = {
        "'lab-x86-quiet-ab'": "device",
        "'f136'": "build",
        "'base'": "before" if is_pair else "build",
        "'txf'": "model",
        "'portable'": "backend",
    }
    if newest["backend"] is None:
        statement = statement.replace("backend = 'portable'", "backend IS NULL")
    for text, name in places.items():
        if newest[name] is not None:
            statement = statement.replace(text, "'" + newest[name].replace("'", "''") + "'")
    return statement


async def sql_box(request: Request) -> Response:
    """The box, and the answer to its statement, as a page or as a file.

    With `stop`, the statement is not run: the browser leaves the page that waits for its answer,
    and the service stops the statement of a client that has gone.
    """
    text = request.query_params.get("sql", "")
    parts: dict[str, Any] = {"title": "SQL", "sql": text, "recipes": ()}
    status = 200
    try:
        check_access(request)
        check_parameters(request, FIELDS)
        parts |= await _facts(request)
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


async def _facts(request: Request) -> dict[str, Any]:
    """The recipes, and the tables with their columns, which are read once."""
    state = request.app.state

    def read(store: Store) -> tuple[list[Row], _Tables]:
        newest = store.sql(_NEWEST).to_pylist()
        if hasattr(state, "schema"):
            return newest, state.schema
        tables: dict[str, list[Row]] = {}
        for row in store.schema().to_pylist():
            tables.setdefault(row["table_name"], []).append(row)
        return newest, list(tables.items())

    newest, state.schema = await query_store(request, read)
    return {
        "recipes": [
            (title, link("/sql", sql=_fit(text, newest[0]) if newest else text))
            for title, text in read_recipes()
        ],
        "schema": [one for one in state.schema if one[0].startswith(_HUMAN)],
        "internals": [one for one in state.schema if not one[0].startswith(_HUMAN)],
    }


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
        Column(one.name, partial(_text, column=one, number=str(number)), is_number=one.is_number)
        for number, one in enumerate(columns_of(table))
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


def _text(row: Row, column: CellColumn, number: str) -> str:
    text = column.text(row[number])
    return NONE if text is None else text
