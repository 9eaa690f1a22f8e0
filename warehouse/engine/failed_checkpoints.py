"""Checkpoints of a store that failed, and what its writers do differently since.

DuckDB has written compressed blocks that it could not read back at the next checkpoint, which then
fails for good. A small file in the store's folder counts such failures, so that a rebuild is not
forgotten if a process ends before it, and so that later writers leave out the compression that
failed. Another version of DuckDB may have mended the fault: the count begins anew with it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import duckdb

from tracehouse.ingest.durable import replacing

RECORD_NAME = "failed_checkpoints.json"
TORN_NAME = "torn_checkpoint"  # an empty file, for which a full disk usually has room
COMPRESSION = "bitpacking"

_MOST_WITH_IT = 1  # failures before the compression is left out
_LONGEST_PROBLEM = 300  # letters


class FailedCheckpoints(NamedTuple):
    """The failed checkpoints of a store with one version of DuckDB.

    Attributes:
        failure_count: Their number.
        failed_at: When the last one failed; None without any.
        problem: DuckDB's words for it.
        rebuilt_at: When the store was rebuilt after one; None if it was not.
        duckdb: The version.
        is_rebuild_wanted: Whether the next writer must rebuild the store.
    """

    failure_count: int = 0
    failed_at: datetime | None = None
    problem: str = ""
    rebuilt_at: datetime | None = None
    duckdb: str = duckdb.__version__
    is_rebuild_wanted: bool = False

    @property
    def disabled_compression(self) -> str:
        """The compression that writers leave out; empty if they use all."""
        return COMPRESSION if self.failure_count > _MOST_WITH_IT else ""

    @property
    def is_hopeless(self) -> bool:
        """Whether a checkpoint failed although that compression was left out."""
        return self.failure_count > _MOST_WITH_IT + 1


def read_failures(store: Path) -> FailedCheckpoints:
    """The failed checkpoints of a store with this version of DuckDB; none if it has no record."""
    try:
        kept = json.loads((store / RECORD_NAME).read_bytes())
        found = FailedCheckpoints(
            int(kept["failure_count"]),
            _parse_time(kept["failed_at"]),
            str(kept["problem"]),
            _parse_time(kept["rebuilt_at"]),
            str(kept["duckdb"]),
            bool(kept["is_rebuild_wanted"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return FailedCheckpoints()
    return found if found.duckdb == duckdb.__version__ else FailedCheckpoints()


def record_failure(store: Path, problem: str) -> None:
    """Count a failure, after which the store must be rebuilt.

    If the record cannot be written, the next checkpoint fails and is counted.
    """
    known = read_failures(store)
    _write(
        store,
        known._replace(
            failure_count=known.failure_count + 1,
            failed_at=datetime.now(UTC),
            problem=problem[:_LONGEST_PROBLEM],
            is_rebuild_wanted=True,
        ),
    )


def record_rebuild(store: Path) -> None:
    """Note that the store was rebuilt, if a checkpoint had failed before."""
    clear_torn(store)
    known = read_failures(store)
    if known.is_rebuild_wanted:
        _write(store, known._replace(rebuilt_at=datetime.now(UTC), is_rebuild_wanted=False))


def give_up_rebuild(store: Path) -> None:
    """Let the next writer try a checkpoint again, as a rebuild is impossible or does not help."""
    _write(store, read_failures(store)._replace(is_rebuild_wanted=False))


def mark_torn(store: Path) -> None:
    """Note that the disk failed in a checkpoint.

    DuckDB writes some blocks of its catalogue in place, so that one of them may be torn.
    """
    with suppress(OSError):
        (store / TORN_NAME).touch()


def may_be_torn(store: Path) -> bool:
    """Whether damage of the file is due to a disk that failed in a checkpoint."""
    return (store / TORN_NAME).exists()


def clear_torn(store: Path) -> None:
    """Note that a checkpoint succeeded, or that there is a new file."""
    with suppress(OSError):
        (store / TORN_NAME).unlink()


def apply_failures(connection: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Leave out the compression that failed before; DuckDB ignores it among options to connect."""
    if disabled := read_failures(store).disabled_compression:
        connection.execute(f"SET disabled_compression_methods = '{disabled}'")


def _parse_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _write(store: Path, failures: FailedCheckpoints) -> None:
    text = json.dumps(failures._asdict(), default=datetime.isoformat, indent=2)
    with suppress(OSError), replacing(store / RECORD_NAME) as unfinished:
        unfinished.write_text(text + "\n")
