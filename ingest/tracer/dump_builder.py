"""Writes an ETDump: its FlatBuffers tables (see `ingest/etdump/schema.py`) and its debug buffer."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from operator import add
from typing import Any, NamedTuple

import flatbuffers
import numpy as np
from flatbuffers.builder import BuilderSizeError
from numpy.typing import NDArray

from tracehouse.ingest.errors import UnwritableError
from tracehouse.ingest.etdump.values import DTYPES
from tracehouse.ingest.tracer.event_tracer import (
    Array,
    DelegateId,
    InstructionPlace,
    Tensor,
    Value,
    whole,
)

_ALIGNMENT = 64
_NO_BYTES = -1  # offset of a tensor without elements

NONE = -1  # means none in fields for instructions, integer delegate ids and bundled inputs
# Fields of ProfileEvent by slot: identifying fields, and fields of every event.
_NAME, _CHAIN, _INSTRUCTION, _NUMBER, _STRING, _METADATA, _START, _END = range(8)
_NAMED, _UNNAMED, _BY_NUMBER, _BY_STRING = (_NAME,), (), (_NUMBER, _METADATA), (_STRING, _METADATA)
_COMMON = (_CHAIN, _INSTRUCTION, _START, _END)
_FORMATS = "IiiiIIQQ"
_EVENT_BYTES = 8
_Times = tuple[int, int]
_Key = tuple[tuple[int, ...], bool, bool, bool, bool]
_IDENTIFIER = b"ED00"
_ALLOCATION, _DEBUG = 1, 2  # members of Event
_INT, _BOOL, _DOUBLE, _TENSOR, _TENSOR_LIST = 1, 2, 4, 5, 6  # types of Value
_SLOTS = {_INT: 3, _BOOL: 6, _DOUBLE: 5, _TENSOR: 1, _TENSOR_LIST: 2}


class StoredTensor(NamedTuple):
    """A dump's description of a tensor; strides count elements."""

    scalar_type: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


StoredValue = bool | int | float | StoredTensor | list[StoredTensor]


class DebugBufferWriter:
    """Writes tensors in sequence, each at a multiple of 64 bytes."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def store(self, value: Value) -> StoredValue:
        """Write the arrays of a value, all or none; returns the dump's description of the value.

        Elements are written in memory order, so a channels-last array stays one. Gaps and negative
        strides are removed, as the runtime has neither.

        Raises:
            UnwritableError: The value is out of range or of a type that is not logged.
        """
        if isinstance(value, np.ndarray | Tensor):
            return self._append(*_densify(value))
        if isinstance(value, list | tuple):
            return [self._append(*dense) for dense in [_densify(array) for array in value]]
        return _number(value)

    def getvalue(self) -> bytes:
        """All bytes written so far."""
        return bytes(self._bytes)

    def _append(self, scalar_type: int, dense: NDArray[Any]) -> StoredTensor:
        # numpy's strides of an array without elements are arbitrary.
        full = dense if dense.size else np.empty([max(size, 1) for size in dense.shape], np.int8)
        strides = tuple(stride // full.itemsize for stride in full.strides)
        offset = self._write(_in_memory_order(dense).tobytes())
        return StoredTensor(scalar_type, dense.shape, strides, offset)

    def _write(self, data: bytes) -> int:
        if not data:
            return _NO_BYTES
        self._bytes += bytes(-len(self._bytes) % _ALIGNMENT)
        offset = len(self._bytes)
        self._bytes += data
        return offset


def _number(value: object) -> bool | int | float:
    """A number as a Python bool, int or float.

    Raises:
        UnwritableError: The value is out of range, or not a number.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return whole("value", value, -(2**63), 2**63)
    if isinstance(value, float | np.floating):
        return float(value)
    raise UnwritableError(
        f"value: found {type(value).__name__}, wanted a bool, int, float, array or list of arrays"
    )


def _densify(array: Array) -> tuple[int, NDArray[Any]]:
    """Scalar type, and the array without gaps, with its axes in the same memory order.

    Raises:
        UnwritableError: The value is not an array, or has elements that ETDumps do not support.
    """
    if isinstance(array, Tensor):
        name, bits = array.dtype, array.bits
    elif isinstance(array, np.ndarray):
        name, bits = array.dtype.name, array
    else:
        raise UnwritableError(f"tensor: found {type(array).__name__}, wanted a numpy array")
    if name not in DTYPES:
        raise UnwritableError(f"tensor: found elements of type {name}, wanted a type of ExecuTorch")
    if min(bits.strides, default=0) < 0 or not _in_memory_order(bits).flags.c_contiguous:
        bits = bits.copy(order="K")
    return DTYPES.index(name), bits.astype(bits.dtype.newbyteorder("<"), copy=False)


