"""Decoded dumps into the store: one transaction per batch, all of it or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ingest import DecodedBatch
from ingest.errors import DumpError
from ingest.manifest import Manifest
from ingest.schemas import DUMPS, INGEST_ERRORS
from warehouse.connection import insert_rows, transaction
from warehouse.logged_data import LoggedData, number_dumps, parse_metadata
from warehouse.names import Builds, Names
from warehouse.programs import Program, Programs
from warehouse.rollups import delegate_resolution, group_events, summarise_events
from warehouse.stored_events import stored_groups

_PER_DUMP = ("runs", "events", "allocators", "allocations")


class NewDump(NamedTuple):
    """What the store keeps of a dump besides its content; and the files that came with it."""

    source: str
    sha256: str
    manifest: Manifest
    program: Program | None = None
    debug_buffer: bytes | memoryview | None = None


class Refusal(NamedTuple):
    """A file that was refused: which, why (machine-readable), where in it, and in words."""

    source: str
    sha256: str | None
    reason: str
    byte_offset: int | None
    detail: str


class Loader:
    """The single writer of a store; remembers the ids it has given out."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Read the ids in use."""
        self._connection = connection
        highest = "SELECT coalesce(max(dump_id), 0) FROM dumps"
        ((self._last_dump,),) = connection.execute(highest).fetchall()
        self._devices = Names(
            connection, "devices", ("name", "pool", "os", "os_version", "arch", "soc")
        )
        self._models = Names(connection, "models", ("name", "backend", "quantization"))
        self._builds = Builds(connection)
        self._known_signatures = _known_signatures(connection)
        self._programs = Programs(connection)
        self._logged = LoggedData(connection)

    def load(
        self, dumps: Sequence[NewDump], decoded: DecodedBatch, refusals: Sequence[Refusal]
    ) -> int:
        """Commit a batch.

        Args:
            dumps: The dumps that were decoded, by ``dump_index``; refused ones are left out.
            decoded: Their tables.
            refusals: Files to record as refused; each is recorded once.

        Returns:
            Dumps committed.
        """
        index = decoded.tables["dumps"]["dump_index"].to_numpy()
        ids = np.zeros(len(dumps), np.int32)
        ids[index] = self._last_dump + 1 + np.arange(len(index))
        groups = group_events(decoded.tables["events"])
        resolution = delegate_resolution(groups, _delegated(decoded), len(dumps))
        with transaction(self._connection):
            self._insert_content(decoded, ids, dumps)
            insert_rows(self._connection, "event_stats", summarise_events(groups, ids))
            self._insert_dumps(dumps, decoded, ids, resolution)
            self._programs.trace([int(ids[i]) for i in index.tolist() if dumps[i].program])
            self.record(refusals)
        self._last_dump += len(index)
        return len(index)

    def load_stream(self, dump: NewDump, parts: Iterable[DecodedBatch]) -> int:
        """Commit one dump that is decoded in parts.

        Returns:
            Profile events in it.

        Raises:
            DumpError: The dump is malformed, as one of the parts shows; nothing of it is kept.
        """
        ids = np.array([self._last_dump + 1], np.int32)
        n_events = 0
        try:
            with transaction(self._connection):
                for part in parts:
                    self._insert_content(part, ids, [dump])
                    n_events += part.tables["events"].num_rows
                delegated = _delegated(part)
                steps = []
                for groups in stored_groups(self._connection, int(ids[0])):
                    insert_rows(self._connection, "event_stats", summarise_events(groups, ids))
                    if delegated.intersection(groups.signature.tolist()):
                        steps.append(delegate_resolution(groups, delegated, 1))
                resolution = np.min(steps or [np.ones(1, np.int64)], axis=0)
                self._insert_dumps([dump], part, ids, resolution)
                self._programs.trace(ids.tolist() if dump.program else [])
        except DumpError:
            self._known_signatures = _known_signatures(self._connection)
            raise
        self._last_dump += 1
        return n_events

    def attach(self, dumps: Sequence[NewDump]) -> None:
        """Give dumps that the store has already the ETRecords and debug buffers they came with."""
        accompanied = [dump for dump in dumps if dump.program or dump.debug_buffer is not None]
        if not accompanied:
            return
        with transaction(self._connection):
            changed: list[int] = []
            for dump in accompanied:
                if dump.program is not None:
                    found = self._connection.execute(
                        "UPDATE dumps SET etrecord_id = $id WHERE sha256 = $sha256 "
                        "AND etrecord_id IS DISTINCT FROM $id RETURNING dump_id",
                        {"id": self._programs.add(dump.program), "sha256": dump.sha256},
                    )
                    changed += [row[0] for row in found.fetchall()]
                if dump.debug_buffer is not None:
                    self._logged.attach(dump.sha256, dump.debug_buffer)
            self._programs.trace(changed)

    def _insert_content(
        self, decoded: DecodedBatch, ids: NDArray[np.int32], dumps: Sequence[NewDump]
    ) -> None:
        """All rows but those of dumps and statistics; `ids` is the id of each dump."""
        for name in _PER_DUMP:
            insert_rows(self._connection, name, number_dumps(decoded.tables[name], ids))
        buffers = {i: d.debug_buffer for i, d in enumerate(dumps) if d.debug_buffer is not None}
        self._logged.insert_values(decoded.tables["debug_values"], ids, buffers)
        metadata = parse_metadata(
            decoded.tables["delegate_metadata"], lambda i: dumps[i].manifest.model.backend
        )
        insert_rows(self._connection, "delegate_metadata", number_dumps(metadata, ids))
        for name, known in self._known_signatures.items():
            insert_rows(self._connection, name, known.without(decoded.tables[name]))

    def _insert_dumps(
        self,
        dumps: Sequence[NewDump],
        decoded: DecodedBatch,
        ids: NDArray[np.int32],
        resolution: NDArray[np.int64],
    ) -> None:
        index = decoded.tables["dumps"]["dump_index"].to_numpy()
        if not len(index):
            return
        rows = self._dump_rows([dumps[i] for i in index.tolist()], decoded)
        rows["dump_id"] = ids[index]
        rows["delegate_resolution_ticks"] = resolution[index]
        insert_rows(self._connection, "dumps", _table(rows, DUMPS))

    def record(self, refusals: Sequence[Refusal]) -> None:
        """Record refusals that are not on record yet."""
        rows = [{**refusal._asdict(), "refused_at": datetime.now(UTC)} for refusal in refusals]
        insert_rows(
            self._connection,
            "ingest_errors",
            pa.Table.from_pylist(rows, schema=INGEST_ERRORS),
            "WHERE (source, coalesce(sha256, ''), reason, detail) NOT IN "
            "(SELECT (source, coalesce(sha256, ''), reason, detail) FROM ingest_errors)",
        )

    def _dump_rows(self, dumps: Sequence[NewDump], decoded: DecodedBatch) -> dict[str, object]:
        # Dumps of a folder often share their manifest: its facts are worked out once.
        facts = {id(dump.manifest): dump.manifest for dump in dumps}
        known = {key: self._manifest_facts(manifest) for key, manifest in facts.items()}
        rows = [known[id(dump.manifest)] for dump in dumps]
        content = decoded.tables["dumps"]
        return {
            **{name: content[name] for name in content.column_names[1:]},
            "sha256": [dump.sha256 for dump in dumps],
            "source": [dump.source for dump in dumps],
            "ingested_at": [datetime.now(UTC)] * len(dumps),
            "etrecord_id": [d.program and self._programs.add(d.program) for d in dumps],
            "debug_buffer_sha256": [
                None if d.debug_buffer is None else hashlib.sha256(d.debug_buffer).hexdigest()
                for d in dumps
            ],
            **{name: [row[name] for row in rows] for name in rows[0]},
        }

    def _manifest_facts(self, manifest: Manifest) -> dict[str, object]:
        """Columns of dumps that the manifest alone determines."""
        clock = manifest.clock
        return {
            "device_id": self._devices.id_of(manifest.device),
            "build_id": self._builds.id_of(manifest.build),
            "model_id": self._models.id_of(manifest.model),
            "captured_at": manifest.captured_at,
            "tick_unit": clock.unit,
            "ns_per_tick": clock.ns_per_tick,
            "delegate_ns_per_tick": clock.delegate_ns_per_tick(manifest.model.backend),
            "manifest": manifest.canonical_json(),
        }


