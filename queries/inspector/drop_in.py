"""The ExecuTorch Inspector's interface: a script changes its import, and nothing else.

    from queries.inspector import Inspector  # not: from executorch.devtools import Inspector

Logged tensors are numpy arrays here, None where there is no debug buffer to read them from. What
else differs is what the Inspector gets wrong.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from typing import IO, Any

from ingest.debug_buffer import OUTSIDE_BUFFER, TensorValue
from ingest.sources.paths import Source, read_source
from queries.errors import WrongValueError
from queries.event_blocks.blocks import BuiltBlock
from queries.event_blocks.build import EDGE_KEY, Buffer, build_event_blocks, decode_tables
from queries.event_blocks.module_totals import module_totals
from queries.event_blocks.reference_outputs import with_reference_outputs
from queries.event_blocks.scales import Converter
from queries.event_blocks.time_scales import TimeScale
from queries.inspector.blocks import (
    EventBlock,
    built_block,
    event_columns,
    inspector_block,
    printed_columns,
)
from queries.inspector.comparators import NumericalComparator, comparator_of, warn_of_arrays
from queries.inspector.events import Event, MetadataParser
from queries.inspector.frames import new_frame, write_tsv
from queries.inspector.gaps import gap_frame, logged_runs
from queries.inspector.given_record import GivenRecord, Path, SavedRecord, file_errors
from queries.inspector.grid import grid_lines
from queries.inspector.tensors import NUMPY, numpy_array, tensor_form
from queries.inspector.vgf_neural_statistics import parse_vgf_neural_statistics_delegate_metadata
from queries.numeric_gap.comparators import Comparator
from queries.numeric_gap.reference_run import run_program

__all__ = ["Inspector", "TimeScale"]


class Inspector:
    """What a dump, its ETRecord and its debug buffer hold, as the Inspector gives it.

    All that it answers is made of `event_blocks` as they are then: they may be changed.

    Attributes:
        event_blocks: One per run signature, in file order.
    """

    event_blocks: list[EventBlock]
    _record: GivenRecord | None = None
    _target = TimeScale.MS

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
        reference_graph_name: str = EDGE_KEY,
        *,
        method: str | None = None,
        bundled_input: int | None = None,
        tensors: str = NUMPY,
    ) -> None:
        """Read the files; whatever is wrong with them raises IngestError or QueryError.

        `tensors` is "torch" for values as the Inspector gives them, which needs torch, or "numpy".

        `enable_module_hierarchy` changes nothing: in the Inspector it groups a graph that only the
        Inspector sees, and events have their modules anyway. The Inspector has no `method` and no
        `bundled_input`: which of the ETRecord ran, for dumps that do not tell.

        Raises:
            WrongValueError: if not exactly one of `etdump_path` and `etdump_data` is given.
        """
        if (etdump_path is None) == (etdump_data is None):
            raise WrongValueError("Inspector: wanted exactly one of etdump_path and etdump_data")
        if etrecord is not None:
            self._record = GivenRecord(etrecord, graph=reference_graph_name, method=method)
        correlation = self._record.correlation if self._record else None
        self._target = _time_scale(target_time_scale)
        self._tensors = tensor_form(tensors)
        blocks = build_event_blocks(
            _tables(etdump_path, etdump_data),
            correlation=correlation,
            debug_buffer=_bytes(debug_buffer_path) if debug_buffer_path is not None else None,
            source_time_scale=_time_scale(source_time_scale),
            target_time_scale=self._target,
            delegate_times=delegate_time_scale_converter or {},
        )
        self.event_blocks = [
            inspector_block(
                block, delegate_metadata_parser, delegate_time_scale_converter, self._tensors
            )
            for block in with_reference_outputs(blocks, correlation, bundled_input)
        ]
        if debug_buffer_path is not None:
            _warn_of_missing(blocks, os.fspath(debug_buffer_path))

    def to_dataframe(
        self, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> Any:
        """A pandas DataFrame with one row per event; without pandas this raises QueryError."""
        return new_frame(self._columns(include_units, include_delegate_debug_data))

    def print_data_tabular(
        self,
        file: IO[str] | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Print a table with one row per event but OPERATOR_CALL, on standard output by default."""
        columns = printed_columns(self._columns(include_units, include_delegate_debug_data))
        stream = file if file is not None else sys.stdout
        if stream is not None:  # as it is in a process without a terminal: print() does likewise
            stream.writelines(f"{line}\n" for line in grid_lines(columns))

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
        columns = self._columns(include_units, include_delegate_debug_data)
        write_tsv(file, printed_columns(columns))

    def find_total_for_module(self, module_name: str) -> float:
        """The time of a module, per run, summed over the blocks, in the target time scale."""
        blocks = [built_block(block) for block in self.event_blocks]
        return sum((total.total for total in module_totals(blocks, module_name)), 0.0)

    def get_op_list(
        self, event_block: str, show_delegated_ops: bool | None = True
    ) -> dict[str, list[Event]]:
        """Events by operator, of the blocks of that name; the Inspector gives none."""
        found: dict[str, list[Event]] = {}
        for block in self.event_blocks:
            for event in block.events if block.name == event_block else ():
                if show_delegated_ops or not event.is_delegated_op:
                    for operator in dict.fromkeys(event.op_types):
                        found.setdefault(operator, []).append(event)
        return found

    def write_tensorboard_artifact(self, path: str) -> None:
        """Nothing, as in the Inspector, which has it to be filled in later."""

    def get_exported_program(self, graph: str | None = None) -> Any:
        """The ExportedProgram of a graph, by default the edge dialect's; None without an ETRecord.

        This needs executorch; without it, it raises QueryError.
        """
        if self._record is None:
            return None
        record = self._record.parse()
        return record.edge_dialect_program if graph is None else record.graph_map.get(graph)

    def calculate_numeric_gap(
        self,
        distance: str | Comparator | NumericalComparator,
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> Any:
        """A pandas DataFrame of how far the program's operators are from those of the dump.

        It has the Inspector's columns, and one row per pair of values that can be compared.
        Running the program needs executorch; without it, this raises QueryError.

        Args:
            distance: MSE, L1 or SNR, a comparator of `queries.inspector` or of ExecuTorch, or a
                function (reference, value) -> float. They get values in the form of `tensors`;
                ExecuTorch's that get arrays cause a warning.
            disable_debug_handle_valdiation: Whether exported_program is run even if an operator
                of it has no debug handle; spelled as the Inspector spells it.
            reference_graph: Program to run; by default the first that has debug handles.

        Raises:
            WrongValueError: if the Inspector was made without an ETRecord.
        """
        if self._record is None:
            raise WrongValueError("a numeric gap needs an ETRecord with representative inputs")
        comparator = comparator_of(distance, self)
        if self._tensors is numpy_array:
            warn_of_arrays(comparator)
        with self._record.on_disk() as source:
            reference = run_program(
                source, graph=reference_graph, is_validated=not disable_debug_handle_valdiation
            )
        runs = logged_runs(self.event_blocks, self._record.correlation)
        return gap_frame(reference, runs, comparator, self._tensors)

    def get_vgf_neural_statistics(self) -> list[dict[str, Any]]:
        """Statistics of the VGF backend among the metadata; a malformed one raises QueryError."""
        return [
            record
            for block in self.event_blocks
            for event in block.events
            for record in parse_vgf_neural_statistics_delegate_metadata(
                event.raw_delegate_debug_metadatas
            )
        ]

    def _columns(
        self, include_units: bool, include_delegate_debug_data: bool
    ) -> dict[str, list[Any]]:
        unit = next((block.target_time_scale for block in self.event_blocks), self._target)
        return event_columns(
            self.event_blocks,
            unit=_time_scale(unit) if include_units else None,
            include_delegate_debug_data=include_delegate_debug_data,
        )


def _tables(path: Path | None, data: bytes | None) -> Any:
    if path is None:
        return decode_tables(data or b"", "etdump_data")
    return decode_tables(_bytes(path), os.fspath(path))


def _bytes(path: Path) -> Buffer:
    with file_errors():
        return read_source(Source(os.fspath(path)))


def _warn_of_missing(blocks: Iterable[BuiltBlock], debug_buffer: str) -> None:
    """Warn if logged tensors cannot be read from the debug buffer, and tell why."""
    logged = (
        value
        for block in blocks
        for values in (block.run_output, *(event.debug_data for event in block.events))
        for value in values
    )
    tensors = (one for value in logged for one in (value if isinstance(value, list) else [value]))
    missing = [one.missing for one in tensors if isinstance(one, TensorValue) and one.missing]
    reasons = [reason for reason in missing if reason.startswith(OUTSIDE_BUFFER)]
    if reasons:
        warnings.warn(
            f"{debug_buffer}: {len(reasons):,} logged tensors are {reasons[0]}; "
            "is it this dump's debug buffer?",
            stacklevel=3,
        )


def _time_scale(scale: Any) -> TimeScale:
    return TimeScale(getattr(scale, "value", scale))  # ExecuTorch's has the same values
