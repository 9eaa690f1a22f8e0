"""`tracehouse doctor`: what this installation is made of, and whether the store can be used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.options import DEFAULT_STORE, CsvSafe, Output, Store
from cli.output.render import Format, write_table

if TYPE_CHECKING:
    import pyarrow as pa


def doctor(
    store: Store = DEFAULT_STORE,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Tell versions, the state of the store, and what is optional and missing; changes nothing.

    Its status is ok, missing (of what is optional, or of a store not yet made) or wrong.
    """
    write_table(_findings(store), output, is_csv_safe=is_csv_safe)


def _findings(store: Path) -> pa.Table:
    import pyarrow as pa

    from cli.health import Finding, find_health

    rows = [finding._asdict() for finding in find_health(store)]
    return pa.Table.from_pylist(rows, pa.schema({name: pa.string() for name in Finding._fields}))
