"""Statistics of dumps of an older store, worked out anew for each run signature apart."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from ingest import DecodedBatch
from warehouse.catalogue.sql_files import read_statement
from warehouse.load.appending import append_rows
from warehouse.load.logged_data import number_dumps
from warehouse.load.stored_events import summarise_stored

_TABLES = ("event_stats", "event_histograms")


def split_statistics(connection: duckdb.DuckDBPyConnection) -> None:
    """Replace the statistics of dumps where one event signature is in several run signatures.

    Done once, by the migration that leaves the temporary table `signature_places`.
    """
    for dump_id, n_runs in connection.execute(read_statement("dumps_to_split")).fetchall():
        replace_statistics(connection, dump_id, n_runs)
    connection.execute("DROP TABLE signature_places")


def replace_statistics(connection: duckdb.DuckDBPyConnection, dump_id: int, n_runs: int) -> int:
    """Work the statistics of a dump's events out anew.

    Returns:
        Resolution of the clock of its delegates.
    """
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE dump_id = ?", [dump_id])  # noqa: S608
    ids = np.array([dump_id], np.int32)
    dumps = pa.table({"dump_index": [0], "n_runs": [n_runs]})
    batch = DecodedBatch({"dumps": dumps}, pa.table({}))
    resolution = 1
    for statistics in summarise_stored(connection, dump_id, batch):
        resolution = int(statistics.resolution[0])
        for table in filter(statistics.tables.__contains__, _TABLES):
            append_rows(connection, table, number_dumps(statistics.tables[table], ids))
    return resolution
