"""Writes the rows of dumps into the open transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.resolver import Build, Device, Model
from tracehouse.ingest.producers import COUNTER
from tracehouse.ingest.schemas.attributes import dimension_columns
from tracehouse.ingest.schemas.dumps import COUNTERS, DUMPS
from tracehouse.ingest.signatures import with_user_kinds
from tracehouse.warehouse.archive.entries import Ids
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.build_order import update_build_order
from tracehouse.warehouse.engine.connection import insert_rows, register_temporarily
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load.content import NewDump
from tracehouse.warehouse.load.logged_data import attach_buffers, insert_values, parse_metadata
from tracehouse.warehouse.load.stored_events import append_rows
from tracehouse.warehouse.programs.event_origins import trace_events
from tracehouse.warehouse.programs.reader import Program, Programs
from tracehouse.warehouse.statistics.arrays import Floats
from tracehouse.warehouse.statistics.clock_steps import DELEGATE, RUNTIME

_MANIFEST_ROWS = (
    "DELETE FROM counters WHERE event_signature_id IS NULL AND dump_id IN (SELECT unnest(?))"
)

_MOST_KNOWN = 1 << 17  # ids remembered per table
_HOUR_NS = 3_600e9  # the runs of very few dumps take longer in total
_LAST_DUMP = "SELECT coalesce(max(dump_id), 0) FROM dumps"
Facts = dict[str, Any]  # columns of dumps
_PER_DUMP = ("runs", "events", "allocators", "allocations")
_SIGNATURES = ("run_signatures", "event_signatures")
# Two questions: for an OR of both, DuckDB would read all dumps.
_TAKEN = """
SELECT (
    SELECT count(*) FROM dumps
    WHERE dump_id > $indexed AND sha256 IN (SELECT unnest($hashes))
) + (SELECT count(*) FROM dumps WHERE dump_id IN (SELECT unnest($ids)))
"""
_PATH = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"


def insert_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Insert the counters in manifests of new dumps, by id."""
    rows = [row for id_, manifest in manifests.items() for row in _rows(id_, manifest)]
    append_rows(connection, "counters", pa.Table.from_pylist(rows, COUNTERS))


def replace_counters(
    connection: duckdb.DuckDBPyConnection, manifests: Mapping[int, Manifest]
) -> None:
    """Replace the counters of stored dumps, by id, that come from their manifests."""
    connection.execute(_MANIFEST_ROWS, [list(manifests)])
    insert_counters(connection, manifests)


def insert_logged_counters(
    connection: duckdb.DuckDBPyConnection, events: pa.Table, signatures: pa.Table
) -> None:
    """Insert the counters that delegates logged as events; `events` have dump ids."""
    logged = pc.equal(signatures["kind"], COUNTER)
    if pc.any(logged).as_py():
        with (
            register_temporarily(connection, "new_events", events),
            register_temporarily(connection, "new_signatures", signatures.filter(logged)),
        ):
            found = connection.sql(read_statement("logged_counters")).to_arrow_table()
            append_rows(connection, "counters", found)


def _rows(dump_id: int, manifest: Manifest) -> Iterator[dict[str, Any]]:
    for counter in manifest.counters or ():
        facts = {"dump_id": dump_id, **counter.model_dump(include={"name", "unit", "source"})}
        if counter.value is not None:
            yield {**facts, "run_index": None, "value": counter.value}
        for run_index, value in enumerate(counter.values or ()):
            if value is not None:
                yield {**facts, "run_index": run_index, "value": value}


