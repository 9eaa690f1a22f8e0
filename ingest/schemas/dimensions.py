"""Schemas of devices, builds and models, made from the attributes that manifests may state."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from tracehouse.ingest.schemas.attributes import SECTIONS, dimension_columns
from tracehouse.ingest.schemas.fields import UTC_US, field, table

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), datetime: UTC_US}


def dimension(kind: str, doc: str) -> pa.Schema:
    """The schema of a table with a number and a column for each attribute of its rows."""
    columns = zip(dimension_columns(kind), SECTIONS[kind].values(), strict=True)
    return table(
        doc,
        field(f"{kind}_id", pa.int32(), f"Number of the {kind}."),
        *(
            field(name, _TYPES[attribute.type], attribute.doc, nullable=name != "name")
            for name, attribute in columns
        ),
    )
