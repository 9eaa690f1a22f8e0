"""Columns and tables of Arrow schemas; the metadata key `doc` holds their meaning."""

from __future__ import annotations

import pyarrow as pa

UTC_US = pa.timestamp("us", tz="UTC")


def field(name: str, type_: pa.DataType, doc: str, *, nullable: bool = False) -> pa.Field:
    """A column."""
    return pa.field(name, type_, nullable=nullable, metadata={"doc": doc})


def table(doc: str, *fields: pa.Field) -> pa.Schema:
    """A table."""
    return pa.schema(fields, metadata={"doc": doc})


DUMP_ID = field("dump_id", pa.int32(), "Dump the row belongs to; numbered in order of arrival.")
DUMP_INDEX = field("dump_index", pa.int32(), "Position of the dump in the call, from 0.")
RUN_INDEX = field("run_index", pa.int32(), "Position of the run in its dump, from 0.")


def decoded_fields(stored: pa.Schema) -> list[pa.Field]:
    """The columns of a stored table before its dumps have ids: with `DUMP_INDEX` for `DUMP_ID`."""
    return [DUMP_INDEX if column.name == DUMP_ID.name else column for column in stored]
