"""ETRecords that dumps share, read once and stored once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ingest.dump import Companion
from ingest.errors import IngestError
from ingest.etrecord.record import EtRecord, decode_etrecord
from ingest.etrecord.tables import build_etrecord_tables, etrecord_id
from warehouse.engine.connection import insert_rows

_PROGRAMS_KEPT = 8
_BYTES_KEPT = 256 << 20  # of the cached ETRecords' tables

_Key = tuple[Companion, str | None]  # an ETRecord, and the method stated for a dump


class Program(NamedTuple):
    """An ETRecord with its tables in the store and its bytes."""

    record: EtRecord
    tables: dict[str, pa.Table]
    data: Any

    @property
    def id(self) -> int:
        """The id."""
        return etrecord_id(self.record)

    @property
    def byte_count(self) -> int:
        """Bytes of the tables."""
        return sum(table.nbytes for table in self.tables.values())


class ProgramReader:
    """Reads ETRecords, and caches the last few (fewer if they are large)."""

    def __init__(self) -> None:
        self._recent: dict[_Key, Program] = {}
        self._refused: set[_Key] = set()

    def read(self, file: Companion, method: str | None = None) -> Program | None:
        """The ETRecord in a file, restricted to a method if given.

        An ETRecord that is unreadable or does not have the method raises IngestError in the first
        call, and gives None in later calls.
        """
        key = file, method
        if key in self._refused:
            return None
        if key not in self._recent:
            self._recent[key] = self._read(key)
            while len(self._recent) > 1 and self._is_full():
                del self._recent[next(iter(self._recent))]
        return self._recent[key]

    def _is_full(self) -> bool:
        kept = {id(program): program.byte_count for program in self._recent.values()}
        return len(self._recent) > _PROGRAMS_KEPT or sum(kept.values()) > _BYTES_KEPT

    def _read(self, key: _Key) -> Program:
        file, method = key
        try:
            data = file.read()
            record = decode_etrecord(data, file.name).of_method(method)
            for known in self._recent.values():
                if known.id == etrecord_id(record):
                    return known
            return Program(record, build_etrecord_tables(record), data)
        except IngestError:
            self._refused.add(key)
            raise


class Programs:
    """The ETRecords of a store."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        rows = connection.execute("SELECT etrecord_id FROM etrecords").fetchall()
        self._known = {row[0] for row in rows}

    def add(self, programs: Iterable[Program]) -> None:
        """Store new ETRecords."""
        new = {program.id: program for program in programs if program.id not in self._known}
        if new:
            for name in next(iter(new.values())).tables:
                tables = [program.tables[name] for program in new.values()]
                insert_rows(self._connection, name, pa.concat_tables(tables))
            self._known.update(new)
