"""Decoded dumps into the store: one transaction per batch, all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import duckdb
import numpy as np
import pyarrow as pa

from ingest import DecodedBatch
from ingest.schemas.dumps import INGEST_ERRORS
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import registered, transaction
from warehouse.loading.dump_rows import DumpRows
from warehouse.loading.records import NewDump, Refusal
from warehouse.loading.stored_events import summarise_stored
from warehouse.statistics.rollups import Statistics

_CONFLICTS = "SELECT count(*) FROM ingest_errors WHERE reason = 'conflict'"


class Loader:
    """The single writer of a store."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Take the connection that writes."""
        self._connection = connection
        self._rows: DumpRows | None = None

    def load(
        self,
        dumps: Sequence[NewDump],
        decoded: DecodedBatch,
        statistics: Statistics,
        refusals: Sequence[Refusal],
    ) -> int:
        """Commit a batch.

        Args:
            dumps: The dumps that were decoded, by ``dump_index``; refused ones are left out.
            decoded: Their tables.
            statistics: Those of their events.
            refusals: Files to record as refused; each is recorded once.

        Returns:
            Dumps committed.
        """
        index = decoded.tables["dumps"]["dump_index"].to_numpy()
        ids = np.zeros(len(dumps), np.int32)
        with self._transaction() as rows:
            ids[index] = rows.take_ids(len(index))
            rows.insert_content(decoded, ids, dumps)
            rows.insert_statistics(statistics, ids)
            rows.insert_dumps(dumps, decoded, ids, statistics.resolution)
            self._record(refusals)
        return len(index)

    def load_stream(self, dump: NewDump, parts: Iterable[DecodedBatch]) -> int:
        """Commit one dump that is decoded in parts.

        Signatures may come in any part, again or not, and the row of dumps comes in the last.
        Nothing of it is kept if one of them shows that it is malformed (DumpError).

        Returns:
            Profile events in it.
        """
        n_events = 0
        with self._transaction() as rows:
            ids = rows.take_ids(1)
            for part in parts:
                rows.insert_content(part, ids, [dump])
                n_events += part.tables["events"].num_rows
            resolution = np.ones(1, np.int64)
            for statistics in summarise_stored(self._connection, int(ids[0]), part):
                rows.insert_statistics(statistics, ids)
                resolution = statistics.resolution
            rows.insert_dumps([dump], part, ids, resolution)
        return n_events

    def record(self, refusals: Sequence[Refusal]) -> None:
        """Put files on record as refused, each once."""
        if refusals:
            with self._transaction():
                self._record(refusals)

    def attach(self, dumps: Sequence[NewDump]) -> None:
        """Give dumps that the store has already the ETRecords and debug buffers they came with."""
        if any(dump.program or dump.debug_buffer is not None for dump in dumps):
            with self._transaction() as rows:
                rows.attach_companions(dumps)

    def settle_conflicts(self, dumps: Sequence[NewDump]) -> None:
        """Put on record that files now agree with the store on the manifest of their bytes."""
        rows = [{"source": dump.source, "sha256": dump.sha256} for dump in dumps]
        if not rows or not self._has_conflicts():
            return
        with (
            self._transaction(),
            registered(self._connection, "agreed", pa.Table.from_pylist(rows)),
        ):
            self._connection.execute(read_statement("settle_conflicts"))

    def _has_conflicts(self) -> bool:
        ((count,),) = self._connection.execute(_CONFLICTS).fetchall()
        return bool(count)

    @contextmanager
    def _transaction(self) -> Iterator[DumpRows]:
        """All of the body's writes, or none and nothing remembered of them."""
        rows, self._rows = self._rows or DumpRows(self._connection), None
        with transaction(self._connection):
            yield rows
        self._rows = rows

    def _record(self, refusals: Sequence[Refusal]) -> None:
        """Record refusals that are not on record yet."""
        rows = [{**refusal._asdict(), "refused_at": datetime.now(UTC)} for refusal in refusals]
        with registered(
            self._connection, "refused", pa.Table.from_pylist(rows, schema=INGEST_ERRORS)
        ):
            self._connection.execute(read_statement("record_refusals"))
