"""The ExecuTorch Inspector's interface: a script changes its import, and nothing else.

    from queries.inspector import Inspector  # not: from executorch.devtools import Inspector

Logged tensors are numpy arrays here, None where there is no debug buffer to read them from. What
else differs is what the Inspector gets wrong.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import IO, Any, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from ingest.etrecord.names import EDGE_PROGRAM
from ingest.etrecord.record import read_etrecord
from ingest.sources.paths import Source, read_source
from queries.event_blocks.build import build_event_blocks, decode_tables
from queries.event_blocks.module_totals import module_totals
from queries.event_blocks.scales import Converter
from queries.event_blocks.table import (
    FRAMEWORK_EVENT,
    event_block_table,
    grid_lines,
    pandas_cells,
)
from queries.event_blocks.time_scales import TimeScale
from queries.inspector.blocks import (
    Event,
    EventBlock,
    MetadataParser,
    PerfData,
    data_frame,
    inspector_block,
    metadata_columns,
    to_pandas,
)
from queries.numeric_gap.comparators import Comparator, find_comparators
from queries.numeric_gap.gap import numeric_gap
from queries.numeric_gap.logged_operators import build_logged_operators
from queries.numeric_gap.reference_run import run_reference
from warehouse.errors import QueryError
from warehouse.programs.correlation import Correlation
from warehouse.programs.exported_programs import parse_etrecord

__all__ = ["Event", "EventBlock", "Inspector", "PerfData", "TimeScale"]

Path = str | os.PathLike[str]

_GAP_COLUMNS = {
    "base_event": "aot_ops",
    "base_debug_handles": "aot_debug_handle",
    "head_event": "runtime_ops",
    "head_debug_handles": "runtime_debug_handle",
}
_EDGE_KEY = "edge_dialect_graph_module"  # the Inspector's name for EDGE_PROGRAM


@runtime_checkable
class SavedRecord(Protocol):
    """ExecuTorch's ETRecord object."""

    def save(self, path: str) -> None:
        """Write the record to a file."""


