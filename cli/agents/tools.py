"""The tools of agents: reports, comparisons, explanations, canned queries and SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.cli.agents.asked_store import AskedStore
from tracehouse.cli.agents.pages import Answer, Cursor, table_answer, text_answer
from tracehouse.cli.agents.resources import describe, following
from tracehouse.cli.files import dump_source
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.catalogue.queries import find_query, list_headers
from tracehouse.warehouse.errors import QueryError, suggest

_MOST_FOUND = 8  # queries that fit a description in words
_WORD = re.compile(r"[a-z0-9]+")
_STEM = 4  # letters in which words of one root are the same, as in slow, slower and slowest
_IN_NAME, _IN_PURPOSE, _ELSEWHERE = 6, 3, 1
_UNSAID = frozenset(_WORD.findall(
    "a an and any are as at be by did do does for from had has have how i in is it its many me "
    "much of on or over show than that the their there these this to was were what when where "
    "which who why with"
))  # fmt: skip

Arguments = Mapping[str, Any]


class AgentTool(NamedTuple):
    """A tool: its name, its purpose, the JSON Schema of its arguments, and what answers them."""

    name: str
    description: str
    schema: Mapping[str, Any]
    answer: Callable[[AskedStore, Arguments], Answer]

    def page(self, store: AskedStore, arguments: Arguments) -> str:
        """A page of the answer.

        Raises:
            QueryError: An argument is missing, unknown, or of another type.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        cursor = Cursor.parse(given.pop("cursor", None))
        known = {name: one for name, one in self.schema["properties"].items() if name != "cursor"}
        _check(self.name, known, self.schema["required"], given)
        for name, value in given.items():
            if known[name]["type"] == "string" and not isinstance(value, str):
                raise QueryError(f"{self.name}: {name} is {value!r}, wanted a text")
            if known[name]["type"] == "object" and not isinstance(value, dict):
                raise QueryError(f"{self.name}: {name} is {value!r}, wanted an object")
        kept = [one for one in store.last if cursor and one.digest == cursor.digest]
        answer = kept[0] if kept else self.answer(store, given)
        store.last[:] = [answer]
        return answer.page(cursor)


@cache  # a service asks for each request
def list_tools(*, has_files: bool) -> Mapping[str, AgentTool]:
    """All tools by name; only agents on this machine may name files."""
    tools = [*_tools(), *([_INSPECT] if has_files else [])]
    return {tool.name: tool for tool in tools}


def find_headers(words: str) -> list[Header]:
    """The canned queries that fit a description in words, the best first; all without words."""
    wanted = {_stem(word) for word in _WORD.findall(words.lower()) if word not in _UNSAID}
    scores = {header: _score(header, wanted) for header in list_headers()}
    if not any(scores.values()):
        return list_headers()
    found = sorted(filter(scores.__getitem__, scores), key=lambda one: (-scores[one], one.name))
    return found[:_MOST_FOUND]


def _score(header: Header, wanted: set[str]) -> int:
    others = [header.description, *(f"{one.name} {one.doc}" for one in header.columns)]
    said = [header.name.replace("_", " "), header.purpose, " ".join(others)]
    sums = zip(said, (_IN_NAME, _IN_PURPOSE, _ELSEWHERE), strict=True)
    return sum(
        weight * len(wanted & {_stem(word) for word in _WORD.findall(text.lower())})
        for text, weight in sums
    )


def _stem(word: str) -> str:
    return word[:_STEM]


def _check(
    called: str, known: Mapping[str, object], required: Sequence[str], given: Arguments
) -> None:
    """Check the names of arguments.

    Raises:
        QueryError: One is unknown or missing.
    """
    for name in given:
        if name not in known:
            raise QueryError(f"{called}: unknown {name!r}; wanted {', '.join(known)}")
    for name in required:
        if name not in given:
            raise QueryError(f"{called}: {name} is missing")


def _tool(
    name: str,
    purpose: str,
    answer: Callable[[AskedStore, Arguments], Answer],
    required: Mapping[str, str] | None = None,
    optional: Mapping[str, str] | None = None,
) -> AgentTool:
    """A tool whose arguments are texts with these meanings, but for the objects `params`."""
    named = {**(required or {}), **(optional or {})}
    properties = {
        name: {"type": "object" if name == "params" else "string", "description": doc}
        for name, doc in named.items()
    }
    schema = {
        "type": "object",
        "properties": {**properties, "cursor": {"type": "string"}},
        "required": list(required or {}),
        "additionalProperties": False,
    }
    return AgentTool(name, purpose, schema, answer)


