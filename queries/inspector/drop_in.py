"""The ExecuTorch Inspector's interface: scripts only need to change their import.

    from tracehouse import Inspector  # not: from executorch.devtools import Inspector

Logged tensors are numpy arrays here, None without a debug buffer. All other differences are errors
of the Inspector.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.debug_buffer import OUTSIDE_BUFFER, TensorValue
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_dump_bytes, read_source
from tracehouse.queries.errors import WrongTypeError, WrongValueError
from tracehouse.queries.event_blocks.blocks import (
    Event,
    EventBlock,
    MetadataParser,
    event_columns,
    printed_columns,
)
from tracehouse.queries.event_blocks.build import (
    EDGE_KEY,
    Buffer,
    build_event_blocks,
    decode_tables,
    with_reference_outputs,
)
from tracehouse.queries.event_blocks.frames import grid_lines, html_table, new_frame, write_tsv
from tracehouse.queries.event_blocks.module_totals import module_totals
from tracehouse.queries.event_blocks.scales import Converter
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.queries.inspector.inspector_record import (
    InspectorRecord,
    Path,
    SavedRecord,
    file_errors,
)
from tracehouse.queries.inspector.tensors import (
    NUMPY,
    TensorForm,
    numpy_array,
    show_tensors,
    tensor_form,
)
from tracehouse.queries.inspector.vgf_neural_statistics import (
    parse_vgf_neural_statistics_delegate_metadata,
)
from tracehouse.queries.numeric_gap.comparators import (
    DebugHandle,
    Distance,
    IntermediateOutput,
    IntermediateOutputMapping,
    NumericalComparator,
    as_float,
    find_comparators,
    warn_of_arrays,
)
from tracehouse.queries.numeric_gap.gap import numeric_gap
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun, first_logged_run
from tracehouse.queries.numeric_gap.reference_run import ReferenceRun, run_program
from tracehouse.warehouse.programs.correlation import Correlation

_KEPT_AS = "keep"

__all__ = ["Inspector", "TimeScale"]

_MOST_BLOCKS = 4  # that the short text of an Inspector names


def logged_runs(blocks: Sequence[EventBlock], correlation: Correlation | None) -> list[LoggedRun]:
    """The present logged values of each block's events; blocks without values are left out."""
    runs = [first_logged_run(index, block, correlation) for index, block in enumerate(blocks)]
    return [run for run in runs if run.operators]


def gap_frame(
    reference: ReferenceRun,
    head: Sequence[LoggedRun],
    comparator: NumericalComparator,
    form: TensorForm = numpy_array,
) -> Any:
    """The DataFrame of `NumericalComparatorBase.compare`, with the stack traces of each row.

    The pairs are those of `numeric_gap` that can be compared, without empty elements of lists, as
    the Inspector leaves out such lists. Errors of both functions are passed on.
    """
    mapping, runtime_names = _pair_values(reference.run, head, form)
    frame = comparator.compare(mapping, reference.node_names, runtime_names)
    if len(frame):
        frame["gap"] = [[as_float(gap) for gap in gaps] for gaps in frame["gap"]]
        frame["stacktraces"] = [
            {name: reference.stack_traces.get(name) for name in names} for names in frame["aot_ops"]
        ]
    return frame


def _pair_values(
    base: LoggedRun, head: Sequence[LoggedRun], form: TensorForm
) -> tuple[IntermediateOutputMapping, dict[DebugHandle, list[str]]]:
    """Corresponding values with their debug handles, and the events of each debug handle."""
    kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
    lists = {operator.debug_handles for operator in base.operators if len(operator.values) > 1}

    def keep(reference: NDArray[Any], value: NDArray[Any]) -> float:
        """Store the values, and return their index."""
        kept.append((reference, value))
        return len(kept) - 1

    mapping: IntermediateOutputMapping = {}
    names: dict[DebugHandle, list[str]] = defaultdict(list)
    for row in numeric_gap([base], head, [keep]).to_pylist():
        if row[_KEPT_AS] is None:
            continue
        reference, value = kept[int(row[_KEPT_AS])]
        base_handles, handles = (tuple(row[f"{side}_debug_handles"]) for side in ("base", "head"))
        if not reference.size and base_handles in lists:
            continue
        key = base_handles, _hashable(form(TensorValue.of_array(row["base_dtype"], reference)))
        mapping[key] = handles, _hashable(form(TensorValue.of_array(row["head_dtype"], value)))
        if row["head_event"] not in names[handles]:
            names[handles].append(row["head_event"])
    return mapping, names


