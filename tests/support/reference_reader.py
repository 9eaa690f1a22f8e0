"""A slow, plain reader of one ETDump: the oracle that the vectorised one is compared with.

It reads depth-first with `struct`, checks every rule where it applies, and returns what flatc
prints: nested dicts in which scalars are always present, and strings, vectors and tables only if
they are in the file. Texts that are not UTF-8 stay bytes, enum values without a name stay
numbers, doubles are exact.
"""

from __future__ import annotations

import struct
from typing import Any

from tests.support.etdump_schema import ENUMS, IDENTIFIER, SCALARS, TABLES, Field
from tests.support.plain_limits import excess
from tracehouse.ingest.etdump.arena import LONGEST_NAME

SMALLEST = 16  # root offset, identifier, an empty vtable, an empty table


class DumpFault(Exception):  # noqa: N818
    """The bytes are not a well-formed ETDump."""

    def __init__(self, reason: str, byte_offset: int) -> None:
        super().__init__(f"{reason} at {byte_offset}")
        self.reason = reason
        self.byte_offset = byte_offset


def read_reference(dump: bytes) -> dict[str, Any]:
    """The dump as nested dicts, or DumpFault with the first fault in depth-first order."""
    return _Reader(dump).root()


def is_well_formed(dump: bytes) -> bool:
    """Whether the reader accepts a dump."""
    try:
        read_reference(dump)
    except DumpFault:
        return False
    return True


def is_size_prefixed(dump: bytes) -> bool:
    """Whether the file starts with its length; the length decides where both forms could be."""
    late, early = dump[8:12] == IDENTIFIER, dump[4:8] == IDENTIFIER
    return late and (not early or int.from_bytes(dump[:4], "little") == len(dump) - 4)


class _Reader:
    def __init__(self, dump: bytes) -> None:
        self.dump = dump
        self.visited = 0

    def root(self) -> dict[str, Any]:
        if len(self.dump) < SMALLEST:
            raise DumpFault("truncated" if self.dump else "empty", len(self.dump))
        if IDENTIFIER not in (self.dump[4:8], self.dump[8:12]):
            raise DumpFault("bad_identifier", 4)
        prefixed = is_size_prefixed(self.dump)
        if prefixed and self.scalar("uint32", 0) != len(self.dump) - 4:
            raise DumpFault("bad_size_prefix", 0)
        content = self.table("ETDump", self.target(4 if prefixed else 0))
        if reason := excess(content, len(self.dump)):
            raise DumpFault(reason, 0)
        return content

    def scalar(self, type_: str, at: int) -> Any:
        return struct.unpack_from("<" + SCALARS[type_], self.dump, at)[0]

    def visit(self, byte_count: int) -> None:
        self.visited += byte_count
        if self.visited > len(self.dump):
            raise DumpFault("shared_bytes", 0)

    def target(self, at: int) -> int:
        offset: int = self.scalar("uint32", at)
        if offset == 0 or offset % 4 or at + offset + 4 > len(self.dump):
            raise DumpFault("offset_out_of_bounds", at)
        return at + offset

    def table(self, name: str, at: int) -> dict[str, Any]:
        offsets, table_bytes = self.vtable(at)
        present = {
            field.name: at + offset
            for field, offset in zip(TABLES[name], offsets, strict=False)
            if offset and self.fits(field, offset, table_bytes, at)
        }
        if at + table_bytes > len(self.dump):
            raise DumpFault("table_out_of_bounds", at)
        self.visit(table_bytes)
        values = {}
        for field in TABLES[name]:
            if field.name in present:
                values[field.name] = self.value(field, present[field.name])
            elif field.type in SCALARS:
                values[field.name] = _plain(field, field.default)
        return values

    def vtable(self, at: int) -> tuple[tuple[int, ...], int]:
        """Offset of each slot within the table at this position, 0 if absent; the table's size."""
        vtable = at - self.scalar("int32", at)
        if vtable < 0 or vtable % 2 or vtable + 4 > len(self.dump):
            raise DumpFault("vtable_out_of_bounds", at)
        vtable_bytes, table_bytes = struct.unpack_from("<HH", self.dump, vtable)
        if vtable_bytes < 4 or vtable_bytes % 2 or vtable + vtable_bytes > len(self.dump):
            raise DumpFault("vtable_malformed", vtable)
        if table_bytes < 4:
            raise DumpFault("vtable_malformed", vtable)
        slots = struct.unpack_from(f"<{vtable_bytes // 2 - 2}H", self.dump, vtable + 4)
        return slots, table_bytes

    def fits(self, field: Field, offset: int, table_bytes: int, at: int) -> bool:
        width = struct.calcsize(SCALARS.get(field.type, "I"))
        if offset < 4 or offset + width > table_bytes or offset % min(width, 4):
            raise DumpFault("field_out_of_bounds", at - self.scalar("int32", at))
        return True

    def value(self, field: Field, at: int) -> Any:
        if field.type in SCALARS:
            if struct.calcsize(SCALARS[field.type]) == 8 and at % 8:
                raise DumpFault("misaligned", at)
            return _plain(field, self.scalar(field.type, at))
        if field.type == "string":
            return self.string(self.target(at))
        if field.type.startswith("["):
            return self.vector(field.type[1:-1], self.target(at))
        return self.table(field.type, self.target(at))

    def length(self, at: int, item_bytes: int) -> int:
        length: int = self.scalar("uint32", at)
        if at + 4 + length * item_bytes > len(self.dump):
            raise DumpFault("vector_out_of_bounds", at)
        if item_bytes == 8 and length and (at + 4) % 8:
            raise DumpFault("misaligned", at)
        self.visit(4 + length * item_bytes)
        return length

    def string(self, at: int) -> str | bytes:
        length = self.length(at, 1)
        if length > LONGEST_NAME:
            raise DumpFault("name_too_long", at)
        end = at + 4 + length
        if end >= len(self.dump) or self.dump[end]:
            raise DumpFault("string_unterminated", end)
        self.visit(1)
        raw = self.dump[at + 4 : end]
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw

    def vector(self, item: str, at: int) -> list[Any]:
        if item in SCALARS:
            code = SCALARS[item]
            length = self.length(at, struct.calcsize(code))
            return list(struct.unpack_from(f"<{length}{code}", self.dump, at + 4))
        length = self.length(at, 4)
        return [self.table(item, self.target(at + 4 + 4 * i)) for i in range(length)]


def _plain(field: Field, value: Any) -> Any:
    if field.type in ENUMS:
        return ENUMS[field.type].get(value, value)
    return {"bool": bool, "float32": float, "float64": float}.get(field.type, int)(value)