def _in_memory_order(array: NDArray[Any]) -> NDArray[Any]:
    """The array with its axes from the slowest to the fastest."""
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


class FlatBufferBuilder(flatbuffers.Builder):  # type: ignore[misc]  # it has no types
    """A builder whose file has a length that is a multiple of 8, as the runtime's have."""

    head: int  # present start of the file in `Bytes`

    def __init__(self) -> None:
        super().__init__()
        self.Prep(8, 0)

    def aligned_offset(self) -> int:
        """The place after which `place` would put its bytes."""
        return (len(self.Bytes) - self.head + 7) & -8

    def place(self, data: bytes) -> int:
        """Write bytes whose length is a multiple of 8, aligned to 8; returns their place."""
        end = self.head
        start = end - len(data)
        if start < 8 or (len(self.Bytes) - end) % 8:  # Prep is slow and rarely needed
            self.Prep(8, len(data))
            end = self.head
            start = end - len(data)
        self.Bytes[start:end] = data
        self.head = start
        return len(self.Bytes) - start

    def place_offsets(self, targets: Sequence[int]) -> int:
        """Write a vector of offsets to places; returns its place."""
        self.Prep(4, 0)
        items = self.Offset() + 4 * np.arange(len(targets), 0, -1)
        return int(self.CreateNumpyVector((items - np.array(targets, np.int64)).astype("<u4")))

    def place_reference(self, slot: int, target: int) -> int:
        """Write a table with one field that refers to a place; returns the table's place."""
        self.StartObject(slot + 1)
        self.PrependUOffsetTRelativeSlot(slot, target, 0)
        return int(self.EndObject())

    def GrowByteBuffer(self) -> None:  # noqa: N802  # the base class's name
        """Enlarge the buffer.

        Raises:
            UnwritableError: The file would be too large for FlatBuffers.
        """
        try:
            super().GrowByteBuffer()
        except BuilderSizeError as error:
            raise UnwritableError("dump: over 2 GiB; call finish() earlier") from error