class _Known:
    """Ids of the rows that a table of signatures has."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        text = f"SELECT {table[:-1]}_id FROM {table}"  # noqa: S608
        self._ids = {row[0] for row in connection.execute(text).fetchall()}

    def without(self, rows: pa.Table) -> pa.Table:
        """The rows that are new, which are known from now on."""
        ids = rows.column(0).to_pylist()
        new = [i for i, id_ in enumerate(ids) if id_ not in self._ids]
        self._ids.update(ids)
        return rows.take(new) if new else rows.slice(0, 0)


def _known_signatures(connection: duckdb.DuckDBPyConnection) -> dict[str, _Known]:
    return {name: _Known(connection, name) for name in ("run_signatures", "event_signatures")}


def _delegated(decoded: DecodedBatch) -> set[int]:
    """Ids of the event signatures that carry a delegate id."""
    signatures = decoded.tables["event_signatures"]
    is_delegated = pc.equal(signatures["kind"], "delegate_op")
    return set(signatures.filter(is_delegated)["event_signature_id"].to_pylist())


def _table(columns: Mapping[str, object], schema: pa.Schema) -> pa.Table:
    arrays = [
        column if isinstance(column, pa.ChunkedArray) else pa.array(column, field.type)
        for field in schema
        for column in [columns[field.name]]
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
