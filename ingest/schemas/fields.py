"""How a table's schema is written down: columns and tables carry their meaning as `doc`."""

from __future__ import annotations

import pyarrow as pa


def field(name: str, type_: pa.DataType, doc: str, *, nullable: bool = False) -> pa.Field:
    """A column."""
    return pa.field(name, type_, nullable=nullable, metadata={"doc": doc})


def table(doc: str, *fields: pa.Field) -> pa.Schema:
    """A table."""
    return pa.schema(fields, metadata={"doc": doc})
