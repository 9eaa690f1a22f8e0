"""One view of any canned query, made from its header: filters, plot, table, files and its SQL."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from glob import escape
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from starlette.responses import Response

from tracehouse.cli.serve.answers.questions import QueryRequest
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import Page
from tracehouse.cli.serve.page.answer_table import answer_table
from tracehouse.cli.serve.page.cells import METHOD, link
from tracehouse.cli.serve.page.charts import Chart, svg_answer
from tracehouse.cli.serve.page.filter_form import Wanted, filter_form
from tracehouse.cli.serve.page.history import choose_builds, history_parts
from tracehouse.cli.serve.page.page_request import (
    DATES,
    MOST_ROWS,
    NAMES,
    Address,
    PageRequest,
    check_length,
)
from tracehouse.queries.plots.figure import query_figure
from tracehouse.queries.plots.terminal import HISTORIES
from tracehouse.queries.questions import QUESTIONS, TITLES
from tracehouse.queries.report.figures import count_text
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.catalogue.queries import Query, find_query
from tracehouse.warehouse.errors import QueryError

SHORT = 4  # questions of a group beside an answer
VIEW_FIELDS = ("sort", "page", "scale", "zero", "at")
_FILES = {"CSV": "csv", "JSON": "json", "Arrow": "arrow", "Parquet": "parquet"}
# Groups whose queries are about one build, if the address names none.
_OF_ONE_BUILD = ("Where time goes", "How fast", "Memory and energy")
_EVERY = "*"
_INSTRUCTION = {"build", "model", "run", "event_name", "delegate_id", "instruction_id"}


def questions(_: PageRequest) -> dict[str, Any]:
    """All canned queries in groups, with what each answers."""
    groups = [
        (group, [(title, name, find_query(name).header.purpose) for name, title in names.items()])
        for group, names in QUESTIONS.items()
    ]
    return {"template": "questions", "title": "Explore", "groups": groups}


def explore(request: PageRequest) -> dict[str, Any]:
    """The answer of the canned query in the path, for the parameters in the address."""
    query = find_query(_name_of(request))
    header = query.header
    params = _parameters(request, header)
    request = _at(request, params)
    missing = [one for one in header.params if one.is_required and one.name not in params]
    parts: dict[str, Any] = {
        "template": "explore",
        "title": TITLES.get(header.name, header.name.replace("_", " ").capitalize()),
        "header": header,
        "rail": rail(header.name),
        "form": filter_form(request, _wanted(header)),
        "commands": _commands(header.name, params),
        "sql": "" if query.is_computed else query.sql,
        "files": [],
        "charts": [],
        "table": None,
        "lead": "",
        "notes": [],
        "note_form": None,
        "empty": f"Choose {' and '.join(one.name.replace('_', ' ') for one in missing)} first.",
    }
    if missing:
        return parts
    builds, window = choose_builds(request) if header.name in HISTORIES else ([], "")
    chosen = {"build": list(map(escape, builds))} if window else {}
    table = _answer(request, query, params | chosen)
    rows = link(f"/v1/queries/{header.name}", **params)
    drawing = link(f"{request.path}.svg", **params)
    if builds and table.num_rows:
        parts |= history_parts(request, header, table, builds)
    shown = parts.pop("shown", None) or answer_table(
        request, header, _with_ordinals(request, table)
    )
    return {
        **parts,
        "files": [(name, _with(rows, form)) for name, form in _FILES.items()],
        "drawing": drawing if shown.is_drawn else "",
        "table": shown.table if table.num_rows else None,
        "lead": shown.common,
        "count": parts.get("count") or count_text(table.num_rows, "row"),
        "window": window,
        "empty": "No rows: widen the filters.",
    }


def explore_file(request: PageRequest) -> Response:
    """The drawing of an answer as an SVG file.

    Raises:
        Problem: 404 if there is nothing to draw.
    """
    name = _name_of(request).removesuffix(".svg")
    query = find_query(name)
    params = _parameters(request, query.header)
    table = _answer(request, query, params)
    try:
        drawn = query_figure(name, table, params)
    except QueryError as error:
        raise Problem(404, "no_chart", str(error)) from error
    return svg_answer([Chart("", file=lambda: drawn)])


def filters_of(address: Address) -> Wanted:
    """The filters of the query in an address; a query that does not exist has none."""
    try:
        return _wanted(find_query(_name_of(address).removesuffix(".svg")).header)
    except QueryError:
        return Wanted()


def _name_of(address: Address) -> str:
    return address.path.rpartition("/")[2]


def _wanted(header: Header) -> Wanted:
    names = [one.name for one in header.params]
    own = [one for one in header.params if one.name not in (*NAMES, *DATES)]
    return Wanted([name for name in (*NAMES, *DATES) if name in names], params=own)


def _parameters(request: PageRequest, header: Header) -> dict[str, list[str] | str]:
    """The parameters in the address; without them, those that most readers mean."""
    given = {name: list(values) for name, values in request.given.items()}
    for name in VIEW_FIELDS:
        given.pop(name, None)
    known = {one.name: one for one in header.params}
    needed = {name for name, one in known.items() if one.is_required and name not in given}
    if "event" in needed and request.rows("page_builds"):
        given["event"] = [METHOD]
    group = next((group for group, names in QUESTIONS.items() if header.name in names), "")
    is_of_one = "build" in known and "build" not in given and group in _OF_ONE_BUILD
    if is_of_one or needed & {"base", "head"}:
        builds = [row["build"] for row in request.rows("page_builds")[1:]]
        newest = {"build": builds[-1:]} if is_of_one else {"base": builds[-2:-1]}
        newest |= {"head": builds[-1:]} if "head" in needed else {}
        given |= {name: values for name, values in newest.items() if values and name not in given}
    if "dump" in needed and (rows := request.rows("page_dumps", most=1, before=0)):
        given["dump"] = [str(rows[0]["dump_id"])]
    if given.get("build") == [_EVERY]:
        del given["build"]
    return {
        name: values if name in known and known[name].type.endswith("[]") else values[-1]
        for name, values in given.items()
    }


def _at(request: PageRequest, params: Mapping[str, list[str] | str]) -> PageRequest:
    """The request with its parameters in full, so that each can be given up."""
    filters = {name: [v] if isinstance(v, str) else v for name, v in params.items()}
    fields = {name: request.fields[name] for name in VIEW_FIELDS if name in request.fields}
    return replace(request, fields=fields, filters=filters, unset={"build": _EVERY})


def _answer(request: PageRequest, query: Query, params: Mapping[str, list[str] | str]) -> pa.Table:
    """The rows, at most one more than a page sorts; errors of the query are passed on."""
    wanted = QueryRequest(query.header, params, request.bearer.pools)
    wanted.check_pools()
    with wanted.answer(request.store, request.nights.settings, Page(MOST_ROWS, 0)) as rows:
        return check_length(pa.Table.from_batches(rows, rows.schema))


def _with_ordinals(request: PageRequest, table: pa.Table) -> pa.Table:
    """The answer with the numbers of its operators, if it has their instructions instead."""
    names = set(table.column_names)
    if not names >= _INSTRUCTION or "ordinal" in names or not table.num_rows:
        return table
    builds = pc.unique(table["build"]).to_pylist()
    numbers = request.table("page_ordinals", build=builds)
    keys = [name for name in numbers.column_names if name in names]
    found = {tuple(row[key] for key in keys): row["ordinal"] for row in numbers.to_pylist()}
    columns = zip(*(table[key].to_pylist() for key in keys), strict=True)
    return table.append_column("ordinal", pa.array(map(found.get, columns), pa.int32()))


def _with(href: str, form: str) -> str:
    return f"{href}{'&' if '?' in href else '?'}format={form}"


def _commands(name: str, params: Mapping[str, list[str] | str]) -> list[str]:
    """The same question in a terminal and in Python."""
    values = [(key, one) for key, v in params.items() for one in ([v] if isinstance(v, str) else v)]
    options = [f"--{key.replace('_', '-')} {shlex.quote(value)}" for key, value in values]
    arguments = [
        f"{key}={(v[0] if isinstance(v, list) and len(v) == 1 else v)!r}"
        for key, v in params.items()
    ]
    return [
        " ".join(["tracehouse query", name, *options]),
        f"warehouse.query({', '.join([repr(name), *arguments])})",
    ]


def rail(current: str) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """The links beside an answer: some of each group, and all of the current one."""
    return [
        (
            group,
            [
                (title, link(f"/explore/{name}"), name == current)
                for name, title in list(names.items())[: None if current in names else SHORT]
            ],
        )
        for group, names in QUESTIONS.items()
    ]
