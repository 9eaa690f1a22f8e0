"""The health of a store: one row for programs, a line per fact for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracehouse.queries.cells import columns_of, heading

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.warehouse.opening.status import StoreStatus

_TEXTS = ("problem", "disabled_compression")
_TRUTHS = ("is_locked", "is_uncompacted")
_CONTENTS = ("events", "devices", "builds", "models")  # 'ls' lists them, for people
_TIMES = (
    "counted_at", "failed_checkpoint_at", "rebuilt_at", "last_ingest_at", "verified_at",
)  # fmt: skip


def status_table(status: StoreStatus) -> pa.Table:
    """One row; counts that are not known are null."""
    import pyarrow as pa

    from tracehouse.warehouse.opening.status import StoreCounts

    row = status._asdict()
    counts = row.pop("counts")
    row.update(counts._asdict() if counts else dict.fromkeys(StoreCounts._fields))
    types: dict[str, pa.DataType] = {
        **dict.fromkeys(row, pa.int64()),
        **dict.fromkeys(_TEXTS, pa.string()),
        **dict.fromkeys(_TRUTHS, pa.bool_()),
        **dict.fromkeys(_TIMES, pa.timestamp("us", "UTC")),
        "snapshot_ages_seconds": pa.list_(pa.int64()),
    }
    return pa.Table.from_pylist([row], pa.schema(types))


def status_rows(table: pa.Table) -> pa.Table:
    """The row transposed: a line per known fact about its health."""
    import pyarrow as pa

    (row,) = table.to_pylist()
    cells = {one.name: one.text(row[one.name]) for one in columns_of(table)}
    facts = {name: cell for name, cell in cells.items() if cell and name not in _CONTENTS}
    names = [heading(name.removeprefix("is_").removesuffix("_bytes")) for name in facts]
    return pa.table({"what": names, "found": list(facts.values())})
