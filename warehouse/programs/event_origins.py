"""Events of dumps traced to their programs: the tables event_origins and event_modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ingest.schemas.dumps import STORED
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import insert_rows, registered
from warehouse.programs.correlation import (
    BlockOrigin,
    Correlation,
    Handles,
    Hierarchy,
    Origin,
    Place,
    as_list,
)
from warehouse.programs.event_modules import modules_of_events
from warehouse.programs.origins import is_in_program
from warehouse.programs.reader import Program

_ROWS_AT_ONCE = 10_000
_VALUES_AT_ONCE = 500_000
_MOST_DOUBT = 1_000  # letters, which every event of a run repeats


class _TracedEvent(NamedTuple):
    """A row of untraced_events.sql with its nodes: an `EventWithNodes` of event_modules."""

    row: Mapping[str, Any]
    kind: str
    instruction_id: int | None
    debug_handles: Handles | None
    module_hierarchy: Mapping[str, Hierarchy | None]


def trace_events(connection: duckdb.DuckDBPyConnection, programs: Mapping[int, Program]) -> None:
    """Trace the events of dumps to their programs, except events that are already traced."""
    if not programs:
        return
    ids = {"dumps": list(programs)}
    untraced = connection.sql(read_statement("untraced_runs"), params=ids).to_arrow_table()
    if not untraced.num_rows:
        return
    with registered(connection, "untraced", untraced):
        events = connection.sql(read_statement("untraced_events")).to_arrow_table()
    records = {program.id: program.record for program in programs.values()}
    origins, modules = _Rows(connection, "event_origins"), _Rows(connection, "event_modules")
    for id_, of_record in groupby(_rows_of(events), itemgetter("etrecord_id")):
        of_all = Correlation(records[id_])
        for _, of_dump in groupby(of_record, itemgetter("dump_id")):
            correlation = of_all.renewed()
            for _, of_run in groupby(of_dump, itemgetter("run_signature_id")):
                run = list(of_run)
                located = correlation.locate([_place(event) for event in run])
                origins.extend(_origin_rows(run, located))
                modules.extend(_module_rows(run, located.origins))
    origins.flush()
    modules.flush()


class _Rows:
    """Rows for a table, inserted before they become too many."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        self._connection, self._table = connection, table
        self._waiting: list[dict[str, Any]] = []
        self._value_count = 0

    def extend(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            self._waiting.append(row)
            lists = (value for value in row.values() if isinstance(value, list))
            self._value_count += len(row) + sum(map(len, lists))
            if self._value_count >= _VALUES_AT_ONCE:
                self.flush()

    def flush(self) -> None:
        rows = pa.Table.from_pylist(self._waiting, schema=STORED[self._table])
        insert_rows(self._connection, self._table, rows)
        self._waiting.clear()
        self._value_count = 0


def _rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _place(event: Mapping[str, Any]) -> Place:
    """The place of an event; events outside the program have instruction 0 and no chain."""
    instruction, delegate = event["instruction_id"], event["delegate_id_int"]
    is_inside = is_in_program(event["kind"], instruction, is_on_chain=event["is_on_chain"])
    return Place(
        event["name"],
        event["kind"],
        instruction if is_inside else None,
        event["delegate_id_str"] if delegate is None else delegate,
    )


def _origin_rows(
    events: Sequence[Mapping[str, Any]], located: BlockOrigin
) -> Iterator[dict[str, Any]]:
    doubt = "; ".join(located.notes)[:_MOST_DOUBT] or None
    for event, origin in zip(events, located.origins, strict=True):
        has_handles = origin.debug_handles is not None
        yield {
            **_key(event),
            "method": located.method,
            "delegate_backend": origin.delegate_backend_name,
            "debug_handles": as_list(origin.debug_handles) if has_handles else None,
            "op_types": list(origin.op_types),
            "doubt": doubt,
        }


def _module_rows(
    events: Sequence[Mapping[str, Any]], origins: Sequence[Origin]
) -> Iterator[dict[str, Any]]:
    timed = [
        _TracedEvent(
            event,
            event["kind"],
            event["instruction_id"],
            origin.debug_handles,
            origin.module_hierarchy,
        )
        for event, origin in zip(events, origins, strict=True)
        if event["is_profiled"]
    ]
    for event, module in modules_of_events(timed):
        yield {**_key(event.row), **module._asdict()}


def _key(event: Mapping[str, Any]) -> dict[str, Any]:
    names = ("etrecord_id", "run_signature_id", "event_signature_id")
    return {name: event[name] for name in names}
