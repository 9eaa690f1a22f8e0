"""Connections to a store's DuckDB file, and translation of DuckDB's errors."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa

from tracehouse.warehouse.engine.failed_checkpoints import apply_failures, mark_torn, record_failure
from tracehouse.warehouse.engine.log_sum import check_log, delete_log_sum, record_commit
from tracehouse.warehouse.engine.store_file import (
    ARCHIVE_FOLDER,
    FILE_NAME,
    WAL_SUFFIX,
    log_of,
    spill_of,
)
from tracehouse.warehouse.engine.tables import quote
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    DiskError,
    FailedCheckpointError,
    FullDiskError,
    StoreError,
    StoreLockedError,
    write_error,
)

DATABASE = "warehouse"  # name of the store's file in SQL

# DuckDB must not load, look up or spill anything by itself.
_CAREFUL: dict[str, str | bool | int | float | list[str]] = {
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}
# New files stay readable by DuckDB 1.5; commits go to the log, and into the file on closing.
_WRITER: dict[str, str | bool | int | float | list[str]] = {
    "storage_compatibility_version": "v1.5.0",
    "checkpoint_threshold": "1GB",
}
# A new file needs no log, and creating its tables needs no second thread.
_MAKER = _WRITER | {"checkpoint_threshold": "0B", "threads": 1}

# DuckDB's messages about a file that was modified by something else.
_DAMAGE = re.compile(
    "not a valid DuckDB database|[Cc]orrupt|[Cc]hecksum|Serialization Error|"
    "Could not read (enough|all) bytes|Failed to load metadata|"
    "replaying WAL|WAL checkpoint iteration"
)

# A checkpoint that failed, and what every later statement says.
_CHECKPOINT = re.compile(
    "Checkpoint failed for database|autocheckpoint failed|Failed to create checkpoint|"
    "checkpointing failed"
)
_LATER = re.compile("checkpointing failed|because of a previous fatal error")

_LOG_DAMAGE = re.compile("replaying WAL|WAL checkpoint iteration|corrupt WAL")

_FULL = re.compile("No space left on device|Disk quota exceeded")
_FAILED = re.compile(
    f"{_FULL.pattern}|File too large|Could not write|disk full|fsync failed|Input/output error",
    re.IGNORECASE,
)
_MEMORY = re.compile("Out of Memory|could not allocate|failed to (pin|offload)", re.IGNORECASE)
_ORIGINAL = re.compile('^Original error: "?(.+?)"?$', re.MULTILINE)
DISK_ERRNOS = {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}

_FAILS = (
    "the disk is full or fails ({}); committed data is safe: free some space, or repair the disk, "
    "and run the command again"
)

_NO_LIMITS: Mapping[str, str | int] = {}


def open_writer(file: Path, *, is_new: bool = False) -> duckdb.DuckDBPyConnection:
    """A connection that writes the database in a file, which is created if missing.

    The database is attached, but not yet the current one: see `use_database`. With `is_new`, each
    commit is written to the file at once, which suits a few small commits.
    """
    config = {**_CAREFUL, **(_MAKER if is_new else _WRITER), "temp_directory": str(spill_of(file))}
    with closed_on_error(duckdb.connect(":memory:", config=config)) as connection:
        apply_failures(connection, file.parent)
        _attach(connection, file, "READ_WRITE", allow_files=False)
        return connection


def merge_log(file: Path) -> None:
    """Write the contents of a store's write-ahead log into its file, and delete the log."""
    log = log_of(file)
    if log.exists():
        with open_writer(file) as connection:
            use_database(connection)
            connection.execute("CHECKPOINT")
        log.unlink(missing_ok=True)
    delete_log_sum(file)


def open_reader(
    file: Path,
    *,
    spill: Path | None = None,
    allow_files: bool = False,
    limits: Mapping[str, str | int] = _NO_LIMITS,
) -> duckdb.DuckDBPyConnection:
    """A connection that only reads the database in a file.

    The database is attached, but not yet the current one: see `use_database`.

    Args:
        file: The database.
        spill: Folder for data that does not fit into memory. With a folder, statements could write
            there and overwrite the database, so they must be trusted; without one, they cannot
            touch any file.
        allow_files: Let statements read files.
        limits: DuckDB's settings that limit statements, by name.
    """
    with closed_on_error(attach_reader(file)) as connection:
        restrict_reader(connection, spill=spill, allow_files=allow_files, limits=limits)
        return connection


