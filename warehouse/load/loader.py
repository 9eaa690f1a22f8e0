"""Writes decoded dumps into the store, each batch in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.decode import DecodedBatch
from tracehouse.ingest.dump import NOW, Refusal
from tracehouse.ingest.manifest.fields import FullShape
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.schemas.dumps import INGEST_ERRORS
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import (
    COMPANIONS,
    DEBUG_BUFFER,
    DROPPED,
    DUMP,
    ETRECORD,
    REFUSED,
    SETTLED,
    Entry,
    Ids,
)
from tracehouse.warehouse.archive.history import History, record_entries
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import register_temporarily
from tracehouse.warehouse.load.content import Content, NewDump, number_dumps
from tracehouse.warehouse.load.dump_rows import DumpRows, Facts
from tracehouse.warehouse.load.logged_data import store_ahead, store_ahead_of_dumps
from tracehouse.warehouse.load.stored_events import summarise_stored

_CONFLICTS = "SELECT 1 FROM ingest_errors WHERE reason = 'conflict' LIMIT 1"

_KINDS = {"program": ETRECORD, "debug_buffer": DEBUG_BUFFER}


class Loader:
    """The single writer of a store."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        archive: Archive | None = None,
        around: Callable[[Sequence[NewDump]], AbstractContextManager[object]] = nullcontext,
        *,
        indexed: int = 0,
    ) -> None:
        """Use the writing connection and the archive, if any, which is sealed before commits.

        `around` is entered in each transaction before its dumps are inserted, and left before the
        commit. Dumps up to the id `indexed` are known not to be loaded again.
        """
        self._connection, self._archive, self._around = connection, archive, around
        self._indexed = indexed
        self._rows: DumpRows | None = None

    def load(self, contents: Sequence[Content], refusals: Sequence[Refusal]) -> Counter[str | None]:
        """Commit decoded dumps, without the malformed ones, and record refusals, each once.

        Returns the number of dumps committed, by the pool of their device.
        """
        for one in contents:
            buffers = {i: file for i, dump in enumerate(one.dumps) if (file := dump.debug_buffer)}
            store_ahead(self._connection, one.decoded.tables["debug_values"], buffers)
        with self._transaction() as (rows, history, now):
            good = [_taken(one.dumps[i], now) for one in contents for i in one.good.tolist()]
            facts = rows.identify(good)
            history.add(dump_entries(good, facts, history))
            self._record(refusals, history, now)
            history.end()
            ids = [row["dump_id"] for row in facts]
            indexed = list(_ids_by_index(contents, ids))
            decoded = number_dumps([one.decoded.tables for one in contents], indexed)
            with self._around(good):
                rows.insert_content(decoded, dict(zip(ids, good, strict=True)))
                statistics = [one.statistics for one in contents]
                rows.insert_statistics(number_dumps([one.tables for one in statistics], indexed))
                resolution = [one.statistics.resolution[one.good] for one in contents]
                rows.insert_dumps(good, facts, decoded["dumps"], np.concatenate(resolution))
        return Counter(dump.manifest.device.pool for dump in good)

    def load_stream(self, dump: NewDump, parts: Iterable[DecodedBatch]) -> int:
        """Commit one dump that is decoded in parts.

        Any part may repeat signatures, and the last one has the row of dumps. A malformed part
        raises DumpError, and the whole dump is discarded.

        Returns:
            Number of profile events in the dump.
        """
        n_events = 0
        with self._transaction() as (rows, history, now):
            good = [_taken(dump, now)]
            facts = rows.identify(good)
            history.add(dump_entries(good, facts, history))
            history.end()
            id_ = facts[0]["dump_id"]
            indexed = [np.array([id_], np.int32)]
            with self._around(good):
                for part in parts:
                    rows.insert_content(number_dumps([part.tables], indexed), {id_: good[0]})
                    n_events += part.tables["events"].num_rows
                for statistics in summarise_stored(self._connection, id_, part):
                    rows.insert_statistics(number_dumps([statistics.tables], indexed))
                rows.insert_dumps(good, facts, part.tables["dumps"], statistics.resolution)
        return n_events

    def record(self, refusals: Sequence[Refusal]) -> None:
        """Record refusals unless recorded already."""
        if refusals:
            with self._transaction() as (_, history, now):
                self._record(refusals, history, now)

    def attach(self, dumps: Sequence[NewDump]) -> None:
        """Attach the ETRecords and debug buffers of dumps that are stored already."""
        buffers = {dump.sha256: dump.debug_buffer for dump in dumps if dump.debug_buffer}
        if buffers or any(dump.program for dump in dumps):
            store_ahead_of_dumps(self._connection, buffers)
            with self._transaction() as (rows, history, now):
                attached = rows.attach_companions(dumps)
                history.add(attachment_entries(attached, history, now))

    def file_stored(self, dumps: Sequence[NewDump]) -> None:
        """Put stored dumps into the archive unless it has them.

        A dump whose stored companion is neither in the archive nor given again stays out of it,
        as the archive would lose the companion.
        """
        if not dumps or self._archive is None:
            return
        by_hash = {dump.sha256: dump for dump in dumps}
        with self._transaction() as (_, history, _):
            missing = history.missing(by_hash)
            text, hashes = read_statement("stored_dumps"), {"hashes": list(missing)}
            rows = self._connection.sql(text, params=hashes).to_arrow_table().to_pylist()
            companions = [{row["etrecord_sha256"], row["debug_buffer_sha256"]} for row in rows]
            lost = history.missing({*chain(*companions)} - {None})
            known, facts = [], []
            for row, own in zip(rows, companions, strict=True):
                dump = by_hash[row["sha256"]]
                given = {file.sha256 for file in dump.companions().values()}
                if not own & (lost - given):
                    facts.append(row)
                    known.append(dump._replace(source=row["source"], taken_at=row["ingested_at"]))
            history.add(dump_entries(known, facts, history))
            dropped = (row for row in facts if row["dropped_at"] is not None)
            history.add(
                [Entry(DROPPED, r["dropped_at"], r["source"], r["sha256"]) for r in dropped]
            )

    def settle_conflicts(self, files: Sequence[tuple[str, str]]) -> None:
        """Record that the manifests of these files no longer conflict with those in the store."""
        if not files or not self._connection.execute(_CONFLICTS).fetchone():
            return
        rows = [{"source": source, "sha256": sha256} for source, sha256 in files]
        with (
            self._transaction() as (_, history, now),
            register_temporarily(self._connection, "agreed", pa.Table.from_pylist(rows)),
        ):
            settled = self._connection.execute(read_statement("settle_conflicts")).fetchall()
            history.add([Entry(SETTLED, now, source, sha256) for source, sha256 in settled])

    @contextmanager
    def _transaction(self) -> Iterator[tuple[DumpRows, History, datetime]]:
        """A transaction; ids assigned in a failed one are discarded."""
        rows, self._rows = self._rows or DumpRows(self._connection, self._indexed), None
        with record_entries(self._connection, self._archive) as history:
            yield rows, history, datetime.now(UTC)
        self._rows = rows

    def _record(self, refusals: Sequence[Refusal], history: History, now: datetime) -> None:
        if not refusals:
            return
        timed = [one._replace(refused_at=now) if one.refused_at is NOW else one for one in refusals]
        distinct: dict[tuple[str | None, ...], Refusal] = {}
        for one in timed:
            distinct.setdefault((one.source, one.sha256, one.reason, one.detail), one)
        timed = list(distinct.values())
        rows = pa.Table.from_pylist([one._asdict() for one in timed], schema=INGEST_ERRORS)
        with register_temporarily(self._connection, "refused", rows):
            new = set(self._connection.execute(read_statement("record_refusals")).fetchall())
        history.add(refusal_entries([one for one in timed if one[:5] in new], history))


