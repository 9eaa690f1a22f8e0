"""Samples of an event signature in an event block, and their statistics. Pure."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.event_blocks.logged_values import (
    Instruction,
    InstructionValue,
    LoggedValue,
    LoggedValues,
)
from tracehouse.warehouse.statistics.rollups import interpolate_sorted

_OUTSIDE = -1


class FlaggedSample(NamedTuple):
    """A profile event with a wrong duration, with its clock readings in ticks."""

    run_index: int
    start_time: int
    end_time: int
    reason: str


class SampleStatistics(NamedTuple):
    """The Inspector's six statistics and four more; percentiles by linear interpolation.

    `stddev` is the sample standard deviation (divided by n - 1); None for a single sample.
    """

    p10: float
    p50: float
    p90: float
    avg: float
    min: float
    max: float
    p95: float
    p99: float
    n: int
    stddev: float | None


@dataclass(frozen=True)
class Samples:
    """All profile events of one signature in an event block, in file order.

    Attributes:
        raw: Durations in the target time scale, without the flagged ones.
        start_time: Clock reading in ticks at the start of each of `raw`.
        metadata: Delegate metadata of each of `raw`, b"" if absent; empty if none has any.
        samples_per_run: Number of samples of each run in `raw`; None if no run has two.
        flagged: Events with wrong durations, which all other fields leave out.
        statistics: Statistics of `raw`; None if it is empty.
    """

    raw: list[float]
    start_time: list[int]
    metadata: list[bytes]
    samples_per_run: list[int] | None
    flagged: list[FlaggedSample]
    statistics: SampleStatistics | None

    @property
    def avg_per_run(self) -> float | None:
        """Sum of `raw` divided by the number of runs with samples; None if it is empty."""
        if self.statistics is None or self.samples_per_run is None:
            return self.statistics and self.statistics.avg
        runs = sum(count > 0 for count in self.samples_per_run)
        return self.statistics.avg * self.statistics.n / runs


def summarise(durations: NDArray[np.float64]) -> SampleStatistics:
    """The statistics of at least one duration."""
    return next(_summarise_rows(durations[None, :]))


def summarise_groups(
    durations: NDArray[np.float64], bounds: Sequence[int]
) -> list[SampleStatistics | None]:
    """The statistics of each group of durations; None for an empty group.

    Groups of one size are summarised together, as a hostile dump can have a group per event.

    Args:
        durations: The durations, group after group.
        bounds: Start of each group, and end of the last one.
    """
    starts, sizes = np.array(bounds[:-1], np.int64), np.diff(bounds)
    found: list[SampleStatistics | None] = [None] * len(starts)
    order = np.argsort(sizes, kind="stable")
    distinct, first = np.unique(sizes[order], return_index=True)
    for size, members in zip(
        distinct.tolist(), np.split(order, first[1:]), strict=bool(len(first))
    ):
        if size:
            rows = durations[starts[members][:, None] + np.arange(size)]
            for member, statistics in zip(members.tolist(), _summarise_rows(rows), strict=True):
                found[member] = statistics
    return found


def _summarise_rows(rows: NDArray[np.float64]) -> Iterator[SampleStatistics]:
    count, size = rows.shape
    ordered = np.sort(rows, axis=1)
    p10, p50, p90, p95, p99 = (
        interpolate_sorted(ordered, share).tolist() for share in (0.1, 0.5, 0.9, 0.95, 0.99)
    )
    least, most = ordered[:, 0].tolist(), ordered[:, -1].tolist()
    stddev = np.std(rows, axis=1, ddof=1).tolist() if size > 1 else [None] * count
    columns = (p10, p50, p90, np.mean(rows, axis=1).tolist(), least, most, p95, p99)
    return map(SampleStatistics, *columns, [size] * count, stddev)


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
