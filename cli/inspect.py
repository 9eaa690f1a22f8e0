"""`tracehouse inspect`: one dump as the ExecuTorch Inspector shows it, without a store."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Output
from cli.render import Format, write_document, write_table
from queries.time_scales import TimeScale

if TYPE_CHECKING:
    import pyarrow as pa

    from ingest.sources import Source
    from queries.event_blocks import EventBlock


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
    is_all: Annotated[
        bool, typer.Option("--all", help="Show rows named OPERATOR_CALL too; JSON has them always.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Show one ETDump's event blocks, as the ExecuTorch Inspector gives them; needs no store.

    JSON holds all that is known of each event, every sample included; the other formats hold the
    Inspector's table, one row per event.
    """
    from queries.event_block_json import event_blocks_json
    from queries.event_block_table import event_block_table
    from queries.event_blocks import read_event_blocks

    blocks = read_event_blocks(
        _one_source(file),
        source_time_scale=source_time_scale,
        target_time_scale=target_time_scale,
    )
    if output is Format.JSON:
        write_document(event_blocks_json(blocks))
        return
    table = event_block_table(blocks, target_time_scale, has_framework_events=is_all)
    write_table(_arrange(table, output), output)
    _tell_flagged(blocks)


def _one_source(file: str) -> Source:
    from ingest.errors import SourceError
    from ingest.sources import Source, find_sources

    archive, mark, member = file.partition(".zip!")
    if mark and not os.path.exists(file):
        return Source(f"{archive}.zip", member)
    sources = find_sources([file])
    if len(sources) > 1:
        raise SourceError(
            file, f"holds {len(sources):,} dumps, wanted one, such as {sources[0].name}"
        )
    return sources[0]


def _arrange(table: pa.Table, output: Format) -> pa.Table:
    """The table with the Inspector's row numbers in TSV, and without long lists for people."""
    import pyarrow as pa

    if output is Format.TSV:
        return table.add_column(0, "", pa.array(range(table.num_rows), pa.int64()))
    if output is Format.TABLE:
        name = "start_time"
        texts = [_first_and_last(times) for times in table[name].to_pylist()]
        return table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))
    return table


def _first_and_last(times: list[object] | None) -> str | None:
    if not times:
        return None
    return str(times[0]) if len(times) == 1 else f"{times[0]} ... {times[-1]} ({len(times):,})"


def _tell_flagged(blocks: Sequence[EventBlock]) -> None:
    count = sum(
        len(event.samples.flagged) for block in blocks for event in block.events if event.samples
    )
    if count:
        sys.stderr.write(
            "note: durations that cannot be right, all left out of these numbers: "
            f"{count:,}; --format json lists them under flagged\n"
        )
