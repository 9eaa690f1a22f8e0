"""Event blocks and their events, with the ExecuTorch Inspector's names.

`build` creates them from a dump; users may create and change them, too. Logged tensors of a block
from `build` are read on first use; the Inspector replaces them by arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.signatures import event_kind
from tracehouse.queries.event_blocks.frames import Columns, as_one_type, html_table, new_frame
from tracehouse.queries.event_blocks.logged_values import NO_VALUES, ValuesByRun
from tracehouse.queries.event_blocks.scales import Converter
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.warehouse.statistics.rollups import interpolate_sorted

if TYPE_CHECKING:
    from tracehouse.ingest.producers import Rule

FRAMEWORK_EVENT = "OPERATOR_CALL"
STATISTICS = ("p10", "p50", "p90", "avg", "min", "max")

MetadataParser = Callable[[list[bytes]], list[Any] | dict[str, Any]]

_MOST_OP_TYPES = 4
_OUTSIDE = -1  # instruction of events outside the program
_UNPRINTED = (
    "raw", "delegate_debug_identifier", "stack_traces", "module_hierarchy", "debug_data",
)  # fmt: skip


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


def summarise_events(durations: Sequence[Sequence[float]]) -> list[SampleStatistics | None]:
    """The statistics of the durations of each event; None for an event without any."""
    bounds = [0, *accumulate(map(len, durations))]
    return summarise_groups(np.array([*chain.from_iterable(durations)], np.float64), bounds)


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


@dataclass
class PerfData:
    """Durations of an event in the target time scale; statistics are NaN without durations."""

    raw: list[float]

    @property
    def p10(self) -> float:
        """The 10th percentile."""
        return self._percentile(0.1)

    @property
    def p50(self) -> float:
        """The median."""
        return self._percentile(0.5)

    @property
    def p90(self) -> float:
        """The 90th percentile."""
        return self._percentile(0.9)

    @property
    def avg(self) -> float:
        """The mean."""
        return float(np.mean(self.raw)) if self.raw else math.nan

    @property
    def min(self) -> float:
        """The shortest."""
        return min(self.raw, default=math.nan)

    @property
    def max(self) -> float:
        """The longest."""
        return max(self.raw, default=math.nan)

    def __repr__(self) -> str:
        if not self.raw:
            return "PerfData(no samples)"
        return f"PerfData({len(self.raw):,} samples, p50={self.p50:.6g}, max={self.max:.6g})"

    def _percentile(self, share: float) -> float:
        durations = np.sort(np.asarray(self.raw, np.float64))[None, :]
        return float(interpolate_sorted(durations, share)[0]) if self.raw else math.nan


@dataclass
class Event:
    """An event; logged tensors are numpy arrays, None if missing.

    Changes affect tables, module totals and numeric gaps.
    """

    name: str
    perf_data: PerfData | None = None
    op_types: Sequence[str] = field(default_factory=list)
    delegate_debug_identifier: int | str | None = None
    debug_handles: int | Sequence[int] | None = None
    num_outputs: int = 1
    stack_traces: Mapping[str, str | None] = field(default_factory=dict)
    module_hierarchy: Mapping[str, Mapping[str, Sequence[str]] | None] = field(default_factory=dict)
    is_delegated_op: bool | None = None
    delegate_backend_name: str | None = None
    _delegate_debug_metadatas: list[bytes] = field(default_factory=list)
    debug_data: list[Any] = field(default_factory=list)
    _instruction_id: int | None = None
    _delegate_metadata_parser: MetadataParser | None = None
    _delegate_time_scale_converter: Converter | None = None
    _start_time: list[int] | None = None
    # Attributes of events read from a dump that the Inspector does not have.
    _kind: str | None = field(default=None, repr=False, compare=False)
    samples_per_run: list[int] | None = field(default=None, repr=False, compare=False)
    flagged: list[FlaggedSample] = field(default_factory=list, repr=False, compare=False)
    values: ValuesByRun = field(default=NO_VALUES, repr=False, compare=False)
    rule: Rule | None = field(default=None, repr=False, compare=False)

    @cached_property
    def delegate_debug_metadatas(self) -> Any:
        """Metadata of a delegated event from the parser; without a parser, as logged."""
        if not self.is_delegated_op or self._delegate_metadata_parser is None:
            return self._delegate_debug_metadatas
        return self._delegate_metadata_parser(self._delegate_debug_metadatas)

    @property
    def raw_delegate_debug_metadatas(self) -> list[bytes]:
        """Metadata as logged, one per sample; empty if no sample has any."""
        return self._delegate_debug_metadatas

    @property
    def start_time(self) -> list[int] | None:
        """Clock reading in ticks at the start of each sample; None without profile events."""
        return self._start_time

    @property
    def instruction_id(self) -> int:
        """Instruction of the event; -1 outside the program."""
        return _OUTSIDE if self._instruction_id is None else self._instruction_id

    @property
    def avg_per_run(self) -> float | None:
        """Sum of the durations divided by the number of runs with any; None without durations."""
        data, counts = self.perf_data, self.samples_per_run
        if data is None or not data.raw:
            return None
        if not counts or sum(counts) != len(data.raw):  # no run has two, or samples were changed
            return data.avg
        return data.avg * len(data.raw) / sum(count > 0 for count in counts)

    def __repr__(self) -> str:
        """The name, the times and the operators; `asdict` has everything."""
        known = (("perf_data", self.perf_data), ("op_types", self.op_types))
        said = [f"{name}={value!r}" for name, value in known if value]
        return f"Event({', '.join([repr(self.name), *said])})"

    @property
    def kind(self) -> str:
        """Kind of the event, e.g. kernel."""
        name = self.name.encode(errors="replace")
        id_ = self.delegate_debug_identifier
        delegate_id = id_.encode(errors="replace") if isinstance(id_, str) else id_
        return self._kind or event_kind(name, delegate_id)

    def asdict(self, _units: str = "") -> dict[str, Any]:
        """The event by column of its DataFrame; lists are wrapped in a list.

        `_units` is appended to the names of statistics.
        """
        data = self.perf_data
        return {
            "event_name": self.name,
            "raw": [data.raw if data else None],
            **{f"{name}{_units}": getattr(data, name) if data else None for name in STATISTICS},
            "op_types": [shorten_op_types(self.op_types)],
            "delegate_debug_identifier": self.delegate_debug_identifier,
            "stack_traces": [self.stack_traces],
            "module_hierarchy": [self.module_hierarchy],
            "is_delegated_op": self.is_delegated_op,
            "delegate_backend_name": self.delegate_backend_name,
            "debug_data": [self.debug_data],
            "start_time": [self._start_time],
        }

    def to_dataframe(self, _units: str = "") -> Any:
        """A pandas DataFrame of one row; without pandas this raises QueryError."""
        columns = self.asdict(_units)
        return new_frame(
            {name: value if isinstance(value, list) else [value] for name, value in columns.items()}
        )


@dataclass
class EventBlock:
    """The runs of one signature.

    Attributes:
        method: Method of the ETRecord that was run; None if unknown.
        method_candidates: Methods of the ETRecord that may have been run.
        notes: Mismatches of dump and ETRecord, as sentences.
        outputs: Program outputs of all runs; `run_output` has those of the first run with any.
    """

    name: str | None
    events: list[Event] = field(default_factory=list)
    source_time_scale: TimeScale = TimeScale.NS
    target_time_scale: TimeScale = TimeScale.MS
    bundled_input_index: int | None = None
    run_output: list[Any] | None = None
    reference_output: list[Any] | None = None
    method: str | None = field(default=None, compare=False)
    method_candidates: list[str] = field(default_factory=list, repr=False, compare=False)
    notes: list[str] = field(default_factory=list, repr=False, compare=False)
    outputs: ValuesByRun = field(default=NO_VALUES, repr=False, compare=False)

    def to_dataframe(
        self, include_units: bool = False, include_delegate_debug_data: bool = False
    ) -> Any:
        """A pandas DataFrame with one row per event; without pandas this raises QueryError."""
        return new_frame(
            event_columns(
                [self],
                unit=self.target_time_scale if include_units else None,
                include_delegate_debug_data=include_delegate_debug_data,
            )
        )

    def __repr__(self) -> str:
        count = len(self.events)
        return f"EventBlock({self.name!r}, {count:,} event{'' if count == 1 else 's'})"

    def _repr_html_(self) -> str:
        """The block's events as a table, for notebooks."""
        columns = event_columns(
            [self], unit=self.target_time_scale, include_delegate_debug_data=False
        )
        return html_table(printed_columns(columns))


