"""Pages of the reference, out of what the code says of itself: Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from typer.core import TyperGroup
from typer.main import get_command

from tracehouse.cli.app import app
from tracehouse.queries.questions import QUESTIONS
from tracehouse.warehouse.catalogue.header import Column, Header, Parameter, parse_header
from tracehouse.warehouse.catalogue.queries import list_headers
from tracehouse.warehouse.catalogue.sql_files import read_sql_files
from tracehouse.warehouse.engine.tables import TABLES

_WIDTH = 100  # of the help of commands
_TYPES = {
    "int32": "INT", "int64": "BIGINT", "double": "DOUBLE", "string": "STRING", "bool": "BOOLEAN",
    "timestamp[us, tz=UTC]": "TIMESTAMP", "binary": "BINARY",
}  # fmt: skip


def commands_page() -> str:
    """Every command with its help."""
    parts = ["# Commands\n"]
    for words, text in read_helps():
        parts.append(f"## {' '.join(words)}\n\n```text\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


def read_helps() -> Iterator[tuple[tuple[str, ...], str]]:
    """The words of every command, and its help; canned queries have a page of their own."""
    return _helps(get_command(app), ("tracehouse",))


def queries_page() -> str:
    """Every canned query with its parameters and columns."""
    headers = {header.name: header for header in list_headers()}
    parts = ["# Canned queries\n"]
    for question, names in QUESTIONS.items():
        rows = [(f"[`{name}`](#{name})", headers[name].purpose) for name in names]
        parts.append(f"**{question}**\n\n" + _table(("query", "answers"), rows))
    return "\n".join([*parts, *(_query(headers[name]) for name in sorted(headers))])


def schema_page() -> str:
    """Every table and view with its columns."""
    views = [parse_header(text, name) for name, text in read_sql_files("views").items()]
    parts = ["# Tables and views\n", "Views have names and nanoseconds; read those.\n"]
    for view in sorted(views):
        parts.append(_titled(view.name, view) + _columns(view.columns))
    for name, schema in sorted(TABLES.items()):
        doc = (schema.metadata or {})[b"doc"].decode()
        parts.append(f"## {name}\n\nTable. {doc}\n\n" + _columns(map(_column, schema)))
    return "\n".join(parts)


def _helps(command: object, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The help of a command and of those under it."""
    context = command.make_context(" ".join(words), [], resilient_parsing=True)  # type: ignore[attr-defined]
    context.terminal_width = _WIDTH
    yield words, command.get_help(context)  # type: ignore[attr-defined]
    if isinstance(command, TyperGroup) and words[-1] != "query":
        for name in command.list_commands(context):
            under = command.get_command(context, name)
            yield from _helps(under, (*words, name))


def _query(header: Header) -> str:
    needed = [p for p in header.params if p.is_required]
    options = "".join(f" --{p.name.replace('_', '-')} ..." for p in needed)
    return (
        _titled(header.name, header)
        + f"`tracehouse query {header.name}{options}`\n\n"
        + _table(("parameter", "type", "default", "meaning"), map(_parameter, header.params))
        + _columns(header.columns)
    )


def _titled(name: str, header: Header) -> str:
    description = f"{header.description}\n\n" if header.description else ""
    return f"## {name}\n\n{header.purpose}\n\n{description}"


def _parameter(param: Parameter) -> tuple[str, ...]:
    default = "required" if param.is_required else (param.default or "")
    kind = " or ".join([*param.choices]) if param.type == "STRING" and param.choices else param.type
    return f"`{param.name}`", kind, default, param.doc


def _columns(columns: Iterable[Column]) -> str:
    return _table(("column", "type", "meaning"), [(f"`{c.name}`", c.type, c.doc) for c in columns])


def _column(field: pa.Field) -> Column:
    kind = str(field.type)
    doc = (field.metadata or {})[b"doc"].decode()
    return Column(field.name, _TYPES.get(kind, kind), doc)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    cells = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(f"| {line} |" for line in cells) + "\n\n"
