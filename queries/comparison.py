"""A comparison of two builds cut down to what a person wants to see first."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

_SILENT = ["unchanged", "inconclusive", "below_resolution", "needs_more_dumps"]
_SHOWN = [
    "level", "device", "model", "backend", "run", "event_name", "delegate_id", "ordinal", "base_ns",
    "head_ns", "delta", "delta_low", "delta_high", "verdict", "explained_by",
]  # fmt: skip


def changed_rows(table: pa.Table) -> pa.Table:
    """The rows of the query `comparison` whose verdict is a change, in its order.

    Columns are those that tell what changed, and by how much. The metadata has a `note` of what
    else was compared, and of what the comparison hides.
    """
    counts = Counter(table["verdict"].to_pylist())
    silent = [f"{counts[verdict]:,} {verdict}" for verdict in _SILENT if counts[verdict]]
    hidden = sorted({note for note in table["note"].to_pylist() if note})
    notes = "; ".join(
        [f"of {table.num_rows:,} compared: {', '.join(silent) or 'all changed'}", *hidden]
    )
    is_silent = pc.is_in(table["verdict"], pa.array(_SILENT))
    shown = table.filter(pc.invert(is_silent)).select(_SHOWN)
    return shown.replace_schema_metadata({"note": notes})
