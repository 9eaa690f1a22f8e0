"""ETRecords in the store, and the events of its dumps traced back to the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ingest.etrecord import EtRecord, read_etrecord
from ingest.program_tables import build_etrecord_tables, etrecord_id
from ingest.schemas import STORED
from ingest.sources import Source
from warehouse.connection import insert_rows
from warehouse.correlation import (
    OUTSIDE_KINDS,
    Correlation,
    Handles,
    Hierarchy,
    Origin,
    Place,
    as_list,
)
from warehouse.event_modules import modules_of_events

# Runs of dumps that have an ETRecord, one of each run signature, that are not traced yet.
_UNTRACED = """
SELECT DISTINCT ON (d.etrecord_id, r.run_signature_id)
    d.etrecord_id, r.run_signature_id, r.dump_id, r.run_index
FROM dumps AS d JOIN runs AS r ON r.dump_id = d.dump_id
WHERE d.dump_id IN (SELECT unnest(?)) AND r.run_signature_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM event_origins AS o
    WHERE o.etrecord_id = d.etrecord_id AND o.run_signature_id = r.run_signature_id
)
ORDER BY d.etrecord_id, r.run_signature_id, r.dump_id, r.run_index
"""

# The event signatures of a run, and whether they are on a chain: instruction 0 outside the program
# is on none.
_EVENTS_OF_RUN = """
WITH signatures AS (
    SELECT unnest(events) AS event_signature_id, generate_subscripts(events, 1) AS place
    FROM run_signatures WHERE run_signature_id = $signature
), chained AS (
    SELECT DISTINCT event_signature_id FROM events
    WHERE dump_id = $dump AND run_signature_id = $signature AND run_index = $run
    AND chain_index >= 0
), logged AS (
    SELECT DISTINCT instruction_id, delegate_id_int, delegate_id_str FROM debug_values
    WHERE dump_id = $dump AND run_index = $run AND chain_index >= 0 AND NOT is_output
)
SELECT e.*, c.event_signature_id IS NOT NULL OR EXISTS (
    SELECT 1 FROM logged AS l
    WHERE l.instruction_id IS NOT DISTINCT FROM e.instruction_id
    AND l.delegate_id_int IS NOT DISTINCT FROM e.delegate_id_int
    AND l.delegate_id_str IS NOT DISTINCT FROM e.delegate_id_str
) AS is_on_chain
FROM signatures AS s
JOIN event_signatures AS e ON e.event_signature_id = s.event_signature_id
LEFT JOIN chained AS c ON c.event_signature_id = s.event_signature_id
ORDER BY s.place
"""


class _Traced(NamedTuple):
    """An event signature with its nodes, as the rule of modules wants it."""

    kind: str
    instruction_id: int | None
    debug_handles: Handles | None
    module_hierarchy: Mapping[str, Hierarchy | None]


class Program(NamedTuple):
    """An ETRecord, and the tables that the store keeps of it."""

    record: EtRecord
    tables: dict[str, pa.Table]


def read_program(source: Source) -> Program:
    """The ETRecord in a file, read whole; one that cannot be read raises IngestError."""
    record = read_etrecord(source)
    return Program(record, build_etrecord_tables(record))


class Programs:
    """The programs of a store: what ETRecords say, and which events of dumps are theirs."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Read which ETRecords are known."""
        self._connection = connection
        rows = connection.execute("SELECT etrecord_id FROM etrecords").fetchall()
        self._known = {row[0] for row in rows}
        self._correlations: dict[int, Correlation] = {}

    def add(self, program: Program) -> int:
        """Id of the ETRecord, which is stored if it is new."""
        id_ = etrecord_id(program.record)
        if id_ not in self._correlations:
            if id_ not in self._known:
                for name, rows in program.tables.items():
                    insert_rows(self._connection, name, rows)
                self._known.add(id_)
            self._correlations[id_] = Correlation(program.record)
        return id_

    def trace(self, dump_ids: Sequence[int]) -> None:
        """Trace the events of dumps whose ETRecord was added, where that was not done before."""
        if dump_ids:
            rows = self._connection.execute(_UNTRACED, [list(dump_ids)]).fetchall()
            for id_, signature, dump, run in rows:
                self._trace_run(id_, signature, dump, run)

    def _trace_run(self, id_: int, signature: int, dump: int, run: int) -> None:
        places = {"signature": signature, "dump": dump, "run": run}
        events = self._connection.sql(_EVENTS_OF_RUN, params=places).to_arrow_table().to_pylist()
        located = self._correlations[id_].locate([_place(event) for event in events])
        key = {"etrecord_id": id_, "run_signature_id": signature}
        origins, modules = [], []
        for event, origin in zip(events, located.origins, strict=True):
            own = {**key, "event_signature_id": event["event_signature_id"]}
            origins.append({**own, "method": located.method, **_origin_columns(origin)})
        traced = [
            _Traced(event["kind"], event["instruction_id"], o.debug_handles, o.module_hierarchy)
            for event, o in zip(events, located.origins, strict=True)
        ]
        for row, module in modules_of_events(traced):
            event_id = events[row]["event_signature_id"]
            modules.append({**key, "event_signature_id": event_id, **module._asdict()})
        self._insert("event_origins", origins)
        self._insert("event_modules", modules)

    def _insert(self, name: str, rows: list[dict[str, Any]]) -> None:
        insert_rows(self._connection, name, pa.Table.from_pylist(rows, schema=STORED[name]))


def _place(event: Mapping[str, Any]) -> Place:
    """Where an event belongs: what is not in the program has instruction 0 and no chain."""
    instruction, delegate = event["instruction_id"], event["delegate_id_int"]
    is_inside = event["kind"] not in OUTSIDE_KINDS and (instruction != 0 or event["is_on_chain"])
    return Place(
        event["name"],
        event["kind"],
        instruction if is_inside else None,
        event["delegate_id_str"] if delegate is None else delegate,
    )


def _origin_columns(origin: Origin) -> dict[str, Any]:
    has_handles = origin.debug_handles is not None
    return {
        "delegate_backend": origin.delegate_backend_name,
        "debug_handles": as_list(origin.debug_handles) if has_handles else None,
        "op_types": list(origin.op_types),
    }
