from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb

from tests.support.corpus import read_dump
from tests.support.stores import MANIFEST, ingest, write, writing
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.resolver import Manifest
from tracehouse.warehouse.load.batches import Batch
from tracehouse.warehouse.load.content import OWN_DECODER, read_dumps
from tracehouse.warehouse.load.pipeline import Deduplicator
from tracehouse.warehouse.load.stored_dumps import StoredDumps


class Noting:
    """A connection, or its cursor, that notes what it is asked."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, texts: list[str]) -> None:
        self._connection, self._texts = connection, texts

    def cursor(self) -> Noting:
        return Noting(self._connection.cursor(), self._texts)

    def execute(self, text: str, *parameters: object) -> Any:
        self._texts.append(text)
        return self._connection.execute(text, *parameters)

    def close(self) -> None:
        self._connection.close()


def sort(deduplicator: Deduplicator, *dumps: bytes) -> Batch:
    manifest = Manifest.model_validate(MANIFEST)
    incoming = [Dump.of_bytes(f"{i}.etdp", data, manifest) for i, data in enumerate(dumps)]
    return deduplicator.sort(incoming, read_dumps(incoming))


def test_the_dumps_of_a_store_are_looked_through_once_and_new_ones_are_not_looked_for(
    tmp_path: Path,
) -> None:
    stored = read_dump("real/load_only")
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", stored))
    texts: list[str] = []
    with writing(tmp_path / "store") as connection:
        noting: Any = Noting(connection, texts)
        index = StoredDumps(noting)
        deduplicator = Deduplicator(index, OWN_DECODER)
        for new in (b"new", b"newer"):
            assert [dump.data for dump in sort(deduplicator, new).dumps] == [new]
        assert sum("FROM dumps" in text for text in texts) == 1
        again = sort(deduplicator, b"newest", stored)
        assert [dump.data for dump in again.dumps] == [b"newest"]
        assert [one.sha256 for one in again.duplicates] == [hashlib.sha256(stored).hexdigest()]
        assert sum("FROM dumps" in text for text in texts) == 2
        index.close()
