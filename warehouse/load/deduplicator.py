"""Deduplication: finds dumps that are neither in the store nor earlier in the same ingest."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import duckdb

from ingest.dump import Dump, HashedFile, Refusal
from warehouse.engine.connection import open_cursor
from warehouse.load.batches import Batch, Duplicate, ManifestAndCompanions
from warehouse.load.decoders import Decoder
from warehouse.load.known import StoredDumps

_FILED = "SELECT sha256 FROM archived_files WHERE sha256 IN (SELECT unnest(?))"


class Deduplicator:
    """Classifies dumps that were read, in order and in one thread; must be closed.

    It shares no state with the committing thread; batches contain everything for the commit.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, decoder: Decoder) -> None:
        self._connection = open_cursor(connection)
        self._stored = StoredDumps(self._connection)
        self._reader = ManifestAndCompanions(decoder)
        self._manifests: dict[str, str] = {}  # of every dump so far, by SHA-256
        self._unfiled: set[str] = set()  # stored dumps that are not in the archive

    def close(self) -> None:
        """Close the cursor."""
        self._connection.close()

    def sort(self, dumps: Sequence[Dump], read: Sequence[HashedFile | Refusal]) -> Batch:
        """The batch of some dumps: those to decode, duplicates, and refused ones."""
        files = [file for file in read if isinstance(file, HashedFile)]
        batch = Batch(len(dumps), sum(len(file.data) for file in files))
        self._look_up([file.sha256 for file in files])
        for dump, file in zip(dumps, read, strict=True):
            if isinstance(file, Refusal):
                batch.refused.append(file)
            else:
                self._add(dump, file, batch)
        self._reader.try_buffers(batch)
        return batch

    def _add(self, incoming: Dump, file: HashedFile, batch: Batch) -> None:
        dump = self._reader.read(incoming, file, batch)
        if dump is None:
            return
        known = self._manifests.get(dump.sha256)
        if known is None:
            self._manifests[dump.sha256] = dump.manifest.canonical_json()
            batch.dumps.append(dump)
            return
        if dump.sha256 not in self._unfiled:
            dump = dump._replace(data=None)
        batch.duplicates.append(Duplicate(dump, known))

    def _look_up(self, hashes: Sequence[str]) -> None:
        """Remember the manifests of dumps that are in the store."""
        known = self._stored.manifests(hashes)
        if known:
            filed = self._connection.execute(_FILED, [list(known)]).fetchall()
            self._unfiled.update(known.keys() - {row[0] for row in filed})
        for sha256, manifest in known.items():
            self._manifests[sha256] = sys.intern(manifest)  # many dumps have the same
