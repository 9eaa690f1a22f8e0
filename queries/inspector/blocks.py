"""Event blocks with the attributes of the ExecuTorch Inspector's, and as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ingest.debug_buffer import TensorValue
from ingest.etrecord.values import RecordedValue
from queries.event_blocks.build import BuiltBlock, BuiltEvent
from queries.event_blocks.samples import Samples
from queries.event_blocks.table import STATISTICS, shorten_op_types
from queries.event_blocks.time_scales import TimeScale
from warehouse.errors import QueryError
from warehouse.programs.correlation import Handles, Hierarchy

MetadataParser = Callable[[list[bytes]], list[Any] | dict[str, Any]]


@dataclass(frozen=True)
class PerfData:
    """Durations of an event in the target time scale, and their statistics."""

    raw: list[float]
    p10: float
    p50: float
    p90: float
    avg: float
    min: float
    max: float


@dataclass(frozen=True)
class Event:
    """An event; logged tensors are numpy arrays, None where they are missing."""

    name: str
    perf_data: PerfData | None
    op_types: list[str]
    delegate_debug_identifier: int | str | None
    debug_handles: Handles | None
    num_outputs: int
    stack_traces: dict[str, str | None]
    module_hierarchy: dict[str, Hierarchy | None]
    is_delegated_op: bool
    delegate_backend_name: str | None
    raw_delegate_debug_metadatas: list[bytes]
    delegate_debug_metadatas: Any
    debug_data: list[Any]
    start_time: list[int] | None
    _instruction_id: int


@dataclass(frozen=True)
class EventBlock:
    """An event block."""

    name: str | None
    events: list[Event]
    source_time_scale: TimeScale
    target_time_scale: TimeScale
    bundled_input_index: int
    run_output: list[Any]
    reference_output: list[Any] | None

    def to_dataframe(
        self, include_units: bool = False, include_delegate_debug_data: bool = False
    ) -> Any:
        """A pandas DataFrame with one row per event; without pandas this raises QueryError."""
        return data_frame(
            [self],
            include_units=include_units,
            include_delegate_debug_data=include_delegate_debug_data,
        )


def inspector_block(block: BuiltBlock, parser: MetadataParser | None) -> EventBlock:
    """The block with the Inspector's attributes; `parser` reads the metadata of delegated ops."""
    expected = block.reference_output
    return EventBlock(
        block.name,
        [_event(event, parser) for event in block.events],
        block.source_time_scale,
        block.target_time_scale,
        block.bundled_input_index,
        [_plain(value) for value in block.run_output],
        None if expected is None else [_plain(value) for value in expected],
    )


def data_frame(
    blocks: Sequence[EventBlock], *, include_units: bool, include_delegate_debug_data: bool
) -> Any:
    """The Inspector's DataFrame: one row per event of all blocks; needs pandas."""
    rows = [(block, event) for block in blocks for event in block.events]
    events = [event for _, event in rows]
    unit = f" ({blocks[0].target_time_scale})" if include_units and blocks else ""
    names = pa.array([block.name for block, _ in rows], pa.string())
    frame = to_pandas(pa.table({"event_block_name": names}))
    columns: dict[str, list[Any]] = {
        "event_name": [event.name for event in events],
        "raw": [event.perf_data and event.perf_data.raw for event in events],
        **{
            f"{name}{unit}": [
                event.perf_data and getattr(event.perf_data, name) for event in events
            ]
            for name in STATISTICS
        },
        "op_types": [shorten_op_types(event.op_types) for event in events],
        "delegate_debug_identifier": [event.delegate_debug_identifier for event in events],
        "stack_traces": [event.stack_traces for event in events],
        "module_hierarchy": [event.module_hierarchy for event in events],
        "is_delegated_op": [event.is_delegated_op for event in events],
        "delegate_backend_name": [event.delegate_backend_name for event in events],
        "debug_data": [event.debug_data for event in events],
        "start_time": [event.start_time for event in events],
    }
    if include_delegate_debug_data:
        columns |= metadata_columns(events)
    for name, values in columns.items():
        frame[name] = values
    return frame


def to_pandas(table: pa.Table) -> Any:
    """The table as a pandas DataFrame.

    Raises:
        QueryError: if pandas is not installed.
    """
    try:
        return table.to_pandas()
    except ModuleNotFoundError as error:
        raise QueryError("a DataFrame needs pandas: pip install pandas") from error


def metadata_columns(events: Sequence[Event]) -> dict[str, list[Any]]:
    """One column per key of parsed metadata, and one of metadata that a parser left a list.

    There is one value per event, None where it has none.
    """
    columns: dict[str, list[Any]] = {}
    for row, event in enumerate(events):
        metadata = event.delegate_debug_metadatas
        pairs = metadata if isinstance(metadata, Mapping) else {"delegate_debug_metadata": metadata}
        for name, value in pairs.items() if metadata else ():
            columns.setdefault(name, [None] * len(events))[row] = value
    return columns


def _event(event: BuiltEvent, parser: MetadataParser | None) -> Event:
    samples = event.samples
    raw = samples.metadata if samples else []
    return Event(
        event.name,
        _perf_data(samples) if samples else None,
        list(event.op_types),
        event.delegate_debug_identifier,
        event.debug_handles,
        event.num_outputs,
        dict(event.stack_traces),
        dict(event.module_hierarchy),
        event.is_delegated_op,
        event.delegate_backend_name,
        raw,
        parser(raw) if parser and event.is_delegated_op else raw,
        [_plain(value) for value in event.debug_data],
        samples.start_time if samples else None,
        event.instruction_id,
    )


def _perf_data(samples: Samples) -> PerfData | None:
    if samples.statistics is None:
        return None
    return PerfData(samples.raw, *(getattr(samples.statistics, name) for name in STATISTICS))


def _plain(value: RecordedValue) -> Any:
    if isinstance(value, list):
        return [tensor.array for tensor in value]
    return value.array if isinstance(value, TensorValue) else value
