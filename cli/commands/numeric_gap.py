"""`tracehouse numeric-gap`: the numeric difference of two dumps, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import as_usage_errors, fail
from tracehouse.cli.files import dump_source, file_source, find_companions, read_etrecord_of
from tracehouse.cli.options import DEFAULT_STORE, StorePath, TextOption, add_options
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_lines, write_note
from tracehouse.cli.stores import open_to_read

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.numeric_gap.logged_operators import LoggedRun


_IDENTIFYING = ("method", "base_run_index", "head_run_index", "occurrence")

Runs = list["LoggedRun"]
_MORE = (
    TextOption(
        "etrecord",
        "FILE",
        "ETRecord of the program that BASE ran; by default found as by 'tracehouse ingest'.",
    ),
    TextOption("debug_buffer", "FILE", "Debug buffer of BASE; by default found likewise."),
    TextOption(
        "head_etrecord",
        "FILE",
        "ETRecord of the program that HEAD ran; the default is as for BASE.",
    ),
    TextOption("head_debug_buffer", "FILE", "Debug buffer of HEAD; the default is as for BASE."),
    TextOption("method", "NAME", "Compare only runs of this method."),
    TextOption(
        "reference_graph",
        "NAME",
        "Graph to run without HEAD: exported_program, edge_dialect_exported_program "
        "or another one.",
    ),
)
_BASE = "An ETDump with logged intermediate values, or the dump_id of one in the store."
_HEAD = "The dump to compare with BASE, of another device or build."
_TOLERANCE = "Lowest signal-to-noise ratio at which two values agree."


def arrange_gaps(table: pa.Table) -> pa.Table:
    """The main columns for people, and identifying columns only where they differ."""
    has_handles = table["debug_handle"].null_count < table.num_rows
    varying = [name for name in _IDENTIFYING if len(table[name].unique()) > 1]
    place = "debug_handle" if has_handles else "base_instruction_id"
    names = table.column_names
    metrics = names[names.index("head_nan_count") + 1 : names.index("divergence")]
    if table["divergence"].null_count < table.num_rows:
        metrics += names[names.index("divergence") :]
    return table.select([*varying, place, "base_event", "head_event", "shape", *metrics])


def describe_gaps(table: pa.Table, tolerance_db: float) -> str:
    """How many values were compared and how many of them agree, in a sentence."""
    from tracehouse.queries.numeric_gap.comparators import DIFFERENT, NOT_COMPARED

    verdicts = table["verdict"].to_pylist()
    count = len(verdicts) - verdicts.count(NOT_COMPARED)
    beyond = verdicts.count(DIFFERENT)
    ratios = table["snr"].to_pylist() if "snr" in table.column_names else []
    known = [ratio for ratio in ratios if ratio is not None and isfinite(ratio)]
    worst = f" (worst {min(known):.1f} dB)" if known else ""
    said = f"{beyond:,} beyond" if beyond else "all within"
    return f"compared {count:,} of {len(verdicts):,} values: {said} {tolerance_db:g} dB{worst}"


def write_run_notes(runs: Sequence[Sequence[LoggedRun]]) -> None:
    """Print the notes of the runs of base and head on standard error."""
    for name, side in zip(("base", "head"), runs, strict=True):
        for note in dict.fromkeys(note for run in side for note in run.notes):
            write_note(f"note: {name}: {note}")


def write_if_incomparable(table: pa.Table) -> bool:
    """Whether nothing could be compared; if so, print an error."""
    from tracehouse.queries.numeric_gap.comparators import NOT_COMPARED

    is_incomparable = set(table["verdict"].to_pylist()) <= {NOT_COMPARED}
    if is_incomparable:
        write_note(
            f"error: none of {table.num_rows:,} values could be compared (see the column reason); "
            "wanted two dumps of one program, or the ETRecord of each, and their debug buffers"
        )
    return is_incomparable


def read_sides(
    base: str, head: str | None, *, store: Path, more: Mapping[str, str | None]
) -> tuple[Runs, Runs]:
    """The runs to compare; without head, the run of the exported program and those of base.

    Args:
        base: A file, or else the dump_id of a dump in the store.
        head: Likewise.
        store: Directory of the store.
        more: etrecord, debug_buffer, head_etrecord, head_debug_buffer, method and reference_graph.
    """
    method = more["method"]
    first = _read(base, (more["debug_buffer"], more["etrecord"]), store, method)
    if head is None:
        return _reference(base, more["etrecord"], more["reference_graph"], method), first
    companions = more["head_debug_buffer"], more["head_etrecord"]
    return first, _read(head, companions, store, method)


def _reference(base: str, etrecord: str | None, graph: str | None, method: str | None) -> Runs:
    """The run of the exported program.

    Raises:
        BadParameter: There is no ETRecord, or its program has no inputs for the method.
    """
    from tracehouse.queries.numeric_gap.reference_run import run_reference
    from tracehouse.warehouse.programs.exported_programs import METHOD

    if method not in (None, METHOD):
        problem = f"wanted {METHOD} without HEAD: an ETRecord only has inputs for that method"
        raise typer.BadParameter(problem, param_hint="'--method'")

    source = file_source(etrecord) if etrecord else None
    if source is None and not _is_stored(base):
        source = find_companions(dump_source(base)).etrecord
    if source is None:
        raise typer.BadParameter("wanted HEAD, or --etrecord to run the program in it")
    return [run_reference(source, graph=graph)]


def _is_stored(name: str) -> bool:
    """Whether a side is the dump_id of a dump in the store."""
    return name.isdecimal() and not Path(name).exists()


def _read(
    name: str, companions: tuple[str | None, str | None], store: Path, method: str | None
) -> Runs:
    """The runs of one side; `companions` are its debug buffer and ETRecord.

    Raises:
        BadParameter: A method is given for a file without an ETRecord.
    """
    debug_buffer, etrecord = companions
    if _is_stored(name):
        return _read_stored(int(name), debug_buffer or etrecord, store, method)
    from tracehouse.queries.event_blocks.build import correlate
    from tracehouse.queries.numeric_gap.logged_operators import read_logged_operators

    source = dump_source(name)
    record = read_etrecord_of(source, etrecord)
    if method is not None and record is None:
        problem = f"{name}: --method needs the ETRecord that defines the method, too"
        raise typer.BadParameter(problem, param_hint="'--method'")
    return read_logged_operators(
        source,
        debug_buffer=find_companions(source, debug_buffer=debug_buffer).debug_buffer,
        etrecord=correlate(record) if record else None,
        method=method,
    )


def _read_stored(dump_id: int, companion: str | None, store: Path, method: str | None) -> Runs:
    """The runs of a dump in the store.

    Raises:
        BadParameter: A companion is named, too.
    """
    from tracehouse.queries.numeric_gap.stored_dumps import stored_operators

    if companion:
        raise typer.BadParameter(
            f"{companion}: dump {dump_id} of the store already has its debug buffer and ETRecord"
        )
    with open_to_read(store) as warehouse:
        return stored_operators(warehouse, dump_id, method=method)


def numeric_gap(
    base: Annotated[str, typer.Argument(metavar="BASE", help=_BASE)],
    head: Annotated[str | None, typer.Argument(metavar="HEAD", help=_HEAD)] = None,
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="mse|l1|snr|cosine_similarity", help="Metric to show; may be repeated."
        ),
    ] = None,
    is_every_run: Annotated[
        bool,
        typer.Option("--all-runs", help="Compare all runs, not only the first of each method."),
    ] = False,
    is_first: Annotated[
        bool, typer.Option("--first", help="Show only where each run begins to diverge.")
    ] = False,
    tolerance: Annotated[float, typer.Option(metavar="DB", help=_TOLERANCE)] = 60.0,
    store: StorePath = DEFAULT_STORE,
    options: OutputOptions,
    **more: str | None,
) -> None:
    """Compare the intermediate values of two ETDumps, operator by operator.

    If both ETRecords are known, values are matched by debug handle, so that backends can be
    compared; otherwise by instruction, which needs two dumps of the same program.

    A run begins to diverge at the first value out of tolerance whose inputs are all within
    tolerance. A value out of tolerance counts as suspect, not as a divergence, if all values
    computed from it agree.

    Without HEAD, BASE is compared with its exported program, run on the representative inputs in
    the ETRecord. Only this needs executorch: pip install '.[executorch]' in a checkout

    Exits 1 if no value could be compared.

    Raises:
        BadParameter: The tolerance is not a number.
    """
    if isnan(tolerance):
        raise typer.BadParameter("'nan', wanted a number", param_hint="'--tolerance'")
    from tracehouse.queries.numeric_gap.comparators import COMPARATORS, find_comparators
    from tracehouse.queries.numeric_gap.divergence import first_divergence
    from tracehouse.queries.numeric_gap.gap import numeric_gap as gap_table

    with as_usage_errors():
        find_comparators(metric or ())
    runs = read_sides(base, head, store=store, more=more)
    table = gap_table(
        *runs, metric or COMPARATORS, is_every_run=is_every_run, tolerance_db=tolerance
    )
    shown = first_divergence(table) if is_first else table
    if not options.format.is_for_people:
        options.write(shown)
    elif shown.num_rows:
        options.write(arrange_gaps(shown))
    write_run_notes(runs)
    if write_if_incomparable(table):
        fail()
    if options.format.is_for_people:
        summary = describe_gaps(table, tolerance)
        if shown.num_rows:
            write_note(f"note: {summary}")
        else:  # nothing diverges
            write_lines([summary])


add_options(numeric_gap, _MORE)
