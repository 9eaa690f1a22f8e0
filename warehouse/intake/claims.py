"""Which dumps are new: each is told from those that the store has or that came before it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import duckdb
import numpy as np
from numpy.typing import NDArray

from ingest.incoming import Incoming
from warehouse.engine.connection import open_cursor
from warehouse.intake.batches import Batch, Describer, Plan, Seen
from warehouse.intake.content import ReadFile
from warehouse.intake.decoders import Decoder

_KEY_DIGITS = 16  # of a SHA-256, as many as go into 64 bits
_KEYS = "SELECT CAST('0x' || left(sha256, ?) AS UBIGINT) AS key FROM dumps ORDER BY key"
_KNOWN = "SELECT sha256, manifest FROM dumps WHERE sha256 IN (SELECT unnest(?))"
_FILED = "SELECT sha256 FROM archived_files WHERE sha256 IN (SELECT unnest(?))"

Keys = NDArray[np.uint64]


class Claims:
    """Sorts dumps that were read, in order; for one thread, which closes it.

    Nothing of it is shared with those who commit: what they need to know is in the batches.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, decoder: Decoder) -> None:
        """Look at the store through a cursor of its own."""
        self._connection = open_cursor(connection)
        # In order: of dumps to come most are new, and to be told so without a look at all others.
        self._keys: Keys = self._connection.execute(_KEYS, [_KEY_DIGITS]).fetchnumpy()["key"]
        self._describer = Describer(decoder)
        self._manifests: dict[str, str] = {}  # of every dump met so far, by SHA-256
        self._unfiled: set[str] = set()  # dumps of the store that its archive does not hold

    def close(self) -> None:
        """Let go of the store."""
        self._connection.close()

    def claim(self, plan: Plan, read: Sequence[ReadFile]) -> Batch:
        """The dumps of a plan: those to decode, those met before, those that are refused."""
        batch = Batch(len(plan.dumps), sum(len(file.data) for file in read))
        self._meet_stored([file.sha256 for file in read])
        for incoming, file in zip(plan.dumps, read, strict=True):
            self._claim(incoming, file, batch)
        self._describer.try_buffers(batch)
        return batch

    def _claim(self, incoming: Incoming, file: ReadFile, batch: Batch) -> None:
        if file.sha256 is None:
            batch.refuse(incoming.name, file.reason, file.problem)
            return
        dump = self._describer.describe(incoming, file.sha256, file.data, batch)
        if dump is None:
            return
        known = self._manifests.get(dump.sha256)
        if known is not None:
            is_filed = file.sha256 not in self._unfiled
            batch.seen.append(Seen(dump._replace(data=None) if is_filed else dump, known))
            return
        self._manifests[dump.sha256] = dump.manifest.canonical_json()
        batch.dumps.append(dump)

    def _meet_stored(self, hashes: Sequence[str | None]) -> None:
        """Take note of the manifests of dumps that the store has."""
        asked = [sha256 for sha256 in hashes if sha256]
        keys = np.array([int(sha256[:_KEY_DIGITS], 16) for sha256 in asked], np.uint64)
        is_likely = self._keys.searchsorted(keys) < self._keys.searchsorted(keys, side="right")
        if not is_likely.any():
            return
        known = dict(self._connection.execute(_KNOWN, [asked]).fetchall())
        if known:
            filed = self._connection.execute(_FILED, [list(known)]).fetchall()
            self._unfiled.update(known.keys() - {row[0] for row in filed})
        for sha256, manifest in known.items():
            self._manifests[sha256] = sys.intern(manifest)  # many dumps have the same
