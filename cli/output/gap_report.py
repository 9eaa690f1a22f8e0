"""Numeric gaps as `tracehouse numeric-gap` prints them: columns for people, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from tracehouse.cli.output.streams import write_note

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.numeric_gap.logged_operators import LoggedRun

_IDENTIFYING = ("method", "base_run_index", "head_run_index", "occurrence")


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
