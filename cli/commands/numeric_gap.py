"""`tracehouse numeric-gap`: the numeric difference of two dumps, operator by operator."""

from __future__ import annotations

from math import isnan
from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.exit_codes import fail
from tracehouse.cli.gap_sides import read_sides
from tracehouse.cli.options import DEFAULT_STORE, StorePath, TextOption, add_options
from tracehouse.cli.output.gap_report import (
    arrange_gaps,
    describe_gaps,
    write_if_incomparable,
    write_run_notes,
)
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_lines, write_note

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
