"""Events of dumps traced to their programs: the tables event_origins and event_modules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import duckdb
import numpy as np
import pyarrow as pa

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import insert_rows, register_temporarily
from tracehouse.warehouse.programs.correlation import (
    BlockOrigin,
    Correlation,
    Handles,
    Hierarchy,
    Origin,
    Place,
    as_list,
)
from tracehouse.warehouse.programs.event_modules import modules_of_events
from tracehouse.warehouse.programs.method_origins import is_in_program

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.record import EtRecord

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


class Tracer(Protocol):
    """An ETRecord that events can be traced to."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def trace(self) -> Callable[[pa.Table], Iterator[Mapping[str, pa.Table]]]:
        """As in `warehouse.programs.reader.Program`."""


def trace_events(connection: duckdb.DuckDBPyConnection, programs: Mapping[int, Tracer]) -> None:
    """Trace the events of dumps to their programs, except events that are already traced."""
    if not programs:
        return
    ids = {"dumps": list(programs)}
    untraced = connection.sql(read_statement("untraced_runs"), params=ids).to_arrow_table()
    if not untraced.num_rows:
        return
    with register_temporarily(connection, "untraced", untraced):
        events = connection.sql(read_statement("untraced_events")).to_arrow_table()
    by_record = {program.id: program for program in programs.values()}
    for own in _of_each_record(events):
        for part in by_record[own["etrecord_id"][0].as_py()].trace(own):
            for table, rows in part.items():
                insert_rows(connection, table, rows)


def _of_each_record(events: pa.Table) -> Iterator[pa.Table]:
    """The events of each ETRecord, by which they are sorted."""
    ids = events["etrecord_id"].to_numpy()
    bounds = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
    return (events.slice(start, end - start) for start, end in pairwise(bounds) if start < end)


def trace_program(record: EtRecord, events: pa.Table) -> Iterator[dict[str, pa.Table]]:
    """Parts of the tables event_origins and event_modules; `events` are all of one ETRecord."""
    of_all = Correlation(record)
    waiting = _Rows()
    for _, of_dump in groupby(_rows_of(events), itemgetter("dump_id")):
        correlation = of_all.renewed()
        for _, of_run in groupby(of_dump, itemgetter("run_signature_id")):
            run = list(of_run)
            located = correlation.locate([_place(event) for event in run])
            yield from waiting.extend("event_origins", _origin_rows(run, located))
            yield from waiting.extend("event_modules", _module_rows(run, located.origins))
    yield from waiting.flush()


class _Rows:
    """Rows of tables, made into tables before they become too many."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._value_count = 0

    def extend(self, table: str, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, pa.Table]]:
        for row in rows:
            self._waiting[table].append(row)
            lists = (value for value in row.values() if isinstance(value, list))
            self._value_count += len(row) + sum(map(len, lists))
            if self._value_count >= _VALUES_AT_ONCE:
                yield from self.flush()

    def flush(self) -> Iterator[dict[str, pa.Table]]:
        waiting, self._waiting, self._value_count = self._waiting, defaultdict(list), 0
        if waiting:
            yield {
                table: pa.Table.from_pylist(rows, schema=STORED[table])
                for table, rows in waiting.items()
            }


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
