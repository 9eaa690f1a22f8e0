"""Numeric gaps as `tracehouse numeric-gap` prints them: columns for people, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.output.streams import write_note

if TYPE_CHECKING:
    import pyarrow as pa

    from queries.numeric_gap.logged_operators import LoggedRun

_TELLING = ("method", "base_run_index", "head_run_index", "occurrence")


def arrange_gaps(table: pa.Table) -> pa.Table:
    """What people look at first; of the rest what tells rows apart."""
    has_handles = table["debug_handle"].null_count < table.num_rows
    told = [name for name in _TELLING if len(table[name].unique()) > 1]
    place = "debug_handle" if has_handles else "base_instruction_id"
    names = table.column_names
    metrics = names[names.index("head_nan_count") + 1 : names.index("divergence")]
    if table["divergence"].null_count < table.num_rows:
        metrics += names[names.index("divergence") :]
    return table.select([*told, place, "base_event", "head_event", "shape", *metrics])


def write_run_notes(runs: Sequence[Sequence[LoggedRun]]) -> None:
    """Print on standard error what is odd about the runs of base and head."""
    for name, side in zip(("base", "head"), runs, strict=True):
        for note in dict.fromkeys(note for run in side for note in run.notes):
            write_note(f"note: {name}: {note}")


def write_if_incomparable(table: pa.Table) -> bool:
    """Whether nothing could be compared, so that no difference means nothing; if so, it is told."""
    from queries.numeric_gap.comparators import NOT_COMPARED

    is_incomparable = set(table["verdict"].to_pylist()) <= {NOT_COMPARED}
    if is_incomparable:
        write_note(
            f"error: none of {table.num_rows:,} values could be compared; wanted two dumps of one "
            "program, or the ETRecord of each, and their debug buffers; the column reason says why"
        )
    return is_incomparable