class Inspector:
    """What a dump, its ETRecord and its debug buffer hold, as the Inspector gives it.

    Attributes:
        event_blocks: One per run signature, in file order.
    """

    def __init__(  # noqa: PLR0913 - the Inspector's own parameters
        self,
        etdump_path: Path | None = None,
        etdump_data: bytes | None = None,
        etrecord: Path | SavedRecord | None = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: Path | None = None,
        delegate_metadata_parser: MetadataParser | None = None,
        delegate_time_scale_converter: Converter | None = None,
        enable_module_hierarchy: bool = False,
        reference_graph_name: str = _EDGE_KEY,
    ) -> None:
        """Read the files; whatever is wrong with them raises IngestError or QueryError.

        `enable_module_hierarchy` changes nothing: in the Inspector it groups a graph that only the
        Inspector sees, and events have their modules anyway.

        Raises:
            QueryError: if not exactly one of `etdump_path` and `etdump_data` is given.
        """
        if (etdump_path is None) == (etdump_data is None):
            raise QueryError("Inspector: wanted exactly one of etdump_path and etdump_data")
        if etdump_path is not None:
            source = Source(os.fspath(etdump_path))
            self._tables = decode_tables(read_source(source), source.name)
        elif etdump_data is not None:
            self._tables = decode_tables(etdump_data, "etdump_data")
        self._debug_buffer = None
        if debug_buffer_path is not None:
            self._debug_buffer = read_source(Source(os.fspath(debug_buffer_path)))
        self._record = None if etrecord is None else _GivenRecord(etrecord, reference_graph_name)
        self._target = _time_scale(target_time_scale)
        self._blocks = build_event_blocks(
            self._tables,
            correlation=self._record.correlation if self._record else None,
            debug_buffer=self._debug_buffer,
            source_time_scale=_time_scale(source_time_scale),
            target_time_scale=self._target,
            delegate_times=delegate_time_scale_converter or {},
        )
        self.event_blocks = [
            inspector_block(block, delegate_metadata_parser) for block in self._blocks
        ]

    def to_dataframe(
        self, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> Any:
        """A pandas DataFrame with one row per event; without pandas this raises QueryError."""
        return data_frame(
            self.event_blocks,
            include_units=include_units,
            include_delegate_debug_data=include_delegate_debug_data,
        )

    def print_data_tabular(
        self,
        file: IO[str] | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Print a table with one row per event but OPERATOR_CALL, on standard output by default."""
        cells = self._cells(include_units, include_delegate_debug_data)
        (file or sys.stdout).writelines(f"{line}\n" for line in grid_lines(cells))

    def save_data_to_tsv(
        self,
        file: IO[str] | Path,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Write the rows of `print_data_tabular`, separated by tabs, to a file or path."""
        if isinstance(file, str | os.PathLike):
            with open(file, "w", encoding="utf-8", newline="") as opened:
                self.save_data_to_tsv(opened, include_units, include_delegate_debug_data)
            return
        cells = self._cells(include_units, include_delegate_debug_data)
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(cells.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in cells.columns), strict=True))

    def find_total_for_module(self, module_name: str) -> float:
        """The time of a module, per run, summed over the blocks, in the target time scale."""
        return sum((total.total for total in module_totals(self._blocks, module_name)), 0.0)

    def get_exported_program(self, graph: str | None = None) -> Any:
        """The ExportedProgram of a graph, by default the edge dialect's; None without an ETRecord.

        This needs executorch; without it, it raises QueryError.
        """
        if self._record is None:
            return None
        record = self._record.parse()
        return record.edge_dialect_program if graph is None else record.graph_map.get(graph)

    def calculate_numeric_gap(
        self, distance: str | Comparator, reference_graph: str | None = None
    ) -> Any:
        """A pandas DataFrame of how far the program's operators are from those of the dump.

        One row per pair of values, with the Inspector's columns but for the values, and those of
        `tracehouse numeric-gap`. Running the program needs executorch; without it, this
        raises QueryError.

        Args:
            distance: MSE, L1 or SNR, or a function (reference, value) -> float of two arrays.
            reference_graph: Program to run; by default the first that has debug handles.

        Raises:
            QueryError: if the Inspector was made without an ETRecord.
        """
        if self._record is None:
            raise QueryError("a numeric gap needs an ETRecord with representative inputs")
        with self._record.on_disk() as source:
            base = run_reference(source, graph=reference_graph)
        head = build_logged_operators(self._tables, self._debug_buffer, self._record.correlation)
        table = numeric_gap([base], head, [distance])
        compared = table.filter(pc.field("verdict") != "not_compared")
        [metric] = find_comparators([distance])
        for name in ("base_event", "head_event", metric):
            alone = _alone(compared[name].combine_chunks())
            compared = compared.set_column(compared.column_names.index(name), name, alone)
        names = _GAP_COLUMNS | {metric: "gap"}
        return to_pandas(compared.rename_columns([names.get(n, n) for n in compared.column_names]))

    def _cells(self, include_units: bool, include_delegate_debug_data: bool) -> pa.Table:
        unit = self._target if include_units else None
        cells = pandas_cells(event_block_table(self._blocks, unit, has_framework_events=False))
        if include_delegate_debug_data:
            events = [event for block in self.event_blocks for event in block.events]
            shown = [event for event in events if event.name != FRAMEWORK_EVENT]
            for name, values in metadata_columns(shown).items():
                texts = [None if value is None else str(value) for value in values]
                cells = cells.append_column(name, pa.array(texts, pa.string()))
        return cells


def _alone(column: pa.Array) -> pa.Array:
    """Each value as a list of one, as the Inspector's are."""
    return pa.ListArray.from_arrays(pa.array(range(len(column) + 1), pa.int32()), column)


def _time_scale(scale: Any) -> TimeScale:
    return TimeScale(getattr(scale, "value", scale))  # ExecuTorch's has the same values


class _GivenRecord:
    """An ETRecord, given as a path or as ExecuTorch's object."""

    def __init__(self, given: Path | SavedRecord, graph: str) -> None:
        self._given: Any = given
        graph = EDGE_PROGRAM if graph == _EDGE_KEY else graph
        with self.on_disk() as source:
            self.correlation = Correlation(read_etrecord(source), graph=graph)

    @contextmanager
    def on_disk(self) -> Iterator[Source]:
        """The record as a file, saved if need be."""
        if isinstance(self._given, str | os.PathLike):
            yield Source(os.fspath(self._given))
            return
        with TemporaryDirectory() as folder:
            path = os.path.join(folder, "etrecord")
            self._given.save(path)
            yield Source(path)

    def parse(self) -> Any:
        """ExecuTorch's object; without executorch this raises QueryError."""
        if not isinstance(self._given, str | os.PathLike):
            return self._given
        source = Source(os.fspath(self._given))
        return parse_etrecord(read_source(source), source.name)
