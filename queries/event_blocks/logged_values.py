"""Values that a dump's debug events logged, by run. Pure.

Tensors are read from the debug buffer on first use of their elements.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.debug_buffer import DebugBuffer, TensorValue

_OUTSIDE = -1  # chain of what is logged outside of instructions
_PAGE_ROWS = 1024

LoggedValue = bool | int | float | TensorValue | list[TensorValue] | None


def logged_value(value: Any) -> LoggedValue:
    """A value as it would be logged: arrays and torch's tensors, also in a list, become tensors.

    None becomes a missing tensor.
    """
    if value is None:
        return TensorValue("", None, None, "missing")
    if isinstance(value, list):
        return [tensor for tensor in map(logged_value, value) if isinstance(tensor, TensorValue)]
    if isinstance(value, TensorValue | str) or not hasattr(value, "__array__"):
        known: LoggedValue = value
        return known
    array = as_array(value)
    dtype = str(value.dtype).removeprefix("torch.") if _is_torch(value) else array.dtype.name
    return TensorValue.of_array(dtype, array)


def as_array(value: Any) -> NDArray[Any]:
    """An array or a tensor of torch as an array, with bfloat16 widened to float32."""
    if not _is_torch(value):
        return np.asarray(value)
    plain = value.detach().cpu()
    is_bfloat16 = str(plain.dtype) == "torch.bfloat16"  # numpy has no such type
    return np.asarray((plain.float() if is_bfloat16 else plain).numpy())


def _is_torch(value: Any) -> bool:
    return hasattr(value, "detach")


class Instruction(NamedTuple):
    """The instruction of a debug event; None for absent ids, chain -1 outside instructions."""

    instruction_id: int | None
    delegate_id_int: int | None
    delegate_id_str: str | None
    chain_index: int


class InstructionValue(NamedTuple):
    """One debug event."""

    instruction: Instruction
    name: str
    is_output: bool
    value: LoggedValue


class _Row(NamedTuple):
    """The columns of debug_values that are used here."""

    event_index: int
    instruction_id: int | None
    delegate_id_int: int | None
    delegate_id_str: str | None
    chain_index: int
    name: str | None
    is_output: bool
    value_type: str
    int_value: int | None
    double_value: float | None
    dtype: str | None
    sizes: list[int] | None
    strides: list[int] | None
    tensor_offset: int


class LoggedValues:
    """Debug events of one dump, by run."""

    def __init__(self, debug_values: pa.Table, buffer: bytes | memoryview | None = None) -> None:
        """Index the decoded debug_values of one dump; without a buffer, tensors are missing."""
        self._table = debug_values.select(_Row._fields)
        self._buffer = DebugBuffer(buffer)
        self._run = debug_values["run_index"].to_numpy()
        self._runs_with_outputs = set(
            self._run[debug_values["is_output"].to_numpy(zero_copy_only=False)].tolist()
        )
        self._pages: dict[int, list[_Row]] = {}
        self._known: dict[int, list[InstructionValue]] = {}

    def of_run(self, run: int) -> list[InstructionValue]:
        """The debug events of a run, in file order."""
        if run not in self._known:
            first, last = np.searchsorted(self._run, [run, run + 1]).tolist()
            events = groupby(self._rows(first, last), attrgetter("event_index"))
            self._known[run] = [self._event(list(event)) for _, event in events]
        return self._known[run]

    def _rows(self, first: int, last: int) -> list[_Row]:
        """Rows of the table, read in cached pages, as a hostile dump can have a run per row."""
        start = first - first % _PAGE_ROWS
        pages = map(self._read_page, range(start, last, _PAGE_ROWS))
        return list(islice(chain.from_iterable(pages), first - start, last - start))

    def _read_page(self, start: int) -> list[_Row]:
        if start not in self._pages:
            columns = self._table.slice(start, _PAGE_ROWS).columns
            values = zip(*(column.to_pylist() for column in columns), strict=True)
            self._pages[start] = list(map(_Row._make, values))
        return self._pages[start]

    def outputs_of_run(self, run: int) -> list[LoggedValue]:
        """The program outputs of a run, in file order."""
        if run not in self._runs_with_outputs:
            return []
        return [event.value for event in self.of_run(run) if event.is_output]

    def _event(self, rows: Sequence[_Row]) -> InstructionValue:
        """The event of these rows; a tensor list has a row per tensor."""
        row = rows[0]
        instruction = Instruction(
            row.instruction_id, row.delegate_id_int, row.delegate_id_str, row.chain_index
        )
        return InstructionValue(instruction, row.name or "", row.is_output, self._value(rows))

    def _value(self, rows: Sequence[_Row]) -> LoggedValue:
        """The value; None if the dump has only a type."""
        row = rows[0]
        if row.value_type in ("tensor", "tensor_list"):
            tensors = [
                self._buffer.read(dtype, row.sizes, strides=row.strides, offset=row.tensor_offset)
                for row in rows
                if (dtype := row.dtype) is not None
            ]
            if row.value_type == "tensor_list":
                return tensors
            return tensors[0] if tensors else None
        if row.value_type == "bool" and row.int_value is not None:
            return bool(row.int_value)
        return row.double_value if row.int_value is None else row.int_value


@dataclass(frozen=True)
class ValuesByRun:
    """Logged values of one event, or program outputs, of each run of a block; read on first use.

    Attributes:
        runs: The runs of the block, in file order.
        of_run: Returns the values of a run, in file order; their number can differ between runs.
    """

    runs: Sequence[int]
    of_run: Callable[[int], list[LoggedValue]]

    @property
    def first(self) -> list[LoggedValue]:
        """The values of the first run that has any."""
        return next((values for run in self.runs if (values := self.of_run(run))), [])

    @cached_property
    def is_same_in_all_runs(self) -> bool | None:
        """Whether all runs have the same values; None if missing tensors leave this open.

        Values are the same if type, shape and bits are equal: a NaN equals itself, but 0.0 does
        not equal -0.0.
        """
        first, *others = map(self.of_run, self.runs)
        return _all(_is_same_list(values, first) for values in others)


NO_VALUES = ValuesByRun((0,), lambda _: [])


class BlockValues:
    """Values logged in the runs of one event block, by event signature."""

    def __init__(
        self,
        logged: LoggedValues,
        runs: Sequence[int],
        *,
        signatures: Sequence[Mapping[str, Any]],
        chains: Callable[[int, int], Sequence[int]],
    ) -> None:
        """Prepare without reading values.

        Args:
            logged: The dump's logged values.
            runs: The runs of the block, in file order.
            signatures: The event signatures of the block, as rows of their table.
            chains: Returns the chains of a signature's profile events, by its id and a run.
        """
        self._logged = logged
        self._runs = runs
        self._signatures = signatures
        self._chains = chains
        self._by_run: dict[int, list[list[int]]] = {}
        self._by_layout: dict[Hashable, list[list[int]]] = {}

    @property
    def outputs(self) -> ValuesByRun:
        """The program outputs."""
        return ValuesByRun(self._runs, self._logged.outputs_of_run)

    def of(self, index: int) -> ValuesByRun:
        """The values of the block's event signature at this index."""
        if not self._signatures[index]["is_logged"]:
            return NO_VALUES

        def of_run(run: int) -> list[LoggedValue]:
            logged = self._logged.of_run(run)
            return [logged[position].value for position in self._positions(run)[index]]

        return ValuesByRun(self._runs, of_run)

    def _positions(self, run: int) -> list[list[int]]:
        """Positions of each signature's values among the run's logged events."""
        if run not in self._by_run:
            logged = self._logged.of_run(run)
            layout = _layout(logged, run)
            if layout not in self._by_layout:
                self._by_layout[layout] = self._find(logged, run)
            self._by_run[run] = self._by_layout[layout]
        return self._by_run[run]

    def _find(self, logged: Sequence[InstructionValue], run: int) -> list[list[int]]:
        profiled = [
            [_instruction(row, chain) for chain in self._chains(row["event_signature_id"], run)]
            for row in self._signatures
        ]
        positions = _Positions(logged, {one for several in profiled for one in several})
        pairs = zip(self._signatures, profiled, strict=True)
        return [positions.of(signature, instructions) for signature, instructions in pairs]


