"""The tools of agents: every canned query, and what else can be asked of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from tracehouse.cli.agents.asked_store import AskedStore
from tracehouse.cli.agents.pages import Answer, Cursor, table_answer, text_answer
from tracehouse.cli.agents.resources import following
from tracehouse.cli.files import dump_source
from tracehouse.cli.parameter_schemas import parameter_schema
from tracehouse.warehouse.catalogue.header import Header, Parameter
from tracehouse.warehouse.catalogue.queries import list_headers
from tracehouse.warehouse.errors import QueryError

_CURSOR = {"type": "string"}
_BUILD = {"type": "string", "description": "A build; by default the last one."}
_MOST_DOC = 160  # characters of a parameter's meaning
_OFTEN = 8  # queries; the instructions explain a parameter of more, instead of each tool

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
        self._check(given)
        known = [one for one in store.last if cursor and one.digest == cursor.digest]
        answer = known[0] if known else self.answer(store, given)
        store.last[:] = [answer]
        return answer.page(cursor)

    def _check(self, given: Arguments) -> None:
        """Check the names of arguments, and that those for texts are texts.

        Raises:
            QueryError: One is unknown or missing, or is no text.
        """
        known = {name: one for name, one in self.schema["properties"].items() if name != "cursor"}
        for name, value in given.items():
            if name not in known:
                raise QueryError(f"{self.name}: unknown {name!r}; wanted {', '.join(known)}")
            if known[name].get("type") == "string" and not isinstance(value, str):
                raise QueryError(f"{self.name}: {name} is {value!r}, wanted a text")
        for name in self.schema["required"]:
            if name not in given:
                raise QueryError(f"{self.name}: {name} is missing")


@cache  # a service asks for each request
def list_tools(*, has_files: bool) -> Mapping[str, AgentTool]:
    """All tools by name; only agents on this machine may name files."""
    tools = [*_others(), *([_INSPECT] if has_files else []), *map(_query_tool, list_headers())]
    return {tool.name: tool for tool in tools}


@cache
def shared_parameters() -> Mapping[str, Parameter]:
    """The parameters that many queries have, by name."""
    every = [one for header in list_headers() for one in header.params]
    often = Counter(one.name for one in every)
    return {one.name: one for one in every if often[one.name] > _OFTEN and not one.is_required}


def _query_tool(header: Header) -> AgentTool:
    columns = ", ".join(column.name for column in header.columns)
    return AgentTool(
        header.name,
        f"{header.purpose} Columns: {columns}.",
        _schema({one.name: _property(one) for one in header.params}, _required(header.params)),
        partial(_answer_query, header),
    )


def _answer_query(header: Header, store: AskedStore, arguments: Arguments) -> Answer:
    table = store.query(header.name, arguments)
    return table_answer(header.purpose, table, following=following(header))


def _property(parameter: Parameter) -> dict[str, Any]:
    schema = parameter_schema(parameter)
    form = schema.pop("description", "")
    if parameter.name in shared_parameters():
        return schema
    default = f"Default: {parameter.default}." if parameter.default is not None else ""
    doc = parameter.doc.partition("; ")[0][:_MOST_DOC]
    return {**schema, "description": " ".join(filter(None, [doc, form, default]))}


def _required(parameters: Sequence[Parameter]) -> tuple[str, ...]:
    return tuple(one.name for one in parameters if one.is_required)


def _schema(properties: Mapping[str, Any], required: Sequence[str] = ()) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {**properties, "cursor": _CURSOR},
        "required": list(required),
        "additionalProperties": False,
    }


def _others() -> Iterator[AgentTool]:
    branch = {"type": "string", "description": "Branch whose last build is judged, not a head."}
    builds = {"base": _BUILD, "head": _BUILD}
    about = "One SELECT of DuckDB's SQL; it changes nothing. VARCHAR has all digits of a number."
    text = {"type": "string", "description": about}
    yield AgentTool(
        "report",
        "What regressed: the verdict of the night of a build, with one alert for each cause.",
        _schema({"head": _BUILD, "branch": branch}),
        lambda store, given: _report("The nightly report.", store, given),
    )
    yield AgentTool(
        "compare",
        "What changed between two builds, in words: the verdict first, then each change.",
        _schema(builds, ("base", "head")),
        lambda store, given: _report("The comparison of two builds.", store, given),
    )
    yield AgentTool(
        "sql",
        "Rows of your own SELECT over the tables and views that the tool schema lists.",
        _schema({"statement": text}, ("statement",)),
        lambda store, given: table_answer("The rows.", store.sql(given["statement"])),
    )
    yield AgentTool(
        "schema",
        "Tables, views and columns for sql, with units and meanings.",
        _schema({}),
        lambda store, _: table_answer("Read views, which have names and ns.", store.schema()),
    )


def _report(purpose: str, store: AskedStore, given: Arguments) -> Answer:
    text = store.report(**given)
    return text_answer(purpose, text, following="Ask next: regression_deltas, build_history.")


def _inspect(_: AskedStore, given: Arguments) -> Answer:
    from tracehouse.queries.event_blocks.build import read_event_blocks
    from tracehouse.queries.event_blocks.table import event_block_table
    from tracehouse.queries.event_blocks.time_scales import TimeScale

    blocks = read_event_blocks(dump_source(given["file"]))
    table = event_block_table(blocks, TimeScale.MS, has_framework_events=False)
    return table_answer("One dump's events, in milliseconds.", table)


_FILE = {"type": "string", "description": "Path of an ETDump on this machine, or ZIP!MEMBER."}
_INSPECT = AgentTool(
    "inspect",
    "One ETDump's events as ExecuTorch's Inspector shows them, without a store.",
    _schema({"file": _FILE}, ("file",)),
    _inspect,
)
