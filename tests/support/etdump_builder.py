"""Builds ETDump bytes from plain data, in the shape that the reference reader returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flatbuffers

from tests.support.etdump_schema import ENUMS, IDENTIFIER, SCALARS, TABLES, Field

_SCALAR_NAMES = {"uint8": "Uint8", "bool": "Bool", "ScalarType": "Int8", "ValueType": "Int8"}
_NUMBERS = {name: {text: n for n, text in names.items()} for name, names in ENUMS.items()}


def build_etdump(dump: Mapping[str, Any], *, size_prefixed: bool = True) -> bytes:
    """Bytes of an ETDump, as the runtime (size-prefixed) or ExecuTorch's serializer writes them.

    Absent fields and scalars equal to their default are not written. Texts may be bytes that are
    not UTF-8; an event may have any number of members; enums may be numbers without a name.
    """
    builder = flatbuffers.Builder()
    builder.Prep(8, 0)  # so that the file's length is a multiple of 8 even without 8-byte scalars
    root = _table(builder, "ETDump", dump)
    finish = builder.FinishSizePrefixed if size_prefixed else builder.Finish
    finish(root, file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def _table(builder: flatbuffers.Builder, name: str, values: Mapping[str, Any]) -> int:
    fields = TABLES[name]
    unknown = values.keys() - {field.name for field in fields}
    assert not unknown, f"{name} has no {unknown}"
    present = [(i, f, values[f.name]) for i, f in enumerate(fields) if f.name in values]
    written = {
        f.name: _reference(builder, f, value) for _, f, value in present if f.type not in SCALARS
    }
    builder.StartObject(len(fields))
    for slot, field, value in present:
        if field.type in SCALARS:
            prepend = getattr(builder, f"Prepend{_scalar_name(field.type)}Slot")
            prepend(slot, _number(field, value), field.default)
        else:
            builder.PrependUOffsetTRelativeSlot(slot, written[field.name], 0)
    return int(builder.EndObject())


def _reference(builder: flatbuffers.Builder, field: Field, value: Any) -> int:
    if field.type == "string":
        return int(builder.CreateString(value))
    if field.type == "[uint8]":
        return int(builder.CreateByteVector(bytes(value)))
    if field.type == "[int64]":
        builder.StartVector(8, len(value), 8)
        for item in reversed(value):
            builder.PrependInt64(item)
        return int(builder.EndVector())
    if field.type.startswith("["):
        items = [_table(builder, field.type[1:-1], item) for item in value]
        builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            builder.PrependUOffsetTRelative(item)
        return int(builder.EndVector())
    return _table(builder, field.type, value)


def _scalar_name(type_: str) -> str:
    return _SCALAR_NAMES.get(type_, type_.capitalize())


def _number(field: Field, value: Any) -> Any:
    return _NUMBERS[field.type][value] if isinstance(value, str) else value
