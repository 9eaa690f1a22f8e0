"""Checks that a store contains the tables of tracehouse and no foreign objects.

A store may come from an untrusted source. Its macros, types or triggers would run with our queries,
a column may be computed by a foreign expression, and a view may have the name of our table.

A seal proves that a store's file is unchanged since tracehouse wrote it, so the checks are skipped.
It is a small file next to the store's file. It holds the inode, size and times of the store's file
at its last checkpoint, and a checksum of DuckDB's headers, which count checkpoints. Any other
change of the file breaks the seal. A store from another system never has a valid seal, because the
receiving system assigns inodes and change times: such a store is checked until it is written to.
"""

from __future__ import annotations

import os
import stat
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path

import duckdb

from tracehouse.ingest.schemas.dumps import STORED
from tracehouse.warehouse.engine.connection import DATABASE
from tracehouse.warehouse.engine.store_file import HEADERS_BYTES, log_of
from tracehouse.warehouse.engine.tables import SQL_TYPES, VIEW_ROWS
from tracehouse.warehouse.errors import StoreError

_CHECKED = STORED | VIEW_ROWS
_FOREIGN_OBJECTS = """
SELECT 'the function ' || function_name FROM duckdb_functions()
WHERE database_name = $database AND NOT internal
UNION ALL SELECT 'the type ' || type_name FROM duckdb_types()
WHERE database_name = $database AND NOT internal
UNION ALL SELECT 'the trigger ' || trigger_name FROM duckdb_triggers()
WHERE database_name = $database
UNION ALL SELECT 'the constraint ' || constraint_text FROM duckdb_constraints()
WHERE database_name = $database AND constraint_type NOT IN ('NOT NULL', 'UNIQUE')
ORDER BY 1
"""
_TABLES = """
SELECT table_name FROM duckdb_tables()
WHERE database_name = current_database() AND schema_name = 'main'
"""
# duckdb_columns() would examine every view, too, including DuckDB's own.
_COLUMNS = "SELECT '{0}', name, type FROM pragma_table_info('main.{0}') WHERE dflt_value IS NULL"

SEAL_SUFFIX = ".seal"

_WRITABLE_BY_OTHERS = 0o022


def check_no_foreign_objects(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Check that the attached database contains nothing that runs by itself.

    The database must not be the current one yet: its functions would replace those of this check.

    Raises:
        StoreError: The database has functions, types, triggers or constraints; stores have none.
    """
    foreign = connection.execute(_FOREIGN_OBJECTS, {"database": DATABASE}).fetchone()
    if foreign:
        raise StoreError(
            store,
            f"contains {foreign[0]}, which tracehouse did not create: do not trust this store; "
            "ingest its dumps into a store of your own",
        )


def check_tables(connection: duckdb.DuckDBPyConnection, store: str) -> None:
    """Check that the current database, of the current schema, contains that schema's tables.

    Raises:
        StoreError: A table is missing, has other columns, or is a view.
    """
    there = {name for (name,) in connection.execute(_TABLES).fetchall()} & _CHECKED.keys()
    columns = " UNION ALL ".join(_COLUMNS.format(name) for name in sorted(there))
    found = set(connection.execute(columns).fetchall()) if there else set()
    wanted = {
        (table, field.name, SQL_TYPES[field.type])
        for table, schema in _CHECKED.items()
        for field in schema
    }
    if not wanted <= found:
        table, column, type_ = min(wanted - found)
        raise StoreError(
            store,
            f"has no table {table} with a column {column} of {type_}: the store was modified; "
            "ingest its dumps into a new store",
        )


def seal_of(file: Path) -> Path:
    """The file with the seal of a database."""
    return file.with_name(file.name + SEAL_SUFFIX)


def seal_file(file: Path, descriptor: int) -> None:
    """Seal an open database that contains no foreign objects.

    The seal has the permissions of the database; if others may write both, `is_sealed` is false.
    If the seal cannot be written, the database stays without one.
    """
    with suppress(OSError):
        seal = seal_of(file)
        seal.unlink(missing_ok=True)
        opener = partial(os.open, mode=os.fstat(descriptor).st_mode & 0o666)
        with open(seal, "xb", opener=opener) as target:
            target.write(_describe(descriptor))


def is_sealed(file: Path, descriptor: int) -> bool:
    """Whether a database is unchanged since this user sealed it, and has no log.

    Call it while DuckDB has the database open, so that no other program can change it any more.
    """
    try:
        seal, wanted = seal_of(file), _describe(descriptor)
        found = seal.lstat()
        is_ours = found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE_BY_OTHERS
        is_like_one = stat.S_ISREG(found.st_mode) and found.st_size == len(wanted)
        is_same = is_ours and is_like_one and seal.read_bytes() == wanted
    except OSError:
        return False
    return is_same and not log_of(file).exists()


def _describe(descriptor: int) -> bytes:
    """A text that differs for every other file, and for this one after every write to it."""
    found = os.fstat(descriptor)
    numbers = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    headers = zlib.crc32(os.pread(descriptor, HEADERS_BYTES, 0))
    return " ".join(map(str, (*numbers, headers))).encode()
