"""Values that a dump's debug events logged, by run. Pure.

Tensors are read from the debug buffer on first use of their elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.debug_buffer import DebugBuffer, TensorValue

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