def attach_reader(file: Path) -> duckdb.DuckDBPyConnection:
    """A connection that only reads a database; before any other statement, restrict it."""
    with closed_on_error(duckdb.connect(":memory:", config=_CAREFUL)) as connection:
        _attach(connection, file, "READ_ONLY", allow_files=True)
        return connection


def restrict_reader(
    connection: duckdb.DuckDBPyConnection,
    *,
    spill: Path | None = None,
    allow_files: bool = False,
    limits: Mapping[str, str | int] = _NO_LIMITS,
) -> None:
    """Restrict a connection for good, as `open_reader` does."""
    for name, value in {**limits, "temp_directory": str(spill or "")}.items():
        connection.execute(f"SET {name} = {quote(str(value))}")
    if not allow_files:
        connection.execute("SET enable_external_access = false")
    if not (spill or allow_files):
        connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
    connection.execute("SET lock_configuration = true")


def open_memory(
    *, spill: Path | None = None, folder: Path | None = None, allow_files: bool = True
) -> duckdb.DuckDBPyConnection:
    """A connection to a new database in memory, attached, but not yet the current one.

    Args:
        spill: Folder for data that does not fit into memory; without it, all must fit.
        folder: Folder whose files statements may read even without `allow_files`.
        allow_files: Let statements read files.
    """
    config = {**_CAREFUL, "temp_directory": str(spill or "")}
    with closed_on_error(duckdb.connect(":memory:", config=config)) as connection:
        connection.execute(f"ATTACH ':memory:' AS {DATABASE}")
        begin_session(connection)
        if not allow_files:
            if folder:
                own = str(folder.absolute()).replace("'", "''")
                connection.execute(f"SET allowed_directories = ['{own}/']")
            connection.execute("SET enable_external_access = false")
        return connection


def open_copier(
    old: Path, new: Path, limits: Mapping[str, str | int] = _NO_LIMITS
) -> duckdb.DuckDBPyConnection:
    """A connection that reads a database as `old` and writes another one as `new`.

    `limits` are DuckDB's settings that limit statements.
    """
    config = {**_CAREFUL, **_WRITER, **limits, "temp_directory": str(spill_of(new))}
    with closed_on_error(duckdb.connect(":memory:", config=config)) as connection:
        apply_failures(connection, new.parent)
        _attach(connection, old, "READ_ONLY", allow_files=True, name="old")
        _attach(connection, new, "READ_WRITE", allow_files=False, name="new")
        return connection


