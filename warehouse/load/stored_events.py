"""Statistics of dumps that are too big for memory, from their events in the store."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.ingest.decode import DecodedBatch
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import register_temporarily
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.clock_steps import (
    CLOCKS,
    MOST_READINGS,
    TIMED_KINDS,
    Readings,
    estimate_steps,
    find_timers,
)
from tracehouse.warehouse.statistics.rollups import (
    Statistics,
    clock_steps,
    group_events,
    is_long,
    summarise_events,
)
from tracehouse.warehouse.statistics.totals import (
    CompleteRuns,
    EventSums,
    RunNumbers,
    RunParts,
    run_rows,
)

ROW_GROUP = 122_880  # rows that DuckDB compresses together

# An empty source that DuckDB cannot split, so that one thread inserts all rows.
_WHOLE = "UNION ALL BY NAME SELECT 0::INTEGER AS dump_id FROM range(0)"

_MOST_EVENTS = 1 << 19  # read at a time, unless one signature has more


def append_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Append rows of dumps in their order, in the open transaction.

    Each row group should be full before the next begins. Several threads achieve this only if
    each gets complete row groups; otherwise they leave row groups half full, and the file becomes
    up to twice as large. DuckDB uses a second thread if 16 MiB for each column are allowed.
    """
    if not rows.num_rows:
        return
    if rows.num_rows < 2 * ROW_GROUP:
        _insert(connection, table, rows, _WHOLE)
    else:
        pieces = pa.RecordBatchReader.from_batches(rows.schema, _row_groups(rows))
        _insert(connection, table, pieces)


def _row_groups(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    for first in range(0, rows.num_rows, ROW_GROUP):
        yield from rows.slice(first, ROW_GROUP).combine_chunks().to_batches()


def _insert(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    rows: pa.Table | pa.RecordBatchReader,
    extra: str = "",
) -> None:
    with register_temporarily(connection, "new_rows", rows):
        text = f"INSERT INTO {table} BY NAME SELECT * FROM new_rows {extra}"  # noqa: S608
        connection.execute(text)


def summarise_stored(
    connection: duckdb.DuckDBPyConnection, dump_id: int, last: DecodedBatch
) -> Iterator[Statistics]:
    """Statistics of one dump, some signatures at a time, then its runs.

    Args:
        connection: The store, which has the dump's events and signatures.
        dump_id: Id of the dump; it is dump 0 in the statistics.
        last: The last decoded part of the dump, with its row of dumps.

    Yields:
        Rows to insert, with the resolution of the dump.
    """
    numbers = RunNumbers.of(last, 1)
    has_histogram = is_long(last.tables["dumps"])
    complete = _complete_runs(connection, dump_id, numbers.count)
    runs = np.zeros((numbers.count, 3))
    resolution = _read_resolution(connection, dump_id)
    for signatures in _some_signatures(connection, dump_id):
        events = _read_events(connection, dump_id, signatures)
        groups = group_events(events)
        totals = EventSums(events, RunParts.of(signatures), numbers).total(complete.is_complete)
        runs += totals.runs
        steps = clock_steps(groups, signatures, resolution)
        rows = summarise_events(groups, has_histogram, steps)
        yield Statistics(rows | {"event_totals": totals.events}, resolution)
    yield Statistics({"run_totals": run_rows(numbers, complete, runs)}, resolution)


def _read_resolution(connection: duckdb.DuckDBPyConnection, dump_id: int) -> Floats:
    """The result of `clock_resolution` for all events of the dump."""
    values = {"dump": dump_id, "most": MOST_READINGS}
    found = connection.sql(read_statement("extreme_durations"), params=values).to_arrow_table()
    timer = find_timers(found)
    is_timed = timer < CLOCKS
    ticks, varies = (found[name].to_numpy()[is_timed] for name in ("ticks", "varies"))

    def divide_all(clocks: Ints) -> Ints:
        return np.array([_divide_all(connection, dump_id, clock) for clock in clocks.tolist()])

    readings = Readings(timer[is_timed], ticks, varies)
    return estimate_steps(readings, CLOCKS, divide_all).reshape(1, CLOCKS)


def _divide_all(connection: duckdb.DuckDBPyConnection, dump_id: int, clock: int) -> int:
    """The greatest common divisor of all durations by a clock of the dump."""
    values = {"dump": dump_id, "kinds": TIMED_KINDS[clock]}
    found = connection.sql(read_statement("timed_durations"), params=values)
    divisor = 0
    for batch in found.to_arrow_reader(_MOST_EVENTS):
        divisor = int(np.gcd.reduce(batch["duration_ticks"].to_numpy(), initial=divisor))
    return divisor


def _complete_runs(connection: duckdb.DuckDBPyConnection, dump_id: int, count: int) -> CompleteRuns:
    text = read_statement("complete_runs_of_dump")
    found = connection.sql(text, params={"dump": dump_id}).to_arrow_table()
    complete = CompleteRuns(np.zeros(count, bool), np.zeros(count, np.int64))
    complete.is_complete[found["run_index"].to_numpy()] = True
    complete.signature[found["run_index"].to_numpy()] = found["run_signature_id"].to_numpy()
    return complete


def _some_signatures(connection: duckdb.DuckDBPyConnection, dump_id: int) -> Iterator[pa.Table]:
    """Event signatures of a dump and their kinds, in parts whose events fit into memory."""
    text = read_statement("signature_counts")
    counts = connection.sql(text, params={"dump": dump_id}).to_arrow_table()
    first = 0
    for some in batches(counts["event_count"].to_pylist(), int, _MOST_EVENTS):
        yield counts.slice(first, len(some))
        first += len(some)


def _read_events(
    connection: duckdb.DuckDBPyConnection, dump_id: int, signatures: pa.Table
) -> pa.Table:
    values = {"dump": dump_id, "signatures": signatures["event_signature_id"].to_pylist()}
    return connection.sql(read_statement("events_of_signatures"), params=values).to_arrow_table()
