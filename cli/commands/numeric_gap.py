"""`tracehouse numeric-gap`: how far the operators of two dumps are apart numerically."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import options_at_fault
from cli.files import debug_buffer_beside, dump_source, file_source
from cli.options import CsvSafe, Output, TextOption, add_options
from cli.output.gap_report import arrange_gaps, write_run_notes
from cli.output.render import Format, write_table

if TYPE_CHECKING:
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
    from queries.numeric_gap.comparators import COMPARATORS, find_comparators
    from queries.numeric_gap.gap import numeric_gap as gap_table

    with options_at_fault():
        find_comparators(metric or ())
    first = _read(base, more["debug_buffer"], more["etrecord"])
    if head is None:
        runs = _reference(more), first
    else:
        runs = first, _read(head, more["head_debug_buffer"], more["head_etrecord"])
    table = gap_table(*runs, metric or COMPARATORS, is_every_run=is_every_run)
    table = arrange_gaps(table) if output is Format.TABLE else table
    write_table(table, output, is_csv_safe=is_csv_safe)
    write_run_notes(runs)


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
        debug_buffer=file_source(debug_buffer) if debug_buffer else debug_buffer_beside(source),
        etrecord=file_source(etrecord) if etrecord else None,
    )
