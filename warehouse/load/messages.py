"""What is decoded as tables by one name each, as a child hands them over."""

from __future__ import annotations

import pyarrow as pa

from ingest import DecodedBatch
from warehouse.children.messages import Tables
from warehouse.load.content import Content
from warehouse.statistics.rollups import Statistics

_DECODED, _ERRORS, _STATISTICS, _RESOLUTION = "decoded/", "errors", "statistics/", "resolution"


def flatten_content(content: Content) -> Tables:
    """All tables of decoded dumps by one name each."""
    decoded, statistics = content
    return {
        **{_DECODED + name: table for name, table in decoded.tables.items()},
        _ERRORS: decoded.errors,
        **{_STATISTICS + name: table for name, table in statistics.tables.items()},
        _RESOLUTION: pa.table({"ticks": statistics.resolution}),
    }


def find_content(tables: Tables) -> Content:
    """What `flatten_content` was given."""
    resolution = tables[_RESOLUTION]["ticks"].to_numpy()
    return Content(find_decoded(tables), Statistics(_named(tables, _STATISTICS), resolution))


def flatten_decoded(decoded: DecodedBatch) -> Tables:
    """All tables of a part of a dump by one name each."""
    tables = {_DECODED + name: table for name, table in decoded.tables.items()}
    return {**tables, _ERRORS: decoded.errors}


def find_decoded(tables: Tables) -> DecodedBatch:
    """What `flatten_decoded` was given."""
    return DecodedBatch(_named(tables, _DECODED), tables[_ERRORS])


def _named(tables: Tables, prefix: str) -> dict[str, pa.Table]:
    of_prefix = (name for name in tables if name.startswith(prefix))
    return {name.removeprefix(prefix): tables[name] for name in of_prefix}
