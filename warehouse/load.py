"""Decoded dumps into the store: one transaction per batch, all of it or nothing."""

from __future__ import annotations

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
from ingest.manifest import Build, Device, Manifest, Model
from ingest.schemas import DUMPS, INGEST_ERRORS, STORED
from warehouse.connection import transaction
from warehouse.rollups import delegate_resolution, group_events, summarise_events
from warehouse.stored_events import stored_groups

_PER_DUMP = ("runs", "events", "allocators", "allocations", "debug_values", "delegate_metadata")


class NewDump(NamedTuple):
    """What the store keeps of a dump besides its content."""

    source: str
    sha256: str
    manifest: Manifest


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
        self._devices = _Names(
            connection, "devices", ("name", "pool", "os", "os_version", "arch", "soc")
        )
        self._models = _Names(connection, "models", ("name", "backend", "quantization"))
        self._builds = _Builds(connection)
        self._known_signatures = _known_signatures(connection)

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
            self._insert_content(decoded, ids)
            self._insert("event_stats", summarise_events(groups, ids))
            self._insert_dumps(dumps, decoded, ids, resolution)
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
                    self._insert_content(part, ids)
                    n_events += part.tables["events"].num_rows
                delegated = _delegated(part)
                steps = []
                for groups in stored_groups(self._connection, int(ids[0])):
                    self._insert("event_stats", summarise_events(groups, ids))
                    if delegated.intersection(groups.signature.tolist()):
                        steps.append(delegate_resolution(groups, delegated, 1))
                resolution = np.min(steps or [np.ones(1, np.int64)], axis=0)
                self._insert_dumps([dump], part, ids, resolution)
        except DumpError:
            self._known_signatures = _known_signatures(self._connection)
            raise
        self._last_dump += 1
        return n_events

    def _insert_content(self, decoded: DecodedBatch, ids: NDArray[np.int32]) -> None:
        """All rows but those of dumps and statistics; `ids` is the id of each dump."""
        for name in _PER_DUMP:
            self._insert(name, _number(decoded.tables[name], ids, name))
        for name, known in self._known_signatures.items():
            self._insert(name, known.without(decoded.tables[name]))

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
        self._insert("dumps", _table(rows, DUMPS))

    def record(self, refusals: Sequence[Refusal]) -> None:
        """Record refusals that are not on record yet."""
        rows = [{**refusal._asdict(), "refused_at": datetime.now(UTC)} for refusal in refusals]
        self._insert(
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

    def _insert(self, name: str, rows: pa.Table, where: str = "") -> None:
        """Append rows; `where` is our own text that leaves out rows known already."""
        if not rows.num_rows:
            return
        self._connection.register("new_rows", rows)
        self._connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM new_rows {where}")  # noqa: S608
        self._connection.unregister("new_rows")


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


class _Names:
    """Ids of named things that are the same only if all their columns are."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, table: str, columns: tuple[str, ...]
    ) -> None:
        self._connection, self._table, self._columns = connection, table, columns
        text = f"SELECT {', '.join(columns)} FROM {table} ORDER BY {table[:-1]}_id"  # noqa: S608
        rows = connection.execute(text).fetchall()
        self._ids = {row: number for number, row in enumerate(rows, 1)}

    def id_of(self, thing: Device | Model) -> int:
        """The thing's id, given out now if it is new."""
        key = tuple(getattr(thing, column) for column in self._columns)
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = len(self._ids) + 1
            marks = ", ".join("?" * (len(key) + 1))
            self._connection.execute(f"INSERT INTO {self._table} VALUES ({marks})", [known, *key])  # noqa: S608
        return known


class _Builds:
    """Ids of builds, which go by name alone: what dumps state about one is put together."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        rows = connection.execute("SELECT name, build_id FROM builds").fetchall()
        self._ids: dict[str, int] = dict(rows)
        self._stated: set[Build] = set()

    def id_of(self, build: Build) -> int:
        """The build's id, given out now if it is new; missing facts are filled in."""
        if build.id not in self._ids:
            self._ids[build.id] = len(self._ids) + 1
            text = "INSERT INTO builds (build_id, name) VALUES (?, ?)"
            self._connection.execute(text, [self._ids[build.id], build.id])
        if build not in self._stated:
            self._stated.add(build)
            self._connection.execute(
                "UPDATE builds SET commit = coalesce(commit, $commit), "
                "branch = coalesce(branch, $branch), ordinal = coalesce(ordinal, $ordinal), "
                "committed_at = least(committed_at, $committed_at) WHERE name = $id",
                build.model_dump(),
            )
        return self._ids[build.id]


def _number(table: pa.Table, ids: NDArray[np.int32], name: str) -> pa.Table:
    """A decoded table with `dump_id` for `dump_index`."""
    column = pa.array(ids[table["dump_index"].to_numpy()])
    return pa.Table.from_arrays([column, *table.columns[1:]], schema=STORED[name])


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
