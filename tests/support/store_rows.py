"""Rows put straight into the tables of a store, so that queries need no decoder."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tests.support.plain_rollups import plain_rollups
from tests.support.program_rows import program_rows
from tests.support.store_template import connect_new_store
from tracehouse.ingest.producers import shipped_producers
from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.ingest.schemas.upkeep import GROUP_DECISIONS
from tracehouse.ingest.signatures import event_kind
from tracehouse.warehouse.catalogue.answers import answer_query
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.engine.build_order import update_build_order
from tracehouse.warehouse.engine.connection import begin_session, transaction
from tracehouse.warehouse.regressions.computed import answer_computed

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class Event(NamedTuple):
    """One profile event, or (ticks None) the logged value of an instruction.

    `program_rows` says what `modules`, `line` and `ran_on` are: they need an ETRecord.
    """

    name: str
    ticks: int | None
    instruction: int | None = None
    delegate: str | None = None
    debug_name: str | None = None
    chain: int = 0
    flags: int = 0
    modules: tuple[str, ...] = ()
    start: int = 0
    line: str = ""
    ran_on: str | None = None


class StoreRows:
    """Rows of a store; ids are small numbers in order of first use."""

    def __init__(self):
        self._rows = {name: [] for name in STORED}
        self._ids = defaultdict(dict)

    def add_build(self, name, *, ordinal=None, committed_at=None, branch=None, **ancestry):
        """Add a build; `ancestry` is its parent and role."""
        columns = {"commit": None, "committed_at": committed_at, "branch": branch, **ancestry}
        return self._id("builds", name, name=name, ordinal=ordinal, **columns)

    def add_dump(
        self,
        *,
        device="phone",
        pool=None,
        build="b1",
        model="net",
        backend="xnnpack",
        quantization=None,
        tags=None,
        captured_at=LONG_AGO,
        ingested_at=LONG_AGO,
        ns_per_tick=1.0,
        delegate_ns_per_tick=1.0,
        resolution_ticks=1,
        delegate_resolution_ticks=1,
        etrecord=None,
        run=None,
        stated=None,
        **system,
    ):
        """Add a dump; `system` is what else is known of the device: os, os_version, arch, soc.

        `run` is what its manifest says of the state it was recorded in, `stated` what else it says.
        """
        number = len(self._rows["dumps"]) + 1
        system = {name: system.get(name) for name in ("os", "os_version", "arch", "soc")}
        manifest = {"device": device, "model": "tags", "tags": tags or {}, "run": run or {}}
        manifest |= stated or {}
        self._rows["dumps"].append(
            {
                "dump_id": number,
                "sha256": f"{number:064x}",
                "source": f"{number:03}.etdp",
                "byte_count": 1000,
                "device_id": self._id("devices", name=device, pool=pool, **system),
                "build_id": self.add_build(build),
                "model_id": self._id(
                    "models", name=model, backend=backend, quantization=quantization
                ),
                "captured_at": captured_at,
                "ingested_at": ingested_at,
                "tick_unit": "ns",
                "ns_per_tick": ns_per_tick,
                "delegate_ns_per_tick": delegate_ns_per_tick,
                "resolution_ticks": resolution_ticks,
                "delegate_resolution_ticks": delegate_resolution_ticks,
                "schema_version": 0,
                "is_size_prefixed": True,
                **{name: 0 for name in STORED["dumps"].names if name.startswith("n_")},
                "manifest": json.dumps(manifest, sort_keys=True, separators=(",", ":")),
                "etrecord_id": etrecord and self._etrecord(etrecord),
            }
        )
        return number

    def add_run(
        self,
        dump_id,
        events: Sequence[Event],
        *,
        name="Execute",
        bundled_input_index=-1,
        length=None,
        start=0,
    ):
        dump = self._rows["dumps"][dump_id - 1]
        run_index = dump["n_runs"]
        dump["n_runs"] += 1
        signatures = [self._signature(event) for event in events]
        distinct = list(dict.fromkeys(signatures))
        run_signature = self._id(
            "run_signatures",
            name=name,
            bundled_input_index=bundled_input_index,
            events=distinct,
            length=length,
        )
        profiled = [
            (event, signature)
            for event, signature in zip(events, signatures, strict=True)
            if event.ticks is not None
        ]
        self._rows["runs"].append(
            {
                "dump_id": dump_id,
                "run_index": run_index,
                "run_signature_id": run_signature,
                "name": name,
                "bundled_input_index": bundled_input_index,
                "start_ticks": start,
                "n_events": len(profiled),
            }
        )
        seen = dict.fromkeys(signatures, 0)
        for event, signature in profiled:
            dump["n_events"] += 1
            dump["n_flagged_events"] += event.flags > 1
            self._rows["events"].append(
                {
                    "dump_id": dump_id,
                    "run_signature_id": run_signature,
                    "event_signature_id": signature,
                    "run_index": run_index,
                    "occurrence": seen[signature],
                    "chain_index": event.chain,
                    "start_offset_ticks": event.start,
                    "duration_ticks": event.ticks,
                    "flags": event.flags,
                }
            )
            seen[signature] += 1
        if dump["etrecord_id"]:
            self._add_program(
                dump["etrecord_id"], run_signature, zip(events, signatures, strict=True)
            )

    def add_runs(self, dump_id, runs: Iterable[Sequence[Event]], *, length=None):
        """Add a run of each of these lists of events."""
        for events in runs:
            self.add_run(dump_id, events, length=length)

    def add_values(self, dump_id, values, *, run_index=0):
        """Values that a run logged: (instruction, content of a tensor or number) each."""
        logged = [row for row in self._rows["debug_values"] if row["dump_id"] == dump_id]
        for position, (instruction, value) in enumerate(values, start=len(logged)):
            is_tensor = isinstance(value, str)
            self._rows["debug_values"].append(
                {
                    "dump_id": dump_id,
                    "run_index": run_index,
                    "event_index": position,
                    "chain_index": 0,
                    "instruction_id": instruction,
                    "position": 0,
                    "value_type": "tensor" if is_tensor else "double",
                    "double_value": None if is_tensor else value,
                    "dtype": "float32" if is_tensor else None,
                    "sha256": value or None if is_tensor else None,
                    "is_output": False,
                }
            )

    def add_allocations(self, dump_id, *allocations, run_index=0, positions=None):
        """Allocations of a run: (name of the allocator, bytes) each.

        Its first events, unless their positions among all that it recorded are given.
        """
        places = positions or range(len(allocations))
        for event_index, (allocator, size) in zip(places, allocations, strict=True):
            self._rows["allocations"].append(
                {
                    "dump_id": dump_id,
                    "run_index": run_index,
                    "event_index": event_index,
                    "allocator_id": 1,
                    "allocator": allocator,
                    "bytes": size,
                }
            )

    def add_counter(self, dump_id, name, value, unit="mJ"):
        """What a manifest states of a dump, or (a list) of its runs in their order."""
        values = enumerate(value) if isinstance(value, list) else [(None, value)]
        self._rows["counters"] += [
            {"dump_id": dump_id, "run_index": index, "name": name, "unit": unit, "value": one}
            for index, one in values
            if one is not None
        ]

    def add_error(self, source, *, sha256=None, refused_at=LONG_AGO, device=None, pool=None):
        self._rows["ingest_errors"].append(
            {
                "source": source,
                "sha256": sha256,
                "reason": "truncated",
                "byte_offset": 24,
                "detail": "table ends past the buffer",
                "refused_at": refused_at,
                "manifest": device and json.dumps({"device": {"name": device, "pool": pool}}),
            }
        )

    def add_note(self, text, build, *, state="noted", written_at=LONG_AGO, **point):
        """Add a note on points; its id is its text."""
        on = dict.fromkeys(GROUP_DECISIONS.names[5:]) | {"build": build} | point
        row = {"group_id": text, "state": state, "reason": text, "decided_by": "ann", **on}
        self._rows["group_decisions"].append(row | {"decided_at": written_at})

    def connect(self) -> duckdb.DuckDBPyConnection:
        connection = connect_new_store()
        begin_session(connection)
        self._rows |= plain_rollups(self._rows)
        with transaction(connection):
            for table, rows in self._rows.items():
                if rows:
                    arrow = pa.Table.from_pylist(rows, STORED[table])
                    connection.register("arrow", arrow)
                    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM arrow")  # noqa: S608
                    connection.unregister("arrow")
            update_build_order(connection)
        return connection

    def _signature(self, event):
        name, _, instruction, delegate, debug_name, *_ = event
        rule = shipped_producers().rule_of(name.encode(), delegate and delegate.encode())
        return self._id(
            "event_signatures",
            name=name,
            instruction_id=instruction,
            delegate_id_int=None,
            delegate_id_str=delegate,
            kind=event_kind(name.encode(), delegate and delegate.encode()),
            unit=rule.unit if rule else None,
            is_profiled=event.ticks is not None,
            is_logged=debug_name is not None,
            debug_name=debug_name,
            name_hex=None,
        )

    def _etrecord(self, source):
        number = self._id("etrecords", source=source, byte_count=1000)
        self._rows["etrecords"][number - 1]["sha256"] = f"{number:064x}"
        return number

    def _add_program(self, etrecord_id, run_signature, events):
        for table, row in program_rows(etrecord_id, run_signature, events):
            if row not in self._rows[table]:
                self._rows[table].append(row)

    def _id(self, table, key=None, **columns):
        """The id of a row, which is added unless there is one of its key: by default, all of it."""
        ids, name = self._ids[table], table.removesuffix("s") + "_id"
        key = str(columns) if key is None else key
        if key not in ids:
            ids[key] = len(ids) + 1
            self._rows[table].append({name: ids[key], **columns})
        return ids[key]


def run_query(connection, name, **params) -> list[dict[str, object]]:
    """Rows of a canned query as dicts."""
    return AskedConnection(connection).query(name, **params).to_pylist()


class AskedConnection(NamedTuple):
    """A connection to a store that is asked like the store."""

    connection: duckdb.DuckDBPyConnection

    def query(self, name, /, **params) -> pa.Table:
        query = find_query(name) if isinstance(name, str) else name
        if query.is_computed:
            return answer_computed(self, query, params)
        return answer_query(self.connection, query, params)

    def sql(self, text, params=None, /) -> pa.Table:
        return self.connection.sql(duckdb_text(text), params=params).to_arrow_table()

    @contextmanager
    def stream_query(self, name, params, /) -> Iterator[pa.RecordBatchReader]:
        yield self.query(name, **params).to_reader()

    @contextmanager
    def stream(self, text, params=None, /) -> Iterator[pa.RecordBatchReader]:
        yield self.sql(text, params).to_reader()


def run_by_device(connection, name, **params) -> dict[str, list[dict[str, object]]]:
    """Rows of a canned query by device; an empty list for a device without any."""
    found = {device: [] for (device,) in connection.sql("SELECT name FROM devices").fetchall()}
    for row in run_query(connection, name, **params):
        found.setdefault(row["device"], []).append(row)
    return found


def shown(rows, *names) -> list[tuple[object, ...]]:
    """The values of some columns, row by row."""
    return [tuple(row[name] for name in names) for row in rows]
