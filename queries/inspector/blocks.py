"""Event blocks with the ExecuTorch Inspector's attributes, converted from ours and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.etrecord.maps import RecordedValue
from tracehouse.queries.event_blocks.build import BlockData, EventData
from tracehouse.queries.event_blocks.logged_values import logged_value
from tracehouse.queries.event_blocks.samples import Samples, ValuesByRun, summarise
from tracehouse.queries.event_blocks.scales import Converter
from tracehouse.queries.event_blocks.table import FRAMEWORK_EVENT
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.queries.inspector.events import Event, MetadataParser, PerfData
from tracehouse.queries.inspector.frames import Columns, as_one_type, html_table, new_frame
from tracehouse.queries.inspector.tensors import TensorForm, numpy_array

_OUTSIDE = -1  # instruction of events outside the program
_UNPRINTED = (
    "raw", "delegate_debug_identifier", "stack_traces", "module_hierarchy", "debug_data",
)  # fmt: skip


_Module = TypeVar("_Module")


@dataclass
class EventBlock:
    """The runs of one signature; `method` is None if unknown."""

    name: str | None
    events: list[Event] = field(default_factory=list)
    source_time_scale: TimeScale = TimeScale.NS
    target_time_scale: TimeScale = TimeScale.MS
    bundled_input_index: int | None = None
    run_output: list[Any] | None = None
    reference_output: list[Any] | None = None
    method: str | None = field(default=None, compare=False)

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


def inspector_block(
    block: BlockData,
    parser: MetadataParser | None,
    converter: Converter | None,
    form: TensorForm = numpy_array,
) -> EventBlock:
    """The block with the Inspector's attributes; its events carry the parser and the converter."""
    expected = block.reference_output
    return EventBlock(
        block.name,
        [_event(event, parser, converter, form) for event in block.events],
        block.source_time_scale,
        block.target_time_scale,
        block.bundled_input_index,
        [_plain(value, form) for value in block.run_output],
        None if expected is None else [_plain(value, form) for value in expected],
        block.method,
    )


def block_data(block: EventBlock) -> BlockData:
    """The block in this project's own form, including changes made by the user."""
    index, expected = block.bundled_input_index, block.reference_output
    return BlockData(
        name=block.name,
        bundled_input_index=_OUTSIDE if index is None else index,
        source_time_scale=block.source_time_scale,
        target_time_scale=block.target_time_scale,
        outputs=_one_run(block.run_output or []),
        events=[_event_data(event) for event in block.events],
        reference_output=None if expected is None else [logged_value(value) for value in expected],
        method=block.method,
        method_candidates=[block.method] if block.method else [],
    )


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


def _event(
    event: EventData, parser: MetadataParser | None, converter: Converter | None, form: TensorForm
) -> Event:
    samples, handles = event.samples, event.debug_handles
    return Event(
        event.name,
        PerfData(samples.raw) if samples and samples.raw else None,
        list(event.op_types),
        event.delegate_debug_identifier,
        handles if handles is None or isinstance(handles, int) else list(handles),
        event.num_outputs,
        dict(event.stack_traces),
        {node: _modules(hierarchy, tuple) for node, hierarchy in event.module_hierarchy.items()},
        event.is_delegated_op,
        event.delegate_backend_name,
        samples.metadata if samples else [],
        [_plain(value, form) for value in event.debug_data],
        event.instruction_id,
        parser,
        converter,
        samples.start_time if samples else None,
        event.kind,
        samples.samples_per_run if samples else None,
    )


def _event_data(event: Event) -> EventData:
    instruction, handles = event._instruction_id, event.debug_handles
    return EventData(
        name=event.name,
        kind=event.kind,
        instruction_id=_OUTSIDE if instruction is None else instruction,
        delegate_debug_identifier=event.delegate_debug_identifier,
        samples=_samples(event),
        values=_one_run(event.debug_data),
        debug_handles=handles if handles is None or isinstance(handles, int) else list(handles),
        op_types=event.op_types,
        stack_traces=event.stack_traces,
        module_hierarchy={
            node: _modules(hierarchy, list) for node, hierarchy in event.module_hierarchy.items()
        },
        delegate_backend_name=event.delegate_backend_name,
        num_outputs=event.num_outputs,
    )


def _modules(
    hierarchy: Mapping[str, Sequence[str]] | None, sequence: Callable[[Sequence[str]], _Module]
) -> dict[str, _Module] | None:
    """Each module's path and class, as this type of sequence."""
    if hierarchy is None:
        return None
    return {key: sequence(module) for key, module in hierarchy.items()}


def _samples(event: Event) -> Samples | None:
    if event.perf_data is None or not event.perf_data.raw:
        return None
    raw, counts = event.perf_data.raw, event._samples_per_run
    return Samples(
        raw=raw,
        start_time=event.start_time or [],
        metadata=event.raw_delegate_debug_metadatas,
        samples_per_run=counts if counts and sum(counts) == len(raw) else None,
        flagged=[],
        statistics=summarise(np.asarray(raw, np.float64)),
    )


def _one_run(values: Sequence[Any]) -> ValuesByRun:
    logged = [logged_value(value) for value in values]
    return ValuesByRun((0,), lambda _: logged)


def _plain(value: RecordedValue, form: TensorForm) -> Any:
    if isinstance(value, list):
        return [form(tensor) for tensor in value]
    return form(value) if isinstance(value, TensorValue) else value
