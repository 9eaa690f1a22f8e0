"""Writing profile events, each packed at once, which is ten times as fast as field by field.

An event consists of two tables, Event and ProfileEvent, followed by its texts. Fields with default
values are left out. Events with the same fields have the same shape, and a dump has few shapes.
"""

from __future__ import annotations

import struct
from itertools import compress
from operator import add

from tracehouse.ingest.errors import UnwritableError
from tracehouse.ingest.tracer.event_tracer import DelegateId
from tracehouse.ingest.tracer.flatbuffer_builder import (
    FlatBufferBuilder,
    pack_bytes,
    pack_text,
    pack_vtable,
)
from tracehouse.ingest.tracer.places import InstructionPlace

NONE = -1  # means none in fields for instructions, integer delegate ids and bundled inputs

# Fields of ProfileEvent by slot: identifying fields, and fields of every event.
_NAME, _CHAIN, _INSTRUCTION, _NUMBER, _STRING, _METADATA, _START, _END = range(8)
_NAMED, _UNNAMED, _BY_NUMBER, _BY_STRING = (_NAME,), (), (_NUMBER, _METADATA), (_STRING, _METADATA)
_COMMON = (_CHAIN, _INSTRUCTION, _START, _END)
_FORMATS = "IiiiIIQQ"
_EVENT_BYTES = 8

_Times = tuple[int, int]
_Key = tuple[tuple[int, ...], bool, bool, bool, bool]


class ProfilePacker:
    """Writes profile events of one dump, and caches their shapes."""

    def __init__(self, builder: FlatBufferBuilder) -> None:
        self._builder = builder
        self._shapes: dict[_Key, _Shape] = {}

    def place(self, name: str | None, place: InstructionPlace, times: _Times) -> int:
        """Write an event with its first and last tick; returns its place.

        Raises:
            UnwritableError: A time is out of range, or the name is not Unicode.
        """
        if name is None:
            return self._place(_UNNAMED, (), (*place, *times), b"")
        return self._place(_NAMED, (0,), (*place, *times), pack_text(name))

    def place_delegate(
        self, delegate_id: DelegateId, place: InstructionPlace, times: _Times, metadata: bytes
    ) -> int:
        """Write an event of a delegate, with metadata even if empty; returns its place.

        Raises:
            UnwritableError: A time is out of range, or the id is not Unicode.
        """
        data = pack_bytes(metadata)
        if isinstance(delegate_id, str):
            text = pack_text(delegate_id)
            return self._place(_BY_STRING, (0, len(text)), (*place, *times), text + data)
        return self._place(_BY_NUMBER, (delegate_id, 0), (*place, *times), data)

    def _place(
        self,
        slots: tuple[int, ...],
        fields: tuple[int, ...],
        common: tuple[int, int, int, int],
        data: bytes,
    ) -> int:
        """Write an event; references in `fields` (of `slots`) count from the start of `data`.

        Raises:
            UnwritableError: A time is out of range.
        """
        chain, instruction, start, end = common
        key = (slots, chain != 0, instruction != NONE, start != 0, end != 0)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(self._builder, key)
        event = self._builder.aligned_offset() + shape.size + len(data)
        try:
            tables = shape.pack(
                shape.event_vtable - event,
                4,
                shape.vtable - event + _EVENT_BYTES,
                *map(add, fields, shape.ways),
                *compress(common, key[1:]),
            )
        except (struct.error, TypeError) as error:
            raise UnwritableError(
                f"event: from {start!r} to {end!r}, wanted unsigned 64-bit ticks"
            ) from error
        return self._builder.place(tables + data)


class _Shape:
    """The packing of events with certain fields.

    `pack` returns the bytes of the tables, of length `size`; `event_vtable` and `vtable` are the
    places of the vtables. `ways` are the distances from reference fields to the end of the tables.
    """

    def __init__(self, builder: FlatBufferBuilder, key: _Key) -> None:
        slots = (*key[0], *compress(_COMMON, key[1:]))
        formats = "".join(_FORMATS[slot] for slot in slots)
        narrow = len(formats.rstrip("Q"))
        gap = (4 - 4 * narrow) % 8  # aligns the times
        layout = struct.Struct(f"<iIi{formats[:narrow]}{gap}x{formats[narrow:]}")
        self.pack, self.size = layout.pack, layout.size
        table = layout.size - _EVENT_BYTES
        at = {
            slot: 4 + 4 * i if i < narrow else 4 + 4 * narrow + gap + 8 * (i - narrow)
            for i, slot in enumerate(slots)
        }
        self.ways = [0 if slot == _NUMBER else table - at[slot] for slot in key[0]]
        self.event_vtable = builder.place(pack_vtable(_EVENT_BYTES, [4]))
        vtable = [at.get(slot, 0) for slot in range(max(slots, default=-1) + 1)]
        self.vtable = builder.place(pack_vtable(table, vtable))
