"""Event blocks as `tracehouse inspect` prints them: columns for people, and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tracehouse.cli.output.render import Format
from tracehouse.cli.output.streams import write_note

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.event_blocks.blocks import EventBlock


def arrange_events(table: pa.Table, output: Format) -> pa.Table:
    """The table as pandas would write it for TSV, and with shortened lists for people."""
    if output is Format.TSV:
        from tracehouse.queries.event_blocks.table import pandas_cells

        return pandas_cells(table)
    if output.is_for_people:
        for name, shown in (("op_types", _shown_op_types), ("start_time", _first_and_last)):
            table = _replace_column(table, name, shown)
    return table


def write_block_notes(blocks: Sequence[EventBlock]) -> None:
    """Print the notes of the blocks, and the number of samples left out, on standard error."""
    for block in blocks:
        for note in block.notes:
            write_note(f"note: block {block.name}: {note}")
    count = sum(len(event.flagged) for block in blocks for event in block.events)
    if count:
        write_note(
            f"note: impossible durations, left out of these numbers: {count:,}; "
            "--format json lists them under flagged"
        )


def _replace_column(table: pa.Table, name: str, shown: Callable[[Any], str | None]) -> pa.Table:
    """The table with a column's values replaced by the texts that `shown` returns."""
    import pyarrow as pa

    texts = [shown(value) for value in table[name].to_pylist()]
    return table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))


def _shown_op_types(op_types: list[str]) -> str:
    from tracehouse.queries.event_blocks.blocks import shorten_op_types

    return str(shorten_op_types(op_types))


def _first_and_last(times: list[object] | None) -> str | None:
    if not times:
        return None
    return str(times[0]) if len(times) == 1 else f"{times[0]} ... {times[-1]} ({len(times):,})"
