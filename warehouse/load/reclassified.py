"""Events of a store of an older schema, which did not tell what is no time of the dump's clocks."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from ingest.producers import shipped_producers
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import registered
from warehouse.load.counters import insert_counters_of_events
from warehouse.load.split_statistics import replace_statistics

_SIGNATURES = """
SELECT event_signature_id, coalesce(unhex(name_hex), encode(name)) AS name, delegate_id_str, kind
FROM event_signatures
WHERE delegate_id_int IS NULL
"""
_CHANGE = """
UPDATE event_signatures SET kind = c.kind, unit = c.unit
FROM changes AS c WHERE event_signatures.event_signature_id = c.event_signature_id
"""
_ANEW = "UPDATE dumps SET delegate_resolution_ticks = ? WHERE dump_id = ?"


def reclassify_events(connection: duckdb.DuckDBPyConnection) -> None:
    """Give event signatures the kind and unit that ingest gives them, and dumps their counters.

    Done once, by the migration that adds the columns. Statistics of delegates' operators are worked
    out anew where a dump still has its events: how coarse their clock is depends on the kind.
    """
    changes = _changes(connection)
    if not changes.num_rows:
        return
    with registered(connection, "changes", changes):
        connection.execute(_CHANGE)
        dumps = connection.execute(read_statement("dumps_of_changes")).fetchall()
    insert_counters_of_events(connection)
    for dump_id, n_runs in dumps:
        resolution = replace_statistics(connection, dump_id, n_runs)
        connection.execute(_ANEW, [resolution, dump_id])


def _changes(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    rules = shipped_producers()
    rows: list[dict[str, Any]] = []
    found = connection.execute(_SIGNATURES)
    while some := found.fetchmany(10_000):
        for id_, name, delegate_id, kind in some:
            rule = rules.rule_of(name, delegate_id.encode() if delegate_id else None)
            if rule and (rule.kind, rule.unit) != (kind, None):
                rows.append({"event_signature_id": id_, "kind": rule.kind, "unit": rule.unit})
    columns = {"event_signature_id": pa.int64(), "kind": pa.string(), "unit": pa.string()}
    return pa.Table.from_pylist(rows, pa.schema(columns))
