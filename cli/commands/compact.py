"""`tracehouse compact`: room on the disk given back."""

from __future__ import annotations

from cli.options import DEFAULT_STORE, CsvSafe, Output, Store, Wait
from cli.output.render import Format, write_table
from cli.stores import open_to_write


def compact(
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Give back the room that was freed in a store, as by 'tracehouse retention'.

    A copy of its DuckDB file without free blocks is made beside it, compared table by table, and
    takes its place; until then there must be room for both. Small segments of the archive are
    merged.
    """
    import pyarrow as pa

    from warehouse.storage.compaction import compact_store

    with open_to_write(store, wait=wait):
        pass  # what a writer left behind that was killed is taken over
    done = compact_store(store, wait=wait)
    write_table(pa.Table.from_pylist([done._asdict()]), output, is_csv_safe=is_csv_safe)
