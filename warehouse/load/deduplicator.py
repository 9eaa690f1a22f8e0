"""Deduplication: finds dumps that are neither in the store nor earlier in the same ingest."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tracehouse.ingest.dump import Dump, HashedFile, Refusal
from tracehouse.warehouse.load.batches import Batch, ManifestAndCompanions
from tracehouse.warehouse.load.decoders import Decoder
from tracehouse.warehouse.load.stored_dumps import StoredDumps


class Deduplicator:
    """Sorts dumps that were read, in order and in one thread; the batches go to the commit."""

    def __init__(self, stored: StoredDumps, decoder: Decoder) -> None:
        self._stored = stored
        self._reader = ManifestAndCompanions(decoder)
        self._manifests: dict[str, str] = {}  # of every dump so far, by SHA-256
        self._unarchived: set[str] = set()  # stored dumps

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
        data = dump.data if dump.sha256 in self._unarchived else None
        batch.duplicates.append(dump._replace(data=data, known_manifest=known))

    def _look_up(self, hashes: Sequence[str]) -> None:
        """Remember the manifests of dumps that are in the store."""
        known = self._stored.manifests(hashes)
        if known:
            self._unarchived |= self._stored.unarchived(known)
        for sha256, manifest in known.items():
            self._manifests[sha256] = sys.intern(manifest)  # many dumps have the same