@lru_cache(maxsize=4096)
def pack_text(text: str) -> bytes:
    """A string for `FlatBufferBuilder.place`; escaped surrogates become bytes that are not UTF-8.

    Raises:
        UnwritableError: The text has other surrogates.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UnwritableError(f"text: {text!a}, wanted Unicode") from error
    return _pad(struct.pack("<I", len(data)) + data + b"\0")


def pack_bytes(data: bytes) -> bytes:
    """A vector of bytes for `FlatBufferBuilder.place`."""
    return _pad(struct.pack("<I", len(data)) + data)


def pack_vtable(table_bytes: int, fields: Sequence[int]) -> bytes:
    """A vtable for `FlatBufferBuilder.place`, from a table's size and its fields' offsets."""
    words = (4 + 2 * len(fields), table_bytes, *fields)
    return _pad(struct.pack(f"<{len(words)}H", *words))


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


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


class DumpBuilder:
    """Builds one dump, block by block; it does not check the order of calls."""

    def __init__(self) -> None:
        self._builder = FlatBufferBuilder()
        self._profiles = ProfilePacker(self._builder)
        self._runs: list[int] = []

    @property
    def block_count(self) -> int:
        """Number of blocks that were ended."""
        return len(self._runs)

    @property
    def allocator_count(self) -> int:
        """Number of the block's allocators."""
        return len(self._allocators)

    def begin_block(self, name: str, bundled_input_index: int) -> None:
        """Begin a block.

        Raises:
            UnwritableError: The name is not Unicode.
        """
        self._name = pack_text(name)
        self._bundled_input_index = bundled_input_index
        self._allocators: list[int] = []
        self._events: list[int] = []

    def end_block(self, *, has_events: bool) -> None:
        """Write the block's table, and the vectors of its allocators and events.

        Args:
            has_events: Whether to write the vector of events; it may be empty.
        """
        builder = self._builder
        events = builder.place_offsets(self._events) if has_events else 0
        allocators = builder.place_offsets(self._allocators) if self._allocators else 0
        name = builder.place(self._name)
        builder.StartObject(4)
        builder.PrependUOffsetTRelativeSlot(0, name, 0)
        builder.PrependInt32Slot(1, self._bundled_input_index, NONE)
        builder.PrependUOffsetTRelativeSlot(2, allocators, 0)
        builder.PrependUOffsetTRelativeSlot(3, events, 0)
        self._runs.append(builder.EndObject())

    def finish(self) -> bytes:
        """Return the dump of all ended blocks; the builder cannot be used again."""
        root = self._builder.place_reference(1, self._builder.place_offsets(self._runs))
        self._builder.FinishSizePrefixed(root, _IDENTIFIER)
        return bytes(self._builder.Output())

    def add_allocator(self, name: str) -> int:
        """Add an allocator to the block; returns its number, which starts at 1.

        Raises:
            UnwritableError: The name is not Unicode.
        """
        text = self._builder.place(pack_text(name))
        self._allocators.append(self._builder.place_reference(0, text))
        return len(self._allocators)

    def add_allocation(self, allocator_id: int, size_bytes: int) -> None:
        """Add an allocation event."""
        builder = self._builder
        builder.StartObject(2)
        builder.PrependUint64Slot(1, size_bytes, 0)
        builder.PrependInt32Slot(0, allocator_id, 0)
        self._add_event(_ALLOCATION, builder.EndObject())

    def add_profile(
        self, name: str | None, place: InstructionPlace, times: tuple[int, int]
    ) -> None:
        """Add a profile event, from its first to its last tick.

        Raises:
            UnwritableError: A time is out of range, or the name is not Unicode.
        """
        self._events.append(self._profiles.place(name, place, times))

    def add_delegate_profile(
        self,
        delegate_id: DelegateId,
        place: InstructionPlace,
        times: tuple[int, int],
        metadata: bytes,
    ) -> None:
        """Add a profile event of a delegate.

        Raises:
            UnwritableError: A time is out of range, or the id is not Unicode.
        """
        self._events.append(self._profiles.place_delegate(delegate_id, place, times, metadata))

    def add_value(
        self,
        value: StoredValue,
        place: InstructionPlace,
        *,
        delegate_id: DelegateId | None = None,
        is_output: bool = False,
    ) -> None:
        """Add a debug event.

        Raises:
            UnwritableError: The id is not Unicode.
        """
        builder = self._builder
        is_named = isinstance(delegate_id, str)
        text = builder.place(pack_text(delegate_id)) if isinstance(delegate_id, str) else 0
        entry = self._place_value(value, is_output=is_output)
        builder.StartObject(5)
        builder.PrependUint64Slot(0, place.chain % 2**64, 0)
        builder.PrependInt32Slot(1, place.instruction, NONE)
        builder.PrependUOffsetTRelativeSlot(2, entry, 0)
        builder.PrependInt32Slot(3, NONE if is_named or delegate_id is None else delegate_id, NONE)
        builder.PrependUOffsetTRelativeSlot(4, text, 0)
        self._add_event(_DEBUG, builder.EndObject())

    def _add_event(self, member: int, target: int) -> None:
        self._events.append(self._builder.place_reference(member, target))

    def _place_value(self, value: StoredValue, *, is_output: bool) -> int:
        builder = self._builder
        kind, member = self._place_member(value)
        flag = self._place_bool(value=True) if is_output else 0
        builder.StartObject(8)
        builder.PrependUOffsetTRelativeSlot(7, flag, 0)
        builder.PrependUOffsetTRelativeSlot(_SLOTS[kind], member, 0)
        builder.PrependInt8Slot(0, kind, 0)
        return int(builder.EndObject())

    def _place_member(self, value: StoredValue) -> tuple[int, int]:
        builder = self._builder
        if isinstance(value, StoredTensor):
            return _TENSOR, self._place_tensor(value)
        if isinstance(value, list):
            tensors = builder.place_offsets([self._place_tensor(tensor) for tensor in value])
            return _TENSOR_LIST, builder.place_reference(0, tensors)
        if isinstance(value, bool):
            return _BOOL, self._place_bool(value=value)
        builder.StartObject(1)
        if isinstance(value, int):
            builder.PrependInt64Slot(0, value, 0)
            return _INT, builder.EndObject()
        builder.PrependFloat64Slot(0, value, None)  # 0 is written, too, as it may be -0.0
        return _DOUBLE, builder.EndObject()

    def _place_bool(self, *, value: bool) -> int:
        self._builder.StartObject(1)
        self._builder.PrependBoolSlot(0, value, False)
        return int(self._builder.EndObject())

    def _place_tensor(self, tensor: StoredTensor) -> int:
        builder = self._builder
        sizes, strides = (
            builder.CreateNumpyVector(np.array(longs, np.int64))
            for longs in (tensor.sizes, tensor.strides)
        )
        builder.StartObject(4)
        builder.PrependInt64Slot(3, tensor.offset, 0)
        builder.PrependUOffsetTRelativeSlot(1, sizes, 0)
        builder.PrependUOffsetTRelativeSlot(2, strides, 0)
        builder.PrependInt8Slot(0, tensor.scalar_type, 0)
        return int(builder.EndObject())
