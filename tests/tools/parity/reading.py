"""How the Inspector reads a dump: through flatc's JSON into dataclasses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.etdump_schema import TABLES
from tests.support.reference_reader import is_size_prefixed
from tests.tools.parity.bugs import Bug
from tests.tools.parity.errors import InspectorError

# Fields that the Inspector's dataclasses require and a dump may lack.
_REQUIRED = {
    "ETDump": ("run_data",),
    "RunData": ("name",),
    "Allocator": ("name",),
    "DebugEvent": ("debug_entry",),
    "TensorList": ("tensors",),
    "Tensor": ("sizes", "strides"),
}
# Element types that flatc and the Inspector call by the same name.
_NAMED = {"BYTE", "CHAR", "SHORT", "INT", "LONG", "HALF", "FLOAT", "DOUBLE", "BOOL", "BFLOAT16"}
_NAMED |= {"QINT8", "QUINT8", "QINT32", "BITS16", "UINT16", "UINT32", "UINT64"}
_NAMED |= {"FLOAT8E5M2", "FLOAT8E4M3FN", "FLOAT8E5M2FNUZ", "FLOAT8E4M3FNUZ"}
_READING = frozenset({Bug.I5, Bug.I23, Bug.I24, Bug.X1})
_FLATC = ("CalledProcessError", "flatc")


def require_readable(dump: bytes, content: Mapping[str, Any], bugs: frozenset[Bug]) -> None:
    """Read a well-formed dump as the Inspector does.

    Raises:
        InspectorError: if the Inspector would.
    """
    if not bugs & _READING:
        return
    tables = list(_tables("ETDump", content))
    if Bug.I23 in bugs and not is_size_prefixed(dump):
        raise InspectorError(Bug.I23, *_FLATC)
    values = [value for _, table in tables for value in table.values()]
    if Bug.I24 in bugs and any(isinstance(value, bytes) for value in values):
        raise InspectorError(Bug.I24, *_FLATC)
    if Bug.I5 in bugs and any(isinstance(v, float) and not math.isfinite(v) for v in values):
        raise InspectorError(Bug.I5, "JSONDecodeError", "Expecting value")
    for name, table in tables:
        if Bug.X1 in bugs and name == "Tensor" and table["scalar_type"] not in _NAMED:
            raise InspectorError(Bug.X1, "KeyError", str(table["scalar_type"]))
        if Bug.I24 in bugs and any(field not in table for field in _REQUIRED.get(name, ())):
            raise InspectorError(Bug.I24, "TypeError", "Invalid Buffer. Received no value")


def _tables(name: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The table and all below it, with their types, depth first."""
    yield name, table
    for field in TABLES[name]:
        inner = field.type.strip("[]")
        if inner in TABLES and field.name in table:
            found = table[field.name]
            for one in found if field.type.startswith("[") else [found]:
                yield from _tables(inner, one)