def _ids_by_index(contents: Sequence[Content], ids: Sequence[int]) -> Iterator[NDArray[np.int32]]:
    """The ids of good dumps as arrays by ``dump_index``, 0 for a malformed dump."""
    rest = iter(ids)
    for content in contents:
        indexed = np.zeros(len(content.dumps), np.int32)
        indexed[content.good] = list(islice(rest, len(content.good)))
        yield indexed


def _taken(dump: NewDump, now: datetime) -> NewDump:
    return dump._replace(taken_at=now) if dump.taken_at is NOW else dump


def dump_entries(
    dumps: Sequence[NewDump], facts: Sequence[Facts], history: History
) -> Iterator[Entry]:
    """Entries of new dumps, after the entries of their companions."""
    yield from _companion_entries(dumps, history)
    for dump, row in zip(dumps, facts, strict=True):
        yield Entry(
            DUMP,
            dump.taken_at,
            dump.source,
            dump.sha256,
            Ids(row["dump_id"], row["device_id"], row["build_id"], row["model_id"]),
            row["manifest"],
            row.get("etrecord_sha256") or (dump.program and dump.program.sha256),
            row.get("debug_buffer_sha256") or (dump.debug_buffer and dump.debug_buffer.sha256),
            data=dump.data,
        )


def attachment_entries(
    dumps: Sequence[NewDump], history: History, now: datetime
) -> Iterator[Entry]:
    """Entries of companions that came later than their dumps, and of the attachments."""
    yield from _companion_entries([dump._replace(taken_at=now) for dump in dumps], history)
    for dump in dumps:
        yield Entry(
            COMPANIONS,
            now,
            dump.source,
            dump.sha256,
            manifest=dump.manifest.canonical_json(),
            etrecord_sha256=dump.program and dump.program.sha256,
            debug_buffer_sha256=dump.debug_buffer and dump.debug_buffer.sha256,
        )


def refusal_entries(refusals: Sequence[Refusal], history: History) -> Iterator[Entry]:
    """Entries of refused files; bytes that the archive holds already are left out."""
    missing = history.missing(one.sha256 for one in refusals if one.sha256)
    for one in refusals:
        data = one.data if one.sha256 in missing else None
        missing.discard(one.sha256 or "")
        yield Entry(
            REFUSED,
            one.refused_at,
            one.source,
            one.sha256,
            manifest=one.manifest,
            reason=one.reason,
            byte_offset=one.byte_offset,
            detail=one.detail,
            data=data,
        )


def refusal_of(entry: Entry) -> Refusal:
    """The refusal in an entry, without the bytes."""
    return Refusal(
        *(entry.name, entry.sha256, str(entry.reason), entry.byte_offset, str(entry.detail)),
        refused_at=entry.recorded_at,
        manifest=entry.manifest,
    )


@lru_cache(maxsize=4096)
def parse_manifest(text: str) -> Manifest:
    """The manifest in an entry, from canonical JSON."""
    return Manifest.model_validate(FullShape(json.loads(text)))


def _companion_entries(dumps: Sequence[NewDump], history: History) -> Iterator[Entry]:
    """Entries of the ETRecords and debug buffers that the archive does not hold yet."""
    files = {
        file.sha256: (_KINDS[name], dump.taken_at, file)
        for dump in dumps
        for name, file in dump.companions().items()
    }
    missing = history.missing(files)
    for sha256, (kind, taken_at, file) in files.items():
        if sha256 in missing:
            yield Entry(kind, taken_at, file.name, sha256, data=file.data)
