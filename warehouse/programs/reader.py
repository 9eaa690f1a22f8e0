"""ETRecords that dumps share, read once and stored once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.dump import Companion
from tracehouse.ingest.errors import IngestError
from tracehouse.ingest.etrecord.record import build_etrecord_tables, decode_etrecord, etrecord_id
from tracehouse.warehouse.engine.connection import insert_rows
from tracehouse.warehouse.programs.event_origins import trace_program

_PROGRAMS_KEPT = 8
_BYTES_KEPT = 256 << 20  # size of the cached ETRecords' tables

_Key = tuple[Companion, str | None]  # an ETRecord, and the method stated for a dump


class Program(NamedTuple):
    """An ETRecord as it is stored.

    Attributes:
        id: Its id.
        source: Name of the file.
        sha256: SHA-256 of the file.
        tables: Its tables in the store.
        data: The bytes.
        trace: Returns parts of the tables event_origins and event_modules for rows of
            untraced_events.sql.
    """

    id: int
    source: str
    sha256: str
    tables: Mapping[str, pa.Table]
    data: Any
    trace: Callable[[pa.Table], Iterator[Mapping[str, pa.Table]]]

    @property
    def byte_count(self) -> int:
        """Bytes of the tables."""
        return sum(table.nbytes for table in self.tables.values())


ReadProgram = Callable[[Companion, str | None, Mapping[int, Program]], Program]


def read_program(file: Companion, method: str | None, known: Mapping[int, Program]) -> Program:
    """The ETRecord in a file, restricted to a method if given; one of the known ones by its id.

    Errors of the file are passed on.

    Raises:
        EtRecordError: It is malformed, exceeds a limit or does not have the method.
    """
    data = file.read()
    record = decode_etrecord(data, file.name).of_method(method)
    id_ = etrecord_id(record)
    if id_ in known:
        return known[id_]
    tables = build_etrecord_tables(record)
    return Program(id_, file.name, record.sha256, tables, data, partial(trace_program, record))


class ProgramReader:
    """Reads ETRecords, and caches the last few (fewer if they are large)."""

    def __init__(self, read: ReadProgram = read_program) -> None:
        """Read files by a function, by default in this process."""
        self._read_program = read
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
        try:
            return self._read_program(*key, {one.id: one for one in self._recent.values()})
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
