"""What of a comparison is shown first."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from queries.comparison import changed_rows

COLUMNS = (
    "level", "device", "model", "backend", "event_name", "delegate_id", "ordinal", "base_ns",
    "head_ns", "delta", "delta_low", "delta_high", "verdict", "explained_by", "note", "pool",
)  # fmt: skip


def _table(*rows: dict[str, Any]) -> pa.Table:
    names = pa.schema([(name, pa.string()) for name in COLUMNS])
    return pa.Table.from_pylist([dict.fromkeys(COLUMNS) | row for row in rows], names)


def test_rows_that_changed_are_kept_in_their_order() -> None:
    verdicts = ("new_op", "unchanged", "moved", "mode_mix", "inconclusive", "regression")
    changed = changed_rows(_table(*({"verdict": verdict} for verdict in verdicts)))
    assert changed["verdict"].to_pylist() == ["new_op", "moved", "mode_mix", "regression"]
    assert changed.column_names == list(COLUMNS[:-2])


def test_note_counts_what_is_not_shown_and_says_what_is_hidden() -> None:
    hidden = {"verdict": "unchanged", "note": "dumps differ in threads"}
    changed = changed_rows(_table(hidden, hidden, {"verdict": "needs_more_dumps"}))
    assert changed.num_rows == 0
    assert changed.schema.metadata[b"note"].decode() == (
        "of 3 compared: 2 unchanged, 1 needs_more_dumps; dumps differ in threads"
    )


def test_note_says_so_where_all_changed() -> None:
    changed = changed_rows(_table({"verdict": "regression"}))
    assert changed.schema.metadata[b"note"] == b"of 1 compared: all changed"
