"""The end of a canned query's help: its columns and an example, from its header. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tracehouse.warehouse.catalogue.header import Column, Header

_WIDTH = 76


def column_help(columns: Sequence[Column]) -> str:
    """A line per column: its name, type and meaning."""
    width = max(len(column.name) for column in columns)
    lines = [
        textwrap.fill(
            column.doc,
            _WIDTH,
            initial_indent=f"  {column.name:{width}}  {column.type:9}  ",
            subsequent_indent=" " * (width + 15),
        )
        for column in columns
    ]
    return "\n".join(["\b", "Columns:", *lines])


def query_example(header: Header) -> str:
    """A command line that runs the query with its required parameters."""
    values = {"BIGINT": "1", "INT": "1", "DOUBLE": "0.5"}
    needed = [
        f" --{parameter.name.replace('_', '-')} {values.get(parameter.type, 'NAME')}"
        for parameter in header.params
        if parameter.is_required
    ]
    line = f"tracehouse query {header.name}{''.join(needed)} --format json"
    return "\n".join(["\b", "Examples:", f"  {line}"])