def _hashable(value: Any) -> Any:
    """The value, hashable; torch's tensors are."""
    return value.view(IntermediateOutput) if isinstance(value, np.ndarray) else value


class Inspector:
    """The contents of a dump, its ETRecord and its debug buffer, in the Inspector's form.

    All methods use the current `event_blocks`, which may be changed.

    Attributes:
        event_blocks: One per run signature, in file order.
    """

    event_blocks: list[EventBlock]
    _record: InspectorRecord | None = None
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
        """Read the files; problems with them raise IngestError or QueryError.

        `tensors` is "numpy", or "torch" for torch's tensors as in the Inspector, which needs torch.

        `enable_module_hierarchy` has no effect, as events always have their modules. `method` and
        `bundled_input`, which the Inspector lacks, name the method and bundled input of the
        ETRecord that ran, for dumps that do not record them.

        Raises:
            WrongValueError: Not exactly one of `etdump_path` and `etdump_data` is given.
        """
        if (etdump_path is None) == (etdump_data is None):
            raise WrongValueError("Inspector: wanted exactly one of etdump_path and etdump_data")
        if etrecord is not None:
            self._record = InspectorRecord(etrecord, graph=reference_graph_name, method=method)
        correlation = self._record.correlation if self._record else None
        self._target = _time_scale(target_time_scale)
        self._tensors = tensor_form(tensors)
        blocks = build_event_blocks(
            _tables(etdump_path, etdump_data),
            correlation=correlation,
            debug_buffer=_bytes(debug_buffer_path, "debug_buffer_path")
            if debug_buffer_path is not None
            else None,
            source_time_scale=_time_scale(source_time_scale),
            target_time_scale=self._target,
            delegate_times=delegate_time_scale_converter or {},
        )
        self.event_blocks = with_reference_outputs(blocks, correlation, bundled_input)
        if debug_buffer_path is not None:
            _warn_of_missing(self.event_blocks, os.fspath(debug_buffer_path))
        for block in self.event_blocks:
            show_tensors(block, self._tensors)
            for event in block.events:
                event._delegate_metadata_parser = delegate_metadata_parser

    def __repr__(self) -> str:
        blocks = ", ".join(map(repr, self.event_blocks[:_MOST_BLOCKS]))
        more = ", ..." if len(self.event_blocks) > _MOST_BLOCKS else ""
        return f"<Inspector: {blocks or 'no event blocks'}{more}>"

    def _repr_html_(self) -> str:
        """The events of all blocks as a table, for notebooks."""
        return html_table(
            printed_columns(self._columns(include_units=True, include_delegate_debug_data=False))
        )

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
        """Print a table (to standard output by default) of all events but OPERATOR_CALL."""
        columns = printed_columns(self._columns(include_units, include_delegate_debug_data))
        stream = file if file is not None else sys.stdout
        if stream is not None:  # None in a process without a terminal; print() does the same
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
        """The time of a module per run, summed over all blocks, in the target time scale.

        Raises:
            WrongTypeError: The name is not a text.
        """
        if not isinstance(module_name, str):
            raise WrongTypeError(f"module_name: wanted a text, not {module_name!r:.100}")
        totals = module_totals(self.event_blocks, module_name)
        return sum((total.total for total in totals), 0.0)

    def get_op_list(
        self, event_block: str, show_delegated_ops: bool | None = True
    ) -> dict[str, list[Event]]:
        """Events by operator, of the blocks of this name; the Inspector returns none."""
        found: dict[str, list[Event]] = {}
        for block in self.event_blocks:
            for event in block.events if block.name == event_block else ():
                if show_delegated_ops or not event.is_delegated_op:
                    for operator in dict.fromkeys(event.op_types):
                        found.setdefault(operator, []).append(event)
        return found

    def write_tensorboard_artifact(self, path: str) -> None:
        """Do nothing, as in the Inspector, where the method is a placeholder."""

    def get_exported_program(self, graph: str | None = None) -> Any:
        """The ExportedProgram of a graph, by default the edge dialect; None without an ETRecord.

        This needs executorch; without it, it raises QueryError.
        """
        if self._record is None:
            return None
        record = self._record.parse()
        return record.edge_dialect_program if graph is None else record.graph_map.get(graph)

    def calculate_numeric_gap(
        self,
        distance: str | Distance | NumericalComparator,
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> Any:
        """A pandas DataFrame of distances between the operators of the program and the dump.

        It has the Inspector's columns, and one row per pair of values that can be compared.
        Running the program needs executorch; without it, this raises QueryError.

        Args:
            distance: MSE, L1 or SNR, a comparator of tracehouse or of ExecuTorch, or a
                function (reference, value) -> float. Values are in the form of `tensors`;
                comparators derived from ExecuTorch's cause a warning if they get arrays.
            disable_debug_handle_valdiation: Whether to run exported_program even if one of its
                operators has no debug handle; spelled as in the Inspector.
            reference_graph: Program to run; by default the first with debug handles.

        Raises:
            WrongTypeError: The distance is neither a name nor a function.
            WrongValueError: The name is unknown, the Inspector has no ETRecord, or that has no
                such graph or no representative inputs.
            ProgramRunError: ExecuTorch cannot run the program.
        """
        if self._record is None:
            raise WrongValueError("a numeric gap needs an ETRecord with representative inputs")
        [comparator] = find_comparators([distance], self).values()
        if self._tensors is numpy_array:
            warn_of_arrays(comparator)
        with self._record.on_disk() as source:
            reference = run_program(
                source, graph=reference_graph, is_validated=not disable_debug_handle_valdiation
            )
        runs = logged_runs(self.event_blocks, self._record.correlation)
        return gap_frame(reference, runs, comparator, self._tensors)

    def get_vgf_neural_statistics(self) -> list[dict[str, Any]]:
        """Statistics of the VGF backend in the metadata; malformed ones raise QueryError."""
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
    """The tables of a dump.

    Raises:
        WrongTypeError: The path is no path, or the data are no bytes.
    """
    if path is not None:
        return decode_tables(_bytes(path, "etdump_path", read_dump_bytes), os.fspath(path))
    if not isinstance(data, bytes | bytearray | memoryview):
        raise WrongTypeError(f"etdump_data: wanted bytes, not {data!r:.100}")
    return decode_tables(bytes(data) if isinstance(data, bytearray) else data, "etdump_data")


def _bytes(path: Path, argument: str, read: Callable[[Source], Buffer] = read_source) -> Buffer:
    """The bytes of a file.

    Raises:
        WrongTypeError: The argument is no path.
    """
    if not isinstance(path, str | os.PathLike):
        raise WrongTypeError(f"{argument}: wanted a path, not {path!r:.100}")
    with file_errors():
        return read(Source(os.fspath(path)))


def _warn_of_missing(blocks: Iterable[EventBlock], debug_buffer: str) -> None:
    """Warn if logged tensors are outside the debug buffer."""
    logged = (
        value
        for block in blocks
        for values in (block.run_output or [], *(event.debug_data for event in block.events))
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
    """The time scale, which may be ExecuTorch's, with the same values.

    Raises:
        WrongValueError: It is none.
    """
    try:
        return TimeScale(getattr(scale, "value", scale))
    except ValueError as error:
        known = ", ".join(TimeScale)
        raise WrongValueError(f"time scale {scale!r:.100}: wanted one of {known}") from error
