"""`tracehouse snapshot`: a copy of the store that can be read while it is written."""

from __future__ import annotations

from cli.options import DEFAULT_STORE, CsvSafe, Output, Store, Wait
from cli.output.render import Format, write_table
from cli.stores import open_to_write


def snapshot(
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Publish a snapshot, which others read while a process writes the store.

    It is a whole copy of the store's DuckDB file, read-only, in its folder snapshots. The newest
    three are kept, and those that somebody reads.
    """
    import pyarrow as pa

    with open_to_write(store, wait=wait) as warehouse:
        done = warehouse.snapshot()
    row = {"path": str(done.path), "taken_at": done.taken_at, "bytes": done.path.stat().st_size}
    write_table(pa.Table.from_pylist([row]), output, is_csv_safe=is_csv_safe)
