"""`tracehouse inspect-prof`: one profiler blob as ExecuTorch's parser shows it."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.files import file_source
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.render import Format, write_document
from tracehouse.cli.output.streams import write_lines, write_note
from tracehouse.queries.profiler_blob.time_scales import ProfilerTimeScale


def inspect_prof(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A profiler blob.")],
    time_scale: Annotated[
        ProfilerTimeScale,
        typer.Option(
            case_sensitive=False,
            help="Unit of the blob's clock ticks; times are shown in ms, cycles unchanged.",
        ),
    ] = ProfilerTimeScale.NS,
    *,
    options: OutputOptions,
) -> None:
    """Show one profiler blob: profile, framework tax and memory; needs no store.

    JSON has everything, including every start time. CSV, TSV, Arrow and Parquet have only the
    profile, one row per event and iteration.
    """
    from tracehouse.queries.profiler_blob.blocks import read_profiler_blocks
    from tracehouse.queries.profiler_blob.json_form import profiler_blob_json
    from tracehouse.queries.profiler_blob.tables import sample_table, titled_tables

    blocks = read_profiler_blocks(file_source(file), time_scale)
    if options.format is Format.JSON:
        write_document(profiler_blob_json(blocks))
    elif options.format is Format.TABLE:
        for title, table in titled_tables(blocks, time_scale):
            write_lines([title])
            options.write(table)
            write_lines([""])
    else:
        options.write(sample_table(blocks, time_scale))
    wrong_count = sum(block.wrong_count for block in blocks)
    if wrong_count:
        write_note(
            f"note: impossible durations: {wrong_count:,}; shown as logged (end minus "
            "start) and counted in the framework tax"
        )