class SignatureRows:
    """A table of signatures; caches some of its ids, so it is void after a rollback.

    Most signatures of a dump occurred recently. Recent ids are in memory; others are looked up in
    the store.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        self._connection, self._table = connection, table
        self._known: set[int] = set()

    def insert(self, rows: pa.Table) -> None:
        """Insert new rows; ids are in the first column, and may repeat."""
        ids, first = np.unique(rows.column(0).to_numpy(), return_index=True)
        is_unknown = [id_ not in self._known for id_ in ids.tolist()]
        ids, first = ids[is_unknown], first[is_unknown]
        if not len(ids):
            return
        if len(self._known) + len(ids) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(ids[:_MOST_KNOWN].tolist())
        is_new = ~np.isin(ids, self._stored(rows.column_names[0], ids))
        insert_rows(self._connection, self._table, rows.take(np.sort(first[is_new])))

    def _stored(self, column: str, ids: np.typing.NDArray[np.int64]) -> list[int]:
        with register_temporarily(self._connection, "wanted", pa.table({"id": ids})):
            text = f"SELECT {column} FROM {self._table} WHERE {column} IN (SELECT id FROM wanted)"  # noqa: S608
            return [row[0] for row in self._connection.execute(text).fetchall()]


def last_dump(connection: duckdb.DuckDBPyConnection) -> int:
    """Id of the last dump in a store; 0 in an empty store."""
    ((number,),) = connection.execute(_LAST_DUMP).fetchall()
    return int(number)


def read_doubts(
    connection: duckdb.DuckDBPyConnection, programs: Collection[int], *, after: int
) -> tuple[str, ...]:
    """Sentences about ETRecords that disagree with their dumps, and about implausible clocks.

    `programs` are ids of ETRecords; the clocks of dumps up to the id `after` are not checked.
    """
    values = {"after": after, "most_ns": _HOUR_NS}
    clocks = connection.execute(read_statement("clock_doubts"), values).fetchall()
    doubts = [_clock_doubt(*row) for row in clocks]
    if programs:
        listed = {"programs": list(programs)}
        rows = connection.execute(read_statement("doubts"), listed).fetchall()
        doubts += [row[0] for row in rows]
    return tuple(doubts)


def _clock_doubt(unit: str, count: int, source: str, ran_ns: float) -> str:
    more = f" and {count - 1:,} more" if count > 1 else ""
    return (
        f"{source}{more}: with a clock in {unit} it would have run for "
        f"{_time_text(ran_ns)}: is the clock's unit right (--clock, or clock in the manifest)? "
        "'tracehouse store amend --where ... --set clock=ns' corrects stored dumps"
    )


def _time_text(ran_ns: float) -> str:
    hours = ran_ns / _HOUR_NS
    return f"{hours:,.1f} hours" if hours < 48 else f"{hours / 24:,.1f} days"


class DumpRows:
    """Writes rows of dumps; caches the ids in use, so it is void after a rollback."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, indexed: int = 0) -> None:
        """Dumps up to the id `indexed` are known not to be inserted again."""
        self._connection, self._indexed = connection, indexed
        self._last_dump = last_dump(connection)
        self._devices = NamedIds(connection, "device")
        self._models = NamedIds(connection, "model")
        self._builds = Builds(connection)
        self._signatures = {name: SignatureRows(connection, name) for name in _SIGNATURES}
        self._programs = Programs(connection)

    def identify(self, dumps: Sequence[NewDump]) -> list[Facts]:
        """Columns of dumps that come from their manifests; inserts new devices, builds and models.

        Ids are those in the archive, otherwise the next free ones.
        """
        known: dict[int, Facts] = {}  # by manifest, which dumps of a folder often share
        facts = []
        for dump in dumps:
            key = id(dump.manifest)
            if key not in known:
                known[key] = self.manifest_facts(dump.manifest, dump.ids)
            id_ = dump.ids.dump if dump.ids else self._last_dump + 1
            self._last_dump = max(self._last_dump, id_)
            facts.append({"dump_id": id_, **known[key]})
        distinct = {(dump.taken_at, id(dump.manifest)): dump.manifest for dump in dumps}
        self._builds.complete((taken, manifest) for (taken, _), manifest in distinct.items())
        return facts

    def manifest_facts(self, manifest: Manifest, ids: Ids | None = None) -> Facts:
        """Columns of dumps that come from the manifest alone; ids as in `identify`."""
        clock = manifest.clock
        return {
            "device_id": self._devices.id_of(manifest.device, ids and ids.device),
            "build_id": self._builds.id_of(manifest.build, ids and ids.build),
            "model_id": self._models.id_of(manifest.model, ids and ids.model),
            "captured_at": manifest.captured_at,
            "tick_unit": clock.unit,
            "ns_per_tick": clock.ns_per_tick,
            "delegate_ns_per_tick": clock.delegate_ns_per_tick(manifest.model.backend),
            "manifest": manifest.canonical_json(),
        }

    def insert_content(self, tables: Mapping[str, pa.Table], dumps: Mapping[int, NewDump]) -> None:
        """Insert decoded rows of dumps, which are given by id, but for the table dumps."""
        for name in _PER_DUMP:
            append_rows(self._connection, name, tables[name])
        buffers = {id_: dump.debug_buffer for id_, dump in dumps.items() if dump.debug_buffer}
        insert_values(self._connection, tables["debug_values"], buffers)
        metadata = parse_metadata(
            tables["delegate_metadata"], lambda id_: dumps[id_].manifest.model.backend
        )
        append_rows(self._connection, "delegate_metadata", metadata)
        event_signatures = with_user_kinds(tables["event_signatures"])
        self._signatures["run_signatures"].insert(tables["run_signatures"])
        self._signatures["event_signatures"].insert(event_signatures)
        insert_logged_counters(self._connection, tables["events"], event_signatures)

    def insert_statistics(self, tables: Mapping[str, pa.Table]) -> None:
        """Insert the statistics of dumps."""
        for name, rows in tables.items():
            append_rows(self._connection, name, rows)

    def insert_dumps(
        self,
        dumps: Sequence[NewDump],
        facts: Sequence[Facts],
        decoded: pa.Table,
        resolution: Floats,
    ) -> None:
        """Insert the rows of dumps after their content, and trace the events to their ETRecords.

        `facts` are the result of `identify`, `resolution` that of `clock_resolution`.

        Raises:
            StoreError: Another process has inserted one of the dumps, or one of their ids.
        """
        if not dumps:
            return
        ids = [row["dump_id"] for row in facts]
        self._check_unique([dump.sha256 for dump in dumps], ids)
        rows = self._dump_rows(dumps, facts, decoded)
        rows["resolution_ticks"] = resolution[:, RUNTIME]
        rows["delegate_resolution_ticks"] = resolution[:, DELEGATE]
        append_rows(self._connection, "dumps", _table(rows, DUMPS))
        numbered = dict(zip(ids, dumps, strict=True))
        insert_counters(self._connection, {id_: one.manifest for id_, one in numbered.items()})
        update_build_order(self._connection, {row["build_id"] for row in facts})
        self._trace({id_: one.program for id_, one in numbered.items() if one.program})

    def _check_unique(self, hashes: Sequence[str], ids: Sequence[int]) -> None:
        values = {"hashes": hashes, "ids": ids, "indexed": self._indexed}
        ((count,),) = self._connection.execute(_TAKEN, values).fetchall()
        if count or len(set(hashes)) < len(hashes):
            ((path,),) = self._connection.execute(_PATH).fetchall()
            raise StoreError(
                path,
                "another process ingested dumps meanwhile, so nothing of this batch was stored: "
                "only one process at a time may write to the store; run the command again",
            )

    def attach_companions(self, dumps: Sequence[NewDump]) -> list[NewDump]:
        """Attach ETRecords and debug buffers to stored dumps, in place of older ones.

        Of several for one dump, the last wins.

        Returns:
            The dumps that got new companions, with these alone.
        """
        programs = {dump.sha256: dump.program for dump in dumps if dump.program}
        buffers = {dump.sha256: dump.debug_buffer for dump in dumps if dump.debug_buffer}
        hashes = {"hashes": [*programs, *buffers]}
        known = self._connection.execute(read_statement("stored_companions"), hashes).fetchall()
        by_hash = {dump.sha256: dump for dump in dumps}
        new_programs, new_buffers, changes, attached = {}, {}, [], []
        for sha256, id_, record, buffer in known:
            program, logged = programs.get(sha256), buffers.get(sha256)
            if program and program.id != record:
                new_programs[id_], record = program, program.id
            if logged and logged.sha256 != buffer:
                new_buffers[id_], buffer = logged, logged.sha256
            if id_ in new_programs or id_ in new_buffers:
                program, logged = new_programs.get(id_), new_buffers.get(id_)
                new = by_hash[sha256]._replace(program=program, debug_buffer=logged)
                attached.append(new)
            row = {"dump_id": id_, "etrecord_id": record, "debug_buffer_sha256": buffer}
            changes.append(row)
        if new_programs or new_buffers:
            columns = pa.schema([DUMPS.field(name) for name in changes[0]])
            rows = pa.Table.from_pylist(changes, schema=columns)
            with register_temporarily(self._connection, "changes", rows):
                self._connection.execute(read_statement("set_companions"))
            self._trace(new_programs)
            attach_buffers(self._connection, new_buffers)
        return attached

    def _trace(self, programs: Mapping[int, Program]) -> None:
        """Store the ETRecords of dumps, and the origins of events that they state."""
        self._programs.add(programs.values())
        trace_events(self._connection, programs)

    def _dump_rows(
        self, dumps: Sequence[NewDump], facts: Sequence[Facts], decoded: pa.Table
    ) -> dict[str, object]:
        return {
            **{name: decoded[name] for name in decoded.column_names[1:]},
            "sha256": [dump.sha256 for dump in dumps],
            "source": [dump.source for dump in dumps],
            "ingested_at": [dump.taken_at for dump in dumps],
            "etrecord_id": [dump.program and dump.program.id for dump in dumps],
            "debug_buffer_sha256": [d.debug_buffer and d.debug_buffer.sha256 for d in dumps],
            **{name: [row[name] for row in facts] for name in facts[0]},
        }


