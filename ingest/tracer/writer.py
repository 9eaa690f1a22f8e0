"""ETDumpWriter: an EventTracer that writes the same dumps as ExecuTorch's ETDumpGen."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from tracehouse.ingest.errors import AllocatorError, EntryError, NoBlockError, UnwritableError
from tracehouse.ingest.tracer.dump_builder import DebugBufferWriter, DumpBuilder
from tracehouse.ingest.tracer.event_tracer import (
    DebugLevel,
    DelegateId,
    EventTracer,
    InstructionPlace,
    OutputFilter,
    ProfileEntry,
    ProfilingLevel,
    Value,
    whole,
)

Clock = Callable[[], int]


class Dump(NamedTuple):
    """A finished dump and the debug buffer with its tensors, empty without tensors."""

    etdump: bytes
    debug_buffer: bytes


class _State(Enum):
    NO_BLOCK = auto()
    BLOCK_CREATED = auto()
    ADDING_EVENTS = auto()


class ETDumpWriter(EventTracer):
    """Writes dumps in memory: trace, call `finish`, trace the next dump.

    >>> ticks = iter(range(0, 100, 10))
    >>> writer = ETDumpWriter(clock=lambda: next(ticks))
    >>> with writer.block("Execute"), writer.profile("native_call_add.out", instruction=3):
    ...     pass
    >>> writer.finish().etdump[8:12]
    b'ED00'
    """

    def __init__(
        self,
        *,
        clock: Clock = time.perf_counter_ns,
        debug_level: DebugLevel = DebugLevel.NO_LOGGING,
        profiling_level: ProfilingLevel = ProfilingLevel.ALL_EVENTS,
        output_filter: OutputFilter | None = None,
    ) -> None:
        """Start an empty dump.

        Args:
            clock: Returns the ticks, unsigned 64-bit integers.
            debug_level: Which values the logging helpers log.
            profiling_level: Whether `profile` logs.
            output_filter: True for the delegate ids whose intermediate outputs are left out.
        """
        super().__init__(
            debug_level=debug_level, profiling_level=profiling_level, output_filter=output_filter
        )
        self._clock = clock
        self._allocators: list[str] = []  # by id, from 1 on; the latest of equal ids
        self.reset()

    @property
    def num_blocks(self) -> int:
        """Number of blocks of the current dump, or of the finished dump until the next block."""
        return self._num_blocks

    def reset(self) -> None:
        """Discard all blocks since the last dump, and all open events.

        The current instruction, the bundled input, the levels and the allocators stay as they are.
        """
        self._open: set[ProfileEntry] = set()
        self._state = _State.NO_BLOCK
        self._num_blocks = 0
        self._begin_dump()

    def finish(self) -> Dump:
        """Return the dump of all blocks since the last dump; ends an open block.

        Raises:
            NoBlockError: There is no block.
        """
        if self._state is not _State.NO_BLOCK:
            self._end_block()
        if not self._dump.block_count:
            raise NoBlockError("finish: nothing to write; call create_event_block first")
        dump = Dump(self._dump.finish(), self._debug_buffer.getvalue())
        self._begin_dump()
        return dump

    def create_event_block(self, name: str) -> None:
        """Start a block for the current bundled input; ends an open block.

        Raises:
            UnwritableError: The name is not Unicode.
        """
        if self._state is not _State.NO_BLOCK:
            self.end_event_block()
        self._num_blocks = self._dump.block_count + 1
        self._dump.begin_block(name, self._bundled_input_index)
        self._state = _State.BLOCK_CREATED
        self._used_allocator = 0

    def end_event_block(self) -> None:
        """End the block; further events need a new one.

        Raises:
            NoBlockError: No block is open.
        """
        self._require_block("end_event_block")
        self._end_block()

    def start_profiling(
        self, name: str | None, chain: int = -1, instruction: int = 0
    ) -> ProfileEntry:
        """Start timing an event; with chain -1 it belongs to the current instruction.

        Raises:
            UnwritableError: A number is out of range.
        """
        place = self._place if chain == -1 else InstructionPlace.of(chain, instruction)
        entry = ProfileEntry(name, None, place, self._clock())
        self._open.add(entry)
        return entry

    def end_profiling(self, entry: ProfileEntry) -> None:
        """Stop timing an event and log it, in the block that is open now.

        Raises:
            EntryError: The event is not open, or is a delegate's.
            NoBlockError: No block is open.
            UnwritableError: The name is not Unicode, or a time is out of range.
        """
        end_ticks = self._clock()
        if entry.delegate_id is not None:
            raise EntryError(
                f"{entry.delegate_id!r}: an event of a delegate; call end_profiling_delegate"
            )
        self._require_open(entry)
        self._require_events("end_profiling")
        self._dump.add_profile(entry.name, entry.place, (entry.start_ticks, end_ticks))
        self._open.remove(entry)

    def start_profiling_delegate(self, delegate_id: DelegateId) -> ProfileEntry:
        """Start timing an event of a delegate, whose id is a number or a name.

        Raises:
            NoBlockError: No block is open.
            UnwritableError: The number is out of range.
        """
        checked_id = _check_delegate_id(delegate_id)
        self._require_events("start_profiling_delegate")
        entry = ProfileEntry(None, checked_id, self._place, self._clock())
        self._open.add(entry)
        return entry

    def end_profiling_delegate(self, entry: ProfileEntry, metadata: bytes = b"") -> None:
        """Stop timing an event of a delegate and log it, for the current instruction.

        Raises:
            EntryError: The event is not open, or is not a delegate's.
            NoBlockError: No block is open.
            UnwritableError: The name is not Unicode, or a time is out of range.
        """
        end_ticks = self._clock()
        if entry.delegate_id is None:
            raise EntryError(f"{entry.name!r}: not an event of a delegate; call end_profiling")
        self._require_open(entry)
        self.log_profiling_delegate(entry.delegate_id, entry.start_ticks, end_ticks, metadata)
        self._open.remove(entry)

    def log_profiling_delegate(
        self, delegate_id: DelegateId, start_ticks: int, end_ticks: int, metadata: bytes = b""
    ) -> None:
        """Log an event that the delegate timed itself.

        Raises:
            NoBlockError: No block is open.
            UnwritableError: A number is out of range, or the name is not Unicode.
        """
        checked_id = _check_delegate_id(delegate_id)
        self._require_events("log_profiling_delegate")
        times = (start_ticks, end_ticks)
        self._dump.add_delegate_profile(checked_id, self._place, times, metadata)

    def track_allocator(self, name: str) -> int:
        """Register an allocator before the block's first event; returns its id, from 1 on.

        Raises:
            NoBlockError: No block is open.
            AllocatorError: The block already has events.
            UnwritableError: The name is not Unicode.
        """
        self._require_block("track_allocator")
        if self._state is _State.ADDING_EVENTS:
            raise AllocatorError(
                f"track_allocator {name!r}: call it before the block's first event"
            )
        id_ = self._dump.add_allocator(name)
        self._allocators[id_ - 1 : id_] = [name]
        return id_

    def track_allocation(self, allocator_id: int, size_bytes: int) -> None:
        """Log an allocation; an earlier block may have registered the id.

        Raises:
            NoBlockError: No block is open.
            AllocatorError: No block has registered this id.
            UnwritableError: The size is out of range.
        """
        self._require_events("track_allocation")
        if not 1 <= allocator_id <= len(self._allocators):
            raise AllocatorError(
                f"track_allocation: found allocator {allocator_id}, wanted one from 1 to "
                f"{len(self._allocators)}"
            )
        self._dump.add_allocation(allocator_id, whole("allocation", size_bytes, 0, 2**64))
        self._used_allocator = max(self._used_allocator, allocator_id)

    def log_evalue(self, value: Value, *, is_output: bool = False) -> None:
        """Log a value of the current instruction, or an output of the program.

        Raises:
            NoBlockError: No block is open.
            UnwritableError: The value is out of range or of a type that is not logged.
        """
        self._require_events("log_evalue")
        self._dump.add_value(self._debug_buffer.store(value), self._place, is_output=is_output)

    def log_intermediate_output_delegate(self, delegate_id: DelegateId, value: Value) -> bool:
        """Log a value that a delegate computed; returns False if the filter left it out.

        Raises:
            NoBlockError: No block is open.
            UnwritableError: The value or number is out of range or of a type that is not logged.
        """
        checked_id = _check_delegate_id(delegate_id)
        if self.output_filter is not None and self.output_filter(checked_id):
            return False
        self._require_events("log_intermediate_output_delegate")
        self._dump.add_value(self._debug_buffer.store(value), self._place, delegate_id=checked_id)
        return True

    def _begin_dump(self) -> None:
        self._dump = DumpBuilder()
        self._debug_buffer = DebugBufferWriter()

    def _end_block(self) -> None:
        """End the block, after adding the allocators of earlier blocks that it uses."""
        for name in self._allocators[self._dump.allocator_count : self._used_allocator]:
            self._dump.add_allocator(name)
        self._dump.end_block(has_events=self._state is _State.ADDING_EVENTS)
        self._state = _State.NO_BLOCK

    def _require_block(self, call: str) -> None:
        if self._state is _State.NO_BLOCK:
            raise NoBlockError(f"{call}: no block is open; call create_event_block first")

    def _require_events(self, call: str) -> None:
        """Check that a block is open; from now on it accepts events, but no allocators."""
        if self._state is not _State.ADDING_EVENTS:
            self._require_block(call)
            self._state = _State.ADDING_EVENTS

    def _require_open(self, entry: ProfileEntry) -> None:
        if entry not in self._open:
            label = entry.name if entry.delegate_id is None else entry.delegate_id
            raise EntryError(f"{label!r}: not open; wanted an event that was started and not ended")


def _check_delegate_id(delegate_id: DelegateId) -> DelegateId:
    if isinstance(delegate_id, str):
        return delegate_id
    if delegate_id == -1:
        raise UnwritableError("delegate id: -1 means none, wanted another number or a name")
    return whole("delegate id", delegate_id, -(2**31), 2**31)
