"""What agents can read: the queries, the views for SQL, and the documents, in Markdown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from tracehouse.warehouse.catalogue.header import Header, Parameter, parse_header
from tracehouse.warehouse.catalogue.queries import list_headers
from tracehouse.warehouse.catalogue.sql_files import read_sql_files

_SCHEME = "tracehouse://"
# In a checkout, and where a wheel puts them.
_FOLDERS = (
    Path(__file__).resolve().parents[2] / "docs",
    Path(sys.prefix) / "share" / "doc" / "tracehouse",
)


class AgentResource(NamedTuple):
    """A text: its name, what it is about, and what reads it."""

    name: str
    description: str
    read: Callable[[], str]


@cache
def resources() -> Mapping[str, AgentResource]:
    """All resources by their URI."""
    return dict([*_headers(), *_documents()])


def following(header: Header) -> str:
    """What to ask after a query, in a sentence; '' if its header names nothing."""
    return f"Ask next: {', '.join(header.following)}." if header.following else ""


def describe(header: Header) -> str:
    """All that is known of a query or a view, in Markdown."""
    parameters = [f"* `{one.name}` ({one.type}{_default(one)}): {one.doc}" for one in header.params]
    columns = [f"* `{one.name}` ({one.type}): {one.doc}" for one in header.columns]
    titled = ["## Parameters", *parameters] if parameters else []
    parts = [f"# {header.name}", header.purpose, header.description, *titled, "## Columns"]
    return "\n".join(filter(None, [*parts, *columns, following(header)]))


def _headers() -> Iterator[tuple[str, AgentResource]]:
    views = [parse_header(text, name) for name, text in read_sql_files("views").items()]
    for kind, headers in (("queries", list_headers()), ("views", sorted(views))):
        for header in headers:
            description = f"Columns, with units: {header.purpose}"
            resource = AgentResource(header.name, description, partial(describe, header))
            yield f"{_SCHEME}{kind}/{header.name}", resource


def _documents() -> Iterator[tuple[str, AgentResource]]:
    folder = next((one for one in _FOLDERS if (one / "agents.md").exists()), None)
    for path in sorted(folder.glob("*.md")) if folder else ():
        with path.open(encoding="utf-8") as file:
            title = file.readline().lstrip("# ").strip()
        read = partial(path.read_text, encoding="utf-8")
        yield f"{_SCHEME}docs/{path.stem}", AgentResource(path.stem, title, read)


def _default(parameter: Parameter) -> str:
    return ", required" if parameter.is_required else f", default {parameter.default}"