def event_columns(
    blocks: Sequence[EventBlock], *, unit: TimeScale | None, include_delegate_debug_data: bool
) -> dict[str, list[Any]]:
    """The Inspector's columns, with one value per event of all blocks.

    Names of statistics include `unit`, if given. Metadata has a column per key, or one column if a
    parser returned a list; NaN for events without metadata.
    """
    units = f" ({unit})" if unit else ""
    rows = [(block.name, event) for block in blocks for event in block.events]
    columns: dict[str, list[Any]] = {"event_block_name": [name for name, _ in rows]}
    columns |= {name: [] for name in Event("").asdict(units)}
    for _, event in rows:
        for name, value in event.asdict(units).items():
            columns[name].append(value[0] if isinstance(value, list) else value)
    if include_delegate_debug_data:
        metadata: dict[str, list[Any]] = {}
        for row, (_, event) in enumerate(rows):
            for name, value in _metadata(event):
                metadata.setdefault(name, [math.nan] * len(rows))[row] = value
        columns |= {name: as_one_type(values) for name, values in metadata.items()}
    return columns


def printed_columns(columns: Columns) -> dict[str, list[Any]]:
    """The columns of `event_columns` that the Inspector prints, without framework events."""
    shown = [FRAMEWORK_EVENT not in name for name in columns["event_name"]]
    return {
        name: [value for value, is_shown in zip(values, shown, strict=True) if is_shown]
        for name, values in columns.items()
        if name not in _UNPRINTED
    }


def _metadata(event: Event) -> Iterator[tuple[str, Any]]:
    metadata = event.delegate_debug_metadatas
    if not metadata:
        return
    if isinstance(metadata, Mapping):
        yield from zip(metadata, as_one_type([*metadata.values()]), strict=True)
    else:
        yield "delegate_debug_metadata", metadata


def shorten_op_types(op_types: Sequence[str]) -> Sequence[str]:
    """The operators, or for five or more a text with the first two and the last one.

    >>> shorten_op_types(["a", "b", "c", "d", "e"])
    "['a', 'b' ... 'e'] (5 total)"
    """
    if len(op_types) <= _MOST_OP_TYPES:
        return op_types
    first, second, last = op_types[0], op_types[1], op_types[-1]
    return f"['{first}', '{second}' ... '{last}'] ({len(op_types)} total)"
