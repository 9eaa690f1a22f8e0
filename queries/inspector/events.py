"""Events with the ExecuTorch Inspector's attributes, which users may create and change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tracehouse.ingest.signatures import event_kind
from tracehouse.queries.event_blocks.scales import Converter
from tracehouse.queries.event_blocks.table import STATISTICS, shorten_op_types
from tracehouse.queries.inspector.frames import new_frame
from tracehouse.warehouse.statistics.rollups import interpolate_sorted

MetadataParser = Callable[[list[bytes]], list[Any] | dict[str, Any]]


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
    op_types: list[str] = field(default_factory=list)
    delegate_debug_identifier: int | str | None = None
    debug_handles: int | Sequence[int] | None = None
    num_outputs: int = 1
    stack_traces: dict[str, str | None] = field(default_factory=dict)
    module_hierarchy: dict[str, dict[str, tuple[str, ...]] | None] = field(default_factory=dict)
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
    _samples_per_run: list[int] | None = field(default=None, repr=False, compare=False)

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
        """Clock reading in ticks at the start of each sample; None without samples."""
        return self._start_time

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