class _Positions:
    """Positions of values among a run's logged events, by event signature."""

    def __init__(self, logged: Sequence[InstructionValue], profiled: Set[Instruction]) -> None:
        """Collect all values except outputs; instructions in `profiled` have profile events."""
        names: dict[Instruction, str] = {}
        self._profiled: dict[Instruction, list[int]] = defaultdict(list)
        self._alone: dict[tuple[Instruction, str], list[int]] = defaultdict(list)
        for position, event in enumerate(logged):
            if event.is_output:
                continue
            name = names.setdefault(event.instruction, event.name)
            if event.instruction in profiled:
                self._profiled[event.instruction].append(position)
            else:
                anywhere = event.instruction._replace(chain_index=_OUTSIDE)
                self._alone[anywhere, name].append(position)

    def of(self, signature: Mapping[str, Any], profiled: Sequence[Instruction]) -> list[int]:
        """Positions for an event signature, whose profile events belong to `profiled`."""
        if not signature["is_logged"]:
            return []
        if not signature["is_profiled"]:
            return self._alone[_instruction(signature, _OUTSIDE), signature["debug_name"]]
        return [position for one in profiled for position in self._profiled[one]]


def _instruction(signature: Mapping[str, Any], chain: int) -> Instruction:
    return Instruction(
        signature["instruction_id"],
        signature["delegate_id_int"],
        signature["delegate_id_str"],
        chain,
    )


def _layout(logged: Sequence[InstructionValue], run: int) -> Hashable:
    """A key per run; runs with equal keys log each signature's values at equal positions.

    Values of an instruction with a single chain belong to the same signatures in every run of the
    block; with several chains, this depends on the chains of the run's profile events.
    """
    layout = tuple(event[:3] for event in logged)
    chained = {event.instruction for event in logged if event.instruction.chain_index >= 0}
    is_ambiguous = len({instruction[:3] for instruction in chained}) < len(chained)
    return (layout, run if is_ambiguous else None)


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    """False if any answer is False, else None if any is None, else True."""
    is_known = True
    for verdict in verdicts:
        if verdict is False:
            return False
        is_known = is_known and verdict is not None
    return True if is_known else None


def _is_same_list(left: Sequence[LoggedValue], right: Sequence[LoggedValue]) -> bool | None:
    if len(left) != len(right):
        return False
    return _all(map(_is_same, left, right))


def _is_same(left: LoggedValue, right: LoggedValue) -> bool | None:
    if isinstance(left, TensorValue) and isinstance(right, TensorValue):
        return left.is_same(right)
    if isinstance(left, list) and isinstance(right, list):
        return _is_same_list(left, right)
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("d", left) == struct.pack("d", right)
    return type(left) is type(right) and left == right
