"""Digests of the rows of dumps as a store has them."""

from __future__ import annotations

from collections.abc import Collection

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.schemas.dumps import DIGESTED, STORED
from tracehouse.warehouse.engine.connection import registered
from tracehouse.warehouse.engine.digests import Digests

_ROWS = 1 << 17  # read at a time


def read_digests(
    connection: duckdb.DuckDBPyConnection,
    dumps: Collection[int] | None = None,
    tables: Collection[str] = DIGESTED,
) -> pa.Table:
    """The digests that follow from the rows in a store, as in the table dump_digests.

    Args:
        connection: The store, or another database with these tables.
        dumps: Ids; by default all dumps that have rows.
        tables: Tables to read; digests of the other ones are null.
    """
    digests = Digests()
    for name in tables:
        text, values = f"SELECT {', '.join(STORED[name].names)} FROM {name}", []  # noqa: S608
        if dumps is not None:
            text += " WHERE dump_id IN (SELECT unnest(?))"
            values = [list(dumps)]
        with connection.sql(text, params=values).to_arrow_reader(_ROWS) as batches:
            for batch in batches:
                digests.add(name, pa.Table.from_batches([batch]))
    return digests.table(dumps or ())


def refresh_digests(
    connection: duckdb.DuckDBPyConnection, dumps: Collection[int], tables: Collection[str]
) -> None:
    """Store the digests of dumps again after their rows in some tables were changed on purpose."""
    changes = ", ".join(f"{name} = f.{name}" for name in tables)
    text = f"UPDATE dump_digests AS d SET {changes} FROM fresh AS f WHERE f.dump_id = d.dump_id"  # noqa: S608
    with registered(connection, "fresh", read_digests(connection, dumps, tables)):
        connection.execute(text)


def changed_tables(old: pa.Table, new: pa.Table) -> dict[int, str]:
    """Names of the tables whose digests differ, by dump; a dump without a row has no digests.

    Both arguments are in the form of dump_digests.
    """
    old, new = (_with_wide_ids(one) for one in (old, new))
    both = new.join(old, "dump_id", right_suffix="_before", join_type="full outer")
    found: dict[int, list[str]] = {}
    for name in DIGESTED:
        one, other = both[name].fill_null(0), both[f"{name}_before"].fill_null(0)
        for dump in both["dump_id"].filter(pc.not_equal(one, other)).to_pylist():
            found.setdefault(dump, []).append(name)
    return {dump: ", ".join(names) for dump, names in found.items()}


def _with_wide_ids(digests: pa.Table) -> pa.Table:
    """The digests with ids that fit those of a lake, too."""
    return digests.set_column(0, "dump_id", digests["dump_id"].cast(pa.int64()))