def _tools() -> Iterator[AgentTool]:
    build = "A build; by default the last one."
    yield _tool(
        "report",
        "What regressed: the verdict on a build, with one alert for each cause and its group id.",
        lambda store, given: _report("The nightly report.", store, given),
        optional={"head": build, "branch": "Branch whose last build is judged, not a head."},
    )
    yield _tool(
        "compare",
        "What changed between two builds, in words: the verdict first, then each change. The query "
        "regression_deltas has the rows.",
        lambda store, given: _report("The comparison of two builds.", store, given),
        {"base": "The earlier build.", "head": "The later build."},
    )
    yield _tool(
        "explain",
        "Why an alert of the report is there: what differs between its last good build and its "
        "first bad one in programs, time by module and operator, environment, memory and values.",
        lambda store, given: text_answer("The explanation.", store.explain(**given)),
        {"group": "Id of the alert's group, as report shows it."},
        {"head": "Build of the report; by default the last one."},
    )
    yield _tool(
        "find_query",
        "Names and purposes of the canned queries that fit a question; all of them without one.",
        _find,
        optional={"question": "What you want to know, in English words."},
    )
    yield _tool(
        "describe_query",
        "Parameters, defaults, columns and units of one canned query, and what to ask next.",
        _describe,
        {"name": "Name of the query."},
    )
    yield _tool(
        "query",
        "Rows of a canned query, such as coverage (what there is), regression_deltas (two builds), "
        "build_history (one operator over builds), operator_hotspots (where time goes), "
        "device_health, framework_tax or percentiles; find_query names the others. Most take "
        "the lists device, model, backend and build, which may have globs.",
        _query,
        {"name": "Name of the query."},
        {"params": 'Its parameters, such as {"base": "b1", "head": "b2", "model": ["mv2"]}.'},
    )
    yield _tool(
        "sql",
        "Rows of your own SELECT over the tables and views that the tool schema lists.",
        lambda store, given: table_answer("The rows.", store.sql(given["statement"])),
        {
            "statement": "One SELECT of DuckDB's SQL; it changes nothing. VARCHAR has all digits "
            "of a number."
        },
    )
    yield _tool(
        "schema",
        "Tables and views for sql; the columns of one, with units and meanings.",
        _schema,
        optional={"table": "The table or view whose columns are wanted."},
    )


def _report(purpose: str, store: AskedStore, given: Arguments) -> Answer:
    text = store.report(**given)
    return text_answer(purpose, text, following="Ask next: explain, regression_deltas.")


def _find(_: AskedStore, given: Arguments) -> Answer:
    lines = [f"* {one.name}: {one.purpose}" for one in find_headers(given.get("question", ""))]
    return text_answer(
        "Canned queries.", "\n".join(lines), following="Ask next: describe_query, query."
    )


def _describe(_: AskedStore, given: Arguments) -> Answer:
    header = find_query(given["name"]).header
    return text_answer(header.purpose, describe(header))


def _query(store: AskedStore, given: Arguments) -> Answer:
    header, params = find_query(given["name"]).header, given.get("params", {})
    required = [one.name for one in header.params if one.is_required]
    _check(header.name, {one.name: one for one in header.params}, required, params)
    table = store.query(header.name, params)
    return table_answer(header.purpose, table, following=following(header))


def _schema(store: AskedStore, given: Arguments) -> Answer:
    """The tables, or the columns of one.

    Raises:
        QueryError: There is no such table.
    """
    columns, name = store.schema(), given.get("table")
    is_table = pc.is_null(columns["column_name"])
    if name is None:
        tables = columns.filter(is_table).select(["table_name", "type", "comment"])
        return table_answer("Read views, which have names and ns.", tables)
    known = columns.filter(is_table)["table_name"].to_pylist()
    if name not in known:
        raise QueryError(f"schema: no table {name!r}{suggest(name, known)}")
    own = pc.and_(pc.equal(columns["table_name"], name), pc.invert(is_table))
    return table_answer("Columns.", columns.filter(own))


def _inspect(_: AskedStore, given: Arguments) -> Answer:
    from tracehouse.queries.event_blocks.build import read_event_blocks
    from tracehouse.queries.event_blocks.table import event_block_table
    from tracehouse.queries.event_blocks.time_scales import TimeScale

    blocks = read_event_blocks(dump_source(given["file"]))
    table: pa.Table = event_block_table(blocks, TimeScale.MS, has_framework_events=False)
    return table_answer("One dump's events, in milliseconds.", table)


_INSPECT = _tool(
    "inspect",
    "One ETDump's events as ExecuTorch's Inspector shows them, without a store.",
    _inspect,
    {"file": "Path of an ETDump on this machine, or ZIP!MEMBER."},
)