def _table(columns: Mapping[str, object], schema: pa.Schema) -> pa.Table:
    arrays = [
        column if isinstance(column, pa.ChunkedArray) else pa.array(column, field.type)
        for field in schema
        for column in [columns[field.name]]
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


class NamedIds:
    """Ids of devices or models; equal attributes mean the same device or model."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, kind: str) -> None:
        self._connection, self._table = connection, f"{kind}s"
        self._columns = dimension_columns(kind)
        text = f"SELECT {kind}_id, {', '.join(self._columns)} FROM {kind}s"  # noqa: S608
        rows = connection.execute(text).fetchall()
        self._ids: dict[tuple[object, ...], int] = {row[1:]: row[0] for row in rows}

    def id_of(self, thing: Device | Model, known: int | None = None) -> int:
        """The id of a device or model; a new one gets the `known` id or the next free id."""
        key = tuple(getattr(thing, column) for column in self._columns)
        if key not in self._ids:
            self._ids[key] = _free_id(self._ids.values(), known)
            marks = ", ".join("?" * (len(key) + 1))
            text = f"INSERT INTO {self._table} VALUES ({marks})"  # noqa: S608
            self._connection.execute(text, [self._ids[key], *key])
        return self._ids[key]


class Builds:
    """Ids of builds by name; each dump may add attributes of its build."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        rows = connection.execute("SELECT name, build_id FROM builds").fetchall()
        self._ids: dict[str, int] = dict(rows)
        self._stated: set[Build] = set()

    def id_of(self, build: Build, known: int | None = None) -> int:
        """The build's id; a new one gets the `known` id or the next free id."""
        if build.id not in self._ids:
            self._ids[build.id] = _free_id(self._ids.values(), known)
            text = "INSERT INTO builds (build_id, name) VALUES (?, ?)"
            self._connection.execute(text, [self._ids[build.id], build.id])
        return self._ids[build.id]

    def complete(self, stated: Iterable[tuple[datetime, Manifest]]) -> None:
        """Add attributes of builds from manifests with their times of ingest.

        If manifests differ, the earliest one wins; within one batch, the one whose text is first in
        alphabetical order. The same rule applies to a lake, which has no other order.
        """
        builds = {
            (taken_at, _text_of(manifest)): manifest.build
            for taken_at, manifest in stated
            if manifest.build not in self._stated
        }
        for key in sorted(builds):
            self._stated.add(builds[key])
            values = builds[key].model_dump()
            self._connection.execute(read_statement("complete_build"), values)


def merge_dimensions(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring devices, models and builds, and the order of builds, in line with all dumps.

    Devices, models and builds without dumps are deleted.
    """
    connection.execute(read_statement("merge_dimensions"))
    update_build_order(connection)


def _text_of(manifest: Manifest) -> str:
    """The build in a manifest's canonical JSON, as text."""
    stated = json.loads(manifest.canonical_json())["build"]
    return json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _free_id(ids: Collection[int], known: int | None) -> int:
    """The known id, or the next free one if it is taken, as after a loss of archive segments."""
    return known if known and known not in ids else max(ids, default=0) + 1
