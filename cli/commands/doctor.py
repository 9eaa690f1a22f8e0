"""`tracehouse doctor`: versions, and whether the store can be used."""

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
    """Check versions, optional packages and the store; changes nothing.

    Each line's status is ok, missing (an optional package, or a store not yet created) or wrong.
    """
    write_table(_findings(store), output, is_csv_safe=is_csv_safe)


def _findings(store: Path) -> pa.Table:
    import pyarrow as pa

    from cli.health import Finding, find_health

    rows = [finding._asdict() for finding in find_health(store)]
    return pa.Table.from_pylist(rows, pa.schema({name: pa.string() for name in Finding._fields}))
