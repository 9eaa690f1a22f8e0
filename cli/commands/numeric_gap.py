"""`tracehouse numeric-gap`: how far the operators of two dumps are apart numerically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.files import dump_source, file_source
from cli.options import CsvSafe, Output, TextOption, add_options
from cli.output.render import Format, write_table
from cli.output.streams import write_note

if TYPE_CHECKING:
    import pyarrow as pa

    from ingest.sources.paths import Source
    from queries.numeric_gap.logged_operators import LoggedRun

_MORE = (
    TextOption("etrecord", "FILE", "ETRecord of the program that BASE ran."),
    TextOption("debug_buffer", "FILE", "Debug buffer of BASE; NAME.debug.bin beside it if there."),
    TextOption("head_etrecord", "FILE", "ETRecord of the program that HEAD ran."),
    TextOption("head_debug_buffer", "FILE", "Debug buffer of HEAD, as --debug-buffer."),
    TextOption(
        "reference_graph",
        "NAME",
        "Without HEAD: exported_program, edge_dialect_exported_program or another graph to run.",
    ),
)
_TELLING = ("method", "base_run_index", "head_run_index", "occurrence")


def numeric_gap(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="An ETDump with logged intermediate values.")
    ],
    head: Annotated[
        str | None,
        typer.Argument(
            metavar="HEAD", help="The ETDump to compare with it, of another device or build."
        ),
    ] = None,
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="mse|l1|snr|cosine_similarity", help="Metric to show; may be repeated."
        ),
    ] = None,
    is_every_run: Annotated[
        bool, typer.Option("--all-runs", help="Compare all runs, not the first of each method.")
    ] = False,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
    **more: str | None,
) -> None:
    """Compare the intermediate values of two ETDumps, operator by operator; needs no store.

    With both ETRecords values correspond by debug handle, so that backends can be compared; else
    by instruction, which takes two dumps of one program.

    Without HEAD, BASE is compared with its exported program, run on the representative inputs in
    the ETRecord. That alone needs executorch: pip install 'tracehouse[executorch]'
    """
    from queries.numeric_gap.comparators import COMPARATORS
    from queries.numeric_gap.gap import numeric_gap as gap_table

    first = _read(base, more["debug_buffer"], more["etrecord"])
    if head is None:
        runs = _reference(more), first
    else:
        runs = first, _read(head, more["head_debug_buffer"], more["head_etrecord"])
    table = gap_table(*runs, metric or COMPARATORS, is_every_run=is_every_run)
    table = _arrange(table) if output is Format.TABLE else table
    write_table(table, output, is_csv_safe=is_csv_safe)
    _tell_notes(runs)


add_options(numeric_gap, _MORE)


def _reference(more: Mapping[str, str | None]) -> list[LoggedRun]:
    """The exported program's own run.

    Raises:
        BadParameter: There is no ETRecord.
    """
    from queries.numeric_gap.reference_run import run_reference

    etrecord = more["etrecord"]
    if etrecord is None:
        raise typer.BadParameter("wanted --etrecord, to run its program, or HEAD")
    return [run_reference(file_source(etrecord), graph=more["reference_graph"])]


def _read(file: str, debug_buffer: str | None, etrecord: str | None) -> list[LoggedRun]:
    from queries.numeric_gap.logged_operators import read_logged_operators

    source = dump_source(file)
    return read_logged_operators(
        source,
        debug_buffer=file_source(debug_buffer) if debug_buffer else _buffer_beside(source),
        etrecord=file_source(etrecord) if etrecord else None,
    )


def _buffer_beside(source: Source) -> Source | None:
    from ingest.sources.paths import read_if_present

    stem = source.file_name.rpartition(".")[0] or source.file_name
    buffer = source.folder.file(f"{stem}.debug.bin")
    return None if read_if_present(buffer) is None else buffer


def _arrange(table: pa.Table) -> pa.Table:
    """What people look at first; of the rest what tells rows apart."""
    has_handles = table["debug_handle"].null_count < table.num_rows
    told = [name for name in _TELLING if len(table[name].unique()) > 1]
    place = "debug_handle" if has_handles else "base_instruction_id"
    metrics = table.column_names[table.column_names.index("head_nan_count") + 1 :]
    return table.select([*told, place, "base_event", "head_event", "shape", *metrics])


def _tell_notes(runs: Sequence[Sequence[LoggedRun]]) -> None:
    for name, side in zip(("base", "head"), runs, strict=True):
        for note in dict.fromkeys(note for run in side for note in run.notes):
            write_note(f"note: {name}: {note}")
