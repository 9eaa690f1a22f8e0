"""ExecuTorch's EventTracer in Python: the calls by which a runtime reports events. No I/O.

`EventTracer` has the methods of the runtime's class of the same name, which log at any level. The
context managers and the helpers `log_output` and `log_intermediate_output` correspond to the
runtime's scopes and hooks, and log only what the levels allow.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from operator import index
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.errors import FilterError, UnwritableError

DelegateId = int | str
OutputFilter = Callable[[DelegateId], bool]


def whole(what: str, number: SupportsIndex, low: int, stop: int) -> int:
    """The number as an integer of a field's range.

    Raises:
        UnwritableError: The number is not an integer, below `low`, or not below `stop`.
    """
    try:
        integer = index(number)
    except TypeError:
        integer = stop
    if not low <= integer < stop:
        raise UnwritableError(
            f"{what}: found {number!r}, wanted an integer from {low} to {stop - 1}"
        )
    return integer


class InstructionPlace(NamedTuple):
    """The instruction of an event; the defaults are for events outside of instructions."""

    chain: int = -1
    instruction: int = 0

    @classmethod
    def of(cls, chain: int, instruction: int) -> InstructionPlace:
        """The place as dumps store it: handles are unsigned in the runtime, but signed in a dump.

        Raises:
            UnwritableError: A number is out of range.
        """
        handle = whole("instruction", instruction, -(2**31), 2**32)
        signed = handle - 2**32 if handle >= 2**31 else handle
        return cls(whole("chain", chain, -(2**31), 2**31), signed)

    @property
    def handle(self) -> int:
        """The instruction as in the runtime, unsigned."""
        return self.instruction % 2**32


class DebugLevel(IntEnum):
    """Which values `log_output` and `log_intermediate_output` log."""

    NO_LOGGING = 0
    PROGRAM_OUTPUTS = 1
    INTERMEDIATE_OUTPUTS = 2


class ProfilingLevel(IntEnum):
    """Whether `profile` logs; `profile_method` and events of delegates are always logged."""

    METHOD_ONLY = 0
    ALL_EVENTS = 1


@dataclass(frozen=True)
class Tensor:
    """An array of elements of a type that numpy does not have.

    Attributes:
        bits: The elements as numbers of the same width, ``uint16`` for bfloat16.
        dtype: Name of the type in `ingest.etdump.values.DTYPES`.
    """

    bits: NDArray[Any]
    dtype: str


Array = NDArray[Any] | Tensor
Value = bool | int | float | np.generic | Array | Sequence[Array]


@dataclass(slots=True, eq=False)
class ProfileEntry:
    """A started event, to be passed to the method that ends it."""

    name: str | None
    delegate_id: DelegateId | None  # None outside of delegates
    place: InstructionPlace
    start_ticks: int


@dataclass(frozen=True)
class DelegateOutputFilter:
    """A filter of delegate ids; True means "do not log".

    As in the runtime's ETDumpFilter, values of all string ids are left out without `names`, and
    values of all integer ids without `ids`.

    >>> leave_out = DelegateOutputFilter(names=("conv.*",), ids=range(5, 9))
    >>> [leave_out(delegate_id) for delegate_id in ("conv_1", "my_conv", 5, 9)]
    [True, False, True, False]

    Attributes:
        names: Regular expressions, one of which must match a whole string id.
        ids: Range of integer ids.
    """

    names: Sequence[str] = ()
    ids: range | None = None

    def __post_init__(self) -> None:
        """Check the filter.

        Raises:
            FilterError: A name is not a regular expression, or the range of ids is empty.
        """
        for name in self.names:
            try:
                re.compile(name)
            except re.error as error:
                raise FilterError(
                    f"filter: {name!r}: {error}, wanted a regular expression"
                ) from error
        if self.ids is not None and not self.ids:
            raise FilterError(f"filter: {self.ids} is empty, wanted a range with ids, or None")

    def __call__(self, delegate_id: DelegateId) -> bool:
        """Whether to leave out the values of this id."""
        if isinstance(delegate_id, str):
            return not self.names or any(re.fullmatch(name, delegate_id) for name in self.names)
        return self.ids is None or delegate_id in self.ids


class EventTracer(ABC):
    """Receives a runtime's reports: blocks of events, values and allocations.

    Not thread-safe, like the runtime's. Anything that cannot be written raises a `TracerError`.

    Attributes:
        debug_level: Which values the logging helpers log.
        profiling_level: Whether `profile` logs.
        output_filter: True for the delegate ids whose intermediate outputs are left out.
    """

    def __init__(
        self,
        *,
        debug_level: DebugLevel = DebugLevel.NO_LOGGING,
        profiling_level: ProfilingLevel = ProfilingLevel.ALL_EVENTS,
        output_filter: OutputFilter | None = None,
    ) -> None:
        self.debug_level = debug_level
        self.profiling_level = profiling_level
        self.output_filter = output_filter
        self._place = InstructionPlace()
        self._bundled_input_index = -1

    @property
    def current_chain_id(self) -> int:
        """The current chain, -1 for none."""
        return self._place.chain

    @property
    def current_debug_handle(self) -> int:
        """The current instruction, unsigned; 0 also means none."""
        return self._place.handle

    @property
    def bundled_input_index(self) -> int:
        """The current bundled input, -1 for none."""
        return self._bundled_input_index

    @property
    def intermediate_outputs_logging_status(self) -> bool:
        """Whether the debug level lets `log_intermediate_output` log."""
        return self.debug_level >= DebugLevel.INTERMEDIATE_OUTPUTS

    def set_chain_debug_handle(self, chain: int, instruction: int) -> None:
        """Set the instruction of the following events; (-1, 0) means none.

        Raises:
            UnwritableError: A number is out of range.
        """
        self._place = InstructionPlace.of(chain, instruction)

    def set_bundled_input_index(self, input_index: int) -> None:
        """Set the bundled input of the following blocks; -1 means none.

        Raises:
            UnwritableError: The index is out of range.
        """
        self._bundled_input_index = whole("bundled input index", input_index, -(2**31), 2**31)

    @abstractmethod
    def create_event_block(self, name: str) -> None:
        """Start a block, that is, a run; ends an open block."""

    @abstractmethod
    def end_event_block(self) -> None:
        """End the block; further events need a new one."""

    @abstractmethod
    def start_profiling(
        self, name: str | None, chain: int = -1, instruction: int = 0
    ) -> ProfileEntry:
        """Start timing an event; with chain -1 it belongs to the current instruction."""

    @abstractmethod
    def end_profiling(self, entry: ProfileEntry) -> None:
        """Stop timing an event and log it, in the block that is open now."""

    @abstractmethod
    def start_profiling_delegate(self, delegate_id: DelegateId) -> ProfileEntry:
        """Start timing an event of a delegate, whose id is a number or a name."""

    @abstractmethod
    def end_profiling_delegate(self, entry: ProfileEntry, metadata: bytes = b"") -> None:
        """Stop timing an event of a delegate and log it, for the current instruction."""

    @abstractmethod
    def log_profiling_delegate(
        self, delegate_id: DelegateId, start_ticks: int, end_ticks: int, metadata: bytes = b""
    ) -> None:
        """Log an event that the delegate timed itself."""

    @abstractmethod
    def track_allocator(self, name: str) -> int:
        """Register an allocator before the block's first event; returns its id, from 1 on."""

    @abstractmethod
    def track_allocation(self, allocator_id: int, size_bytes: int) -> None:
        """Log an allocation."""

    @abstractmethod
    def log_evalue(self, value: Value, *, is_output: bool = False) -> None:
        """Log a value of the current instruction, or an output of the program."""

    @abstractmethod
    def log_intermediate_output_delegate(self, delegate_id: DelegateId, value: Value) -> bool:
        """Log a value that a delegate computed; returns False if the filter left it out."""

    def log_intermediate_output(self, value: Value) -> None:
        """Log a value of the current instruction, if the debug level allows it."""
        if self.intermediate_outputs_logging_status:
            self.log_evalue(value)

    def log_output(self, value: Value) -> None:
        """Log an output of the program, if the debug level allows it."""
        if self.debug_level >= DebugLevel.PROGRAM_OUTPUTS:
            self.log_evalue(value, is_output=True)

    @contextmanager
    def block(self, name: str) -> Iterator[None]:
        """A block for everything that the body logs."""
        self.create_event_block(name)
        try:
            yield
        finally:
            self.end_event_block()

    @contextmanager
    def instruction(self, instruction: int, *, chain: int = 0) -> Iterator[None]:
        """Everything that the body logs belongs to this instruction."""
        before = self._place
        self.set_chain_debug_handle(chain, instruction)
        try:
            yield
        finally:
            self._place = before

    @contextmanager
    def profile_method(self, name: str | None) -> Iterator[None]:
        """An event that times the body at any profiling level, as ``Method::execute``."""
        entry = self.start_profiling(name)
        try:
            yield
        finally:
            self.end_profiling(entry)

    @contextmanager
    def profile(
        self, name: str | None, *, instruction: int | None = None, chain: int = 0
    ) -> Iterator[None]:
        """An event that times the body, as an operator or kernel, if the profiling level allows it.

        Args:
            name: The name of the event.
            instruction: Instruction of the event and of everything that the body logs; by default
                the current one.
            chain: The chain of `instruction`.
        """
        before = self._place
        if instruction is not None:
            self.set_chain_debug_handle(chain, instruction)
        is_logged = self.profiling_level > ProfilingLevel.METHOD_ONLY
        entry = self.start_profiling(name) if is_logged else None
        try:
            yield
        finally:
            if entry is not None:
                self.end_profiling(entry)
            self._place = before

    @contextmanager
    def profile_delegate(self, delegate_id: DelegateId, metadata: bytes = b"") -> Iterator[None]:
        """An event of a delegate that times the body."""
        entry = self.start_profiling_delegate(delegate_id)
        try:
            yield
        finally:
            self.end_profiling_delegate(entry, metadata)
