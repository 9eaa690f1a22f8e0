"""Stores on disk: files written for them, ingested, and read back completely."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from tests.support.corpus import dump_names, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.store_template import copy_new_store
from tracehouse import Warehouse
from tracehouse.ingest.etrecord.record import read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.event_blocks.blocks import EventBlock
from tracehouse.queries.event_blocks.build import build_event_blocks, decode_tables
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.warehouse.engine.connection import open_reader, open_writer, use_database
from tracehouse.warehouse.engine.migrations import FIRST_SCHEMA
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.load.summary import IngestSummary
from tracehouse.warehouse.programs.correlation import Correlation

MANIFEST = {"device": "pixel8", "build": "b1", "model": "mv2"}
COUNTERS = [
    {"name": "energy", "unit": "mJ", "value": 812.5},
    {"name": "cycles", "values": [None, 5000, 7]},
]


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def ingest(store: Path, *paths: Path, **options: Any) -> IngestSummary:
    """Ingest files into a store; a new one is a copy, which takes less time than making it."""
    copy_new_store(store)
    return make_and_ingest(store, *paths, **options)


def make_and_ingest(store: Path, *paths: Path, **options: Any) -> IngestSummary:
    """Ingest files into a store, which is created if it does not exist."""
    with Warehouse.open(store, create=True) as warehouse:
        return warehouse.ingest(paths, manifest=options.pop("manifest", MANIFEST), **options)


def open_now(store: Path, *, read_only: bool = False) -> Warehouse:
    """A store whose files are open: for reading, or for writing, which locks it."""
    if not read_only:
        return Warehouse.open_to_write(store)
    return Warehouse.open(store, read_only=True).__enter__()


@contextmanager
def writing(store: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that writes a store, which is created if it does not exist."""
    copy_new_store(store)
    with open_writer(store / FILE_NAME) as connection:
        use_database(connection)
        yield connection


def contents(store: Path) -> dict[str, list[tuple[str, ...]]]:
    """Every row of every table that dumps are in, without the times of ingestion.

    The digests of `dumps` and `view_rows_state` contain these times, too.
    """
    return _rows(
        store,
        "NOT regexp_matches(table_name, '^(schema|archived?|view)_')",
        "COLUMNS(lambda c: c NOT IN ('ingested_at', 'refused_at', 'dumps'))",
    )


def everything(store: Path) -> dict[str, list[tuple[str, ...]]]:
    """Every row of every table, times of ingestion and the archive's own tables too."""
    return _rows(store, "table_name <> 'schema_migrations'", "COLUMNS(*)")


def _rows(store: Path, tables: str, columns: str) -> dict[str, list[tuple[str, ...]]]:
    """Rows as texts, in their order, by table: `Warehouse.sql` would look at each statement."""
    with open_reader(store / FILE_NAME) as connection:
        use_database(connection)
        names = connection.execute(
            f"SELECT table_name FROM duckdb_tables() WHERE {tables}"  # noqa: S608
        ).fetchall()
        return {
            name: sorted(
                connection.execute(
                    f"SELECT coalesce({columns}::VARCHAR, 'None') FROM {name}"  # noqa: S608
                ).fetchall()
            )
            for (name,) in names
        }


def write_corpus(folder: Path) -> dict[str, tuple[bytes, str]]:
    """Write the dumps of the corpus, each next to its own ETRecord, or else another one.

    Returns:
        By name of the dump in the folder, its bytes and the name of its ETRecord.
    """
    records = [path.stem for path in sorted(MODELS.glob("*.etrecord"))]
    written: dict[str, tuple[bytes, str]] = {}
    known: set[bytes] = set()
    for number, name in enumerate(dump_names("real", "capi", "synthetic")):
        data, file = read_dump(name), name.replace("/", "-")
        own = [record for record in records if name.startswith(f"real/{record}")]
        if data in known:
            continue
        known.add(data)
        record = own[-1] if own else records[number % len(records)]
        write(folder / f"{file}.etdp", data)
        shutil.copy(MODELS / f"{record}.etrecord", folder / f"{file}.etrecord")
        written[file] = data, record
    return written


@cache
def read_correlation(record: str) -> Correlation:
    """An ETRecord of the corpus, ready to correlate."""
    return Correlation(read_etrecord(Source(str(MODELS / f"{record}.etrecord"))))


def located_blocks(data: bytes, record: str) -> list[EventBlock]:
    """The event blocks of a dump with an ETRecord of the corpus, in nanoseconds."""
    return build_event_blocks(
        decode_tables(data, "dump"),
        correlation=read_correlation(record),
        target_time_scale=TimeScale.NS,
    )


def make_old(file: Path) -> None:
    """Make a store's file look as if a development version of tracehouse had written it."""
    file.chmod(0o600)
    with open_writer(file) as connection:
        use_database(connection)
        connection.execute("UPDATE schema_migrations SET number = ?", [FIRST_SCHEMA - 1])
        connection.execute("ALTER TABLE event_signatures DROP COLUMN unit")
