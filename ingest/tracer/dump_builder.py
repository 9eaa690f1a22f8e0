"""Writes an ETDump's FlatBuffers tables; `ingest/etdump/schema.py` has the schema."""

from __future__ import annotations

import numpy as np

from tracehouse.ingest.tracer.debug_buffer import StoredTensor, StoredValue
from tracehouse.ingest.tracer.event_tracer import DelegateId
from tracehouse.ingest.tracer.flatbuffer_builder import FlatBufferBuilder, pack_text
from tracehouse.ingest.tracer.places import InstructionPlace
from tracehouse.ingest.tracer.profile_packer import NONE, ProfilePacker

_IDENTIFIER = b"ED00"
_ALLOCATION, _DEBUG = 1, 2  # members of Event
_INT, _BOOL, _DOUBLE, _TENSOR, _TENSOR_LIST = 1, 2, 4, 5, 6  # types of Value
_SLOTS = {_INT: 3, _BOOL: 6, _DOUBLE: 5, _TENSOR: 1, _TENSOR_LIST: 2}


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
