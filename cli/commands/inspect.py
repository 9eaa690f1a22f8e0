"""`tracehouse inspect`: one dump as the ExecuTorch Inspector shows it, without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.files import dump_source, file_source
from cli.options import CsvSafe, Output, TextOption, add_options
from cli.output.render import Format, write_document, write_table
from cli.output.streams import write_note
from queries.event_blocks.time_scales import TimeScale

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from ingest.sources.paths import Source
    from queries.event_blocks.build import BuiltBlock

_MORE = (
    TextOption("etrecord", "FILE", "ETRecord of the program: operators, modules, stack traces."),
    TextOption("debug_buffer", "FILE", "Debug buffer: the elements of logged tensors."),
    TextOption("module", "PATH", "Show only the time spent in a module, e.g. layers.0.attention."),
    TextOption(
        "compare_results",
        "METRIC,...",
        "Show only how far outputs are from the ETRecord's reference outputs: "
        "snr, mse, cosine_similarity, l1.",
    ),
    TextOption(
        "delegate_clock",
        "[BACKEND=]CLOCK,...",
        "Clock of delegated events, of one backend or all: a unit, or ticks per second.",
    ),
)


def inspect(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An ETDump, a zip with one, or ZIP!MEMBER.")
    ],
    source_time_scale: Annotated[
        TimeScale, typer.Option(case_sensitive=False, help="Unit of the dump's clock ticks.")
    ] = TimeScale.NS,
    target_time_scale: Annotated[
        TimeScale, typer.Option(case_sensitive=False, help="Unit to show durations in.")
    ] = TimeScale.MS,
    *,
    is_exact: Annotated[
        bool, typer.Option("--exact", help="With --module: leave out the modules inside it.")
    ] = False,
    is_all: Annotated[
        bool, typer.Option("--all", help="Show rows named OPERATOR_CALL too; JSON has them always.")
    ] = False,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
    **more: str | None,
) -> None:
    """Show one ETDump's event blocks, as the ExecuTorch Inspector gives them; needs no store.

    JSON holds all that is known of each event, every sample included; the other formats hold the
    Inspector's table, one row per event.
    """
    from queries.event_blocks.build import read_event_blocks
    from queries.event_blocks.time_scales import parse_delegate_clocks

    blocks = read_event_blocks(
        dump_source(file),
        etrecord=_source(more["etrecord"]),
        debug_buffer=_source(more["debug_buffer"]),
        source_time_scale=source_time_scale,
        target_time_scale=target_time_scale,
        delegate_times=parse_delegate_clocks(more["delegate_clock"] or ""),
    )
    if more["compare_results"] is not None:
        from queries.numeric_gap.output_gap import compare_results

        table = compare_results(blocks, more["compare_results"].split(","))
    elif more["module"] is not None:
        from queries.event_blocks.module_totals import module_total_table

        table = module_total_table(
            blocks, more["module"], is_exact=is_exact, unit=target_time_scale
        )
    elif output is Format.JSON:
        from queries.event_blocks.json_form import event_blocks_json

        write_document(event_blocks_json(blocks))
        return
    else:
        from queries.event_blocks.table import event_block_table

        table = event_block_table(blocks, target_time_scale, has_framework_events=is_all)
        table = _arrange(table, output)
    write_table(table, output, is_csv_safe=is_csv_safe)
    _tell_notes(blocks)
    _tell_flagged(blocks)


add_options(inspect, _MORE)


def _source(file: str | None) -> Source | None:
    return None if file is None else file_source(file)


def _arrange(table: pa.Table, output: Format) -> pa.Table:
    """The table as pandas writes it in TSV, and without long lists for people."""
    if output is Format.TSV:
        from queries.event_blocks.table import pandas_cells

        return pandas_cells(table)
    if output is Format.TABLE:
        for name, shown in (("op_types", _shown_op_types), ("start_time", _first_and_last)):
            table = _retell(table, name, shown)
    return table


def _retell(table: pa.Table, name: str, shown: Callable[[Any], str | None]) -> pa.Table:
    """The table with the texts that `shown` makes of a column's values."""
    import pyarrow as pa

    texts = [shown(value) for value in table[name].to_pylist()]
    return table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))


def _shown_op_types(op_types: list[str]) -> str:
    from queries.event_blocks.table import shorten_op_types

    return str(shorten_op_types(op_types))


def _first_and_last(times: list[object] | None) -> str | None:
    if not times:
        return None
    return str(times[0]) if len(times) == 1 else f"{times[0]} ... {times[-1]} ({len(times):,})"


def _tell_notes(blocks: Sequence[BuiltBlock]) -> None:
    for block in blocks:
        for note in block.notes:
            write_note(f"note: block {block.name}: {note}")


def _tell_flagged(blocks: Sequence[BuiltBlock]) -> None:
    count = sum(
        len(event.samples.flagged) for block in blocks for event in block.events if event.samples
    )
    if count:
        write_note(
            "note: durations that cannot be right, all left out of these numbers: "
            f"{count:,}; --format json lists them under flagged"
        )