@contextmanager
def closed_on_error(
    connection: duckdb.DuckDBPyConnection,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Close the connection if the body fails."""
    try:
        yield connection
    except BaseException:  # an interrupt, too, must not leave the file locked
        connection.close()
        raise


def _attach(
    connection: duckdb.DuckDBPyConnection,
    file: Path,
    options: str,
    *,
    allow_files: bool,
    name: str = DATABASE,
) -> None:
    check_log(file)
    # An absolute path never starts like the address of another kind of database.
    path = str(file.absolute()).replace("'", "''")
    connection.execute(f"ATTACH '{path}' AS {name} (TYPE duckdb, {options})")
    begin_session(connection)
    if not allow_files:
        connection.execute("SET enable_external_access = false")


def open_cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A cursor on the same database, for another thread or purpose."""
    cursor = connection.cursor()
    begin_session(cursor)
    use_database(cursor)
    return cursor


def begin_session(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply the settings of every session: times in UTC, and plans that read few rows."""
    connection.execute("SET TimeZone = 'UTC'")
    # The first adds up whole tables before a join selects the chosen dumps; the second joins
    # tables with themselves for windows, and leads to joins that select the builds last.
    connection.execute("SET disabled_optimizers = 'partial_aggregate_pushdown,window_self_join'")
    # In a notebook without ipywidgets there is no progress bar to turn off.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")


def use_database(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the store the current database, in which names are resolved first."""
    connection.execute(f"USE {DATABASE}")


@contextmanager
def reading(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Show the body a single state of the store, read-only."""
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # after a fatal error; that error is raised
            connection.execute("ROLLBACK")


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit all writes of the body, or none if the body raises."""
    connection.execute("BEGIN")
    try:
        yield
    except BaseException:  # an interrupt, too, must not leave the transaction open
        with suppress(duckdb.Error):  # after a fatal error; that error is raised
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    record_commit(connection)


@contextmanager
def register_temporarily(
    connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | pa.RecordBatchReader
) -> Iterator[None]:
    """Let statements of the body select from the rows by a name."""
    connection.register(name, rows)
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # after a fatal error; that error is raised
            connection.unregister(name)


def insert_rows(
    connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table, where: str = ""
) -> None:
    """Append rows; `where` is a trusted clause that excludes known rows."""
    if rows.num_rows:
        with register_temporarily(connection, "new_rows", rows):
            connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM new_rows {where}")  # noqa: S608


@contextmanager
def translated_errors(store: Path, file: Path | None = None) -> Iterator[None]:
    """Turn errors of the disk, and DuckDB's about a store's file or a snapshot, into our own.

    Raises:
        StoreError: The file is unreadable or not a database, or the disk fails.
        FullDiskError: The disk is full.
        FailedCheckpointError: A checkpoint failed, which is counted.
        DamagedStoreError: The file is damaged, and an archive exists.
        StoreLockedError: Another process has the file open.
        OSError: An error of something else than the disk.
    """
    try:
        yield
    except duckdb.Error as error:
        failure = _translate(error, store, file)
        if isinstance(failure, FailedCheckpointError) and not _LATER.search(str(error)):
            record_failure(store, failure.cause)
        if isinstance(failure, DiskError) and _CHECKPOINT.search(str(error)):
            mark_torn(store)
        raise failure from error
    except OSError as error:
        if error.errno not in DISK_ERRNOS:
            raise
        failure = write_error(str(error.filename or store), error, problem="the disk fails")
        raise failure from error


def _translate(error: duckdb.Error, store: Path, file: Path | None) -> StoreError:
    text = str(error)
    if is_failed_checkpoint(error):
        return FailedCheckpointError(str(store), _find_cause(text))
    if is_damage(error) and (store / ARCHIVE_FOLDER).is_dir():
        name = file.relative_to(store) if file else FILE_NAME
        return DamagedStoreError(str(store), f"{name} is damaged ({text.splitlines()[0]})")
    if "Could not set lock on file" in text:
        holder = re.search(r"PID (\d+)", text)
        return StoreLockedError(str(store), int(holder[1]) if holder else None)
    if full := _FULL.search(text):
        return FullDiskError(str(store), full[0])
    kind = DiskError if _FAILED.search(text) else StoreError
    return kind(str(store), _explain(text))


def _find_cause(text: str) -> str:
    """What DuckDB says about the cause of an error.

    >>> _find_cause('IO Error: Checkpoint failed for database "w". Original error: Bad mode')
    'Bad mode'
    """
    return text.splitlines()[0].rpartition("Original error: ")[2].strip('"')


def is_failed_checkpoint(error: duckdb.Error) -> bool:
    """Whether a checkpoint failed, though the disk works and there was enough memory."""
    text = str(error)
    is_of_the_machine = _FAILED.search(text) or isinstance(error, duckdb.OutOfMemoryException)
    return bool(_CHECKPOINT.search(text)) and not (is_of_the_machine or _MEMORY.search(text))


def is_damage(error: duckdb.Error) -> bool:
    """Whether the error is due to a damaged file; no statement can provoke such an error."""
    text = str(error)
    is_of_a_statement = isinstance(error, duckdb.ProgrammingError | duckdb.DataError)
    return bool(_DAMAGE.search(text)) and not (_FAILED.search(text) or is_of_a_statement)


def _explain(text: str) -> str:
    original = _ORIGINAL.search(text)
    first = original[1] if original else text.splitlines()[0]
    if _FAILED.search(text):
        return _FAILS.format(first)
    if "not a valid DuckDB database" in text:
        return f"{FILE_NAME} is not a tracehouse store; name another directory with --store"
    if _LOG_DAMAGE.search(text):
        return (
            f"{FILE_NAME}{WAL_SUFFIX} is damaged ({first}), and there is no archive to rebuild the "
            f"store from: move {FILE_NAME}{WAL_SUFFIX} and {FILE_NAME}{WAL_SUFFIX}.sum away "
            "and repeat the latest ingests"
        )
    return first
