"""Values that a dump's debug events logged, by run. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa


class Tensor(NamedTuple):
    """A logged tensor; its elements are in the debug buffer, not in the dump.

    Attributes:
        dtype: Element type, e.g. float32.
        shape: Sizes; None if the dump has none.
    """

    dtype: str
    shape: list[int] | None


_OUTSIDE = -1

LoggedValue = bool | int | float | Tensor | list[Tensor] | None


class Instruction(NamedTuple):
    """What a debug event belongs to; None for absent ids, chain -1 outside instructions."""

    instruction_id: int | None
    delegate_id_int: int | None
    delegate_id_str: str | None
    chain_index: int


class LoggedEvent(NamedTuple):
    """One debug event."""

    instruction: Instruction
    name: str
    is_output: bool
    value: LoggedValue


class LoggedValues:
    """Debug events of one dump, by run."""

    def __init__(self, debug_values: pa.Table) -> None:
        """Index the decoded debug_values of one dump."""
        self._table = debug_values
        self._run = debug_values["run_index"].to_numpy()
        self._runs_with_outputs = set(
            self._run[debug_values["is_output"].to_numpy(zero_copy_only=False)].tolist()
        )

    def of_run(self, run: int) -> list[LoggedEvent]:
        """The debug events of a run, in file order."""
        first, last = np.searchsorted(self._run, [run, run + 1]).tolist()
        rows = self._table.slice(first, last - first).to_pylist()
        return [_logged_event(list(event)) for _, event in groupby(rows, itemgetter("event_index"))]

    def outputs(self, runs: Sequence[int]) -> list[LoggedValue]:
        """The program outputs of the first of these runs that has any, in file order."""
        run = next((run for run in runs if run in self._runs_with_outputs), None)
        if run is None:
            return []
        return [event.value for event in self.of_run(run) if event.is_output]


class SignatureValues:
    """Values logged in one run, told apart as its event signatures are; program outputs are not."""

    def __init__(self, logged: Sequence[LoggedEvent], profiled: Set[Instruction]) -> None:
        """Gather the values; instructions in `profiled` have profile events as well."""
        names: dict[Instruction, str] = {}
        self._profiled: dict[Instruction, list[LoggedValue]] = defaultdict(list)
        self._alone: dict[tuple[Instruction, str], list[LoggedValue]] = defaultdict(list)
        for event in logged:
            if event.is_output:
                continue
            name = names.setdefault(event.instruction, event.name)
            if event.instruction in profiled:
                self._profiled[event.instruction].append(event.value)
            else:
                anywhere = event.instruction._replace(chain_index=_OUTSIDE)
                self._alone[anywhere, name].append(event.value)

    def of(
        self, signature: Mapping[str, Any], instructions: Sequence[Instruction]
    ) -> list[LoggedValue]:
        """Values of an event signature, a row of its table; `instructions` have profile events."""
        if not signature["is_logged"]:
            return []
        if not signature["is_profiled"]:
            return self._alone[instruction_of(signature, _OUTSIDE), signature["debug_name"]]
        return [value for place in instructions for value in self._profiled[place]]


def instruction_of(signature: Mapping[str, Any], chain: int) -> Instruction:
    """The instruction of an event signature (as a row of its table) on a chain."""
    return Instruction(
        signature["instruction_id"],
        signature["delegate_id_int"],
        signature["delegate_id_str"],
        chain,
    )


def _logged_event(rows: list[dict[str, Any]]) -> LoggedEvent:
    """The event of the rows; a tensor list has one per tensor."""
    row = rows[0]
    instruction = Instruction(*(row[field] for field in Instruction._fields))
    return LoggedEvent(instruction, row["name"] or "", row["is_output"], _value(rows))


def _value(rows: list[dict[str, Any]]) -> LoggedValue:
    """The value; None where the dump tells a type alone, or a type without a value."""
    row = rows[0]
    tensors = [Tensor(row["dtype"], row["sizes"]) for row in rows if row["dtype"] is not None]
    if row["value_type"] == "tensor_list":
        return tensors
    if row["value_type"] == "tensor":
        return tensors[0] if tensors else None
    if row["value_type"] == "bool" and row["int_value"] is not None:
        return bool(row["int_value"])
    number: int | float | None = row["int_value"]
    return row["double_value"] if number is None else number
