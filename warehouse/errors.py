"""Errors of stores, lakes, Spark and queries."""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_MOST_NAMES = 12  # in a suggestion
_LONGEST_NAME = 100  # in a suggestion; comparing takes the square of it
_MOST_COMPARED = 2000  # names
_UNLOCK = "wait until that process ends, or stop it, and run the command again"
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FREE = "free some space and try again"
_REMEDIES = {
    errno.EIO: "repair the disk and try again",
    errno.EROFS: "mount the file system for writing and try again",
    errno.EFBIG: "raise the limit on the size of files and try again",
    **dict.fromkeys(_FULL, _FREE),
}


def explain_failure(error: OSError) -> str:
    """What failed, and the remedy if the disk is full or fails."""
    remedy = _REMEDIES.get(error.errno or 0)
    return f"{error.strerror}; {remedy}" if remedy else str(error.strerror)


class WarehouseError(Exception):
    """An operation on a store failed; the message names place, problem and remedy."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


class StoreError(WarehouseError):
    """A store cannot be opened, or a write to it failed."""


class DiskError(StoreError):
    """The disk is full or fails."""


class FullDiskError(DiskError):
    """The disk, or the user's share of it, is full."""

    def __init__(self, place: str, cause: str, *, kept: str = "committed data is safe") -> None:
        super().__init__(place, f"the disk is full ({cause}); {kept}: {_FREE}")


def write_error(
    place: str,
    error: OSError,
    *,
    problem: str = "cannot be written",
    kept: str = "committed data is safe",
    remedy: str = "correct this and try again",
) -> StoreError:
    """The error of a write that failed: a DiskError if the disk is full or fails.

    Args:
        place: What could not be written.
        error: The failure.
        problem: What is wrong, unless the disk is full.
        kept: What is safe.
        remedy: What to do, unless the disk is full or fails.
    """
    if error.errno in _FULL:
        return FullDiskError(place, os.strerror(error.errno), kept=kept)
    kind = DiskError if error.errno in _REMEDIES else StoreError
    remedy = _REMEDIES.get(error.errno or 0, remedy)
    return kind(place, f"{problem}: {error.strerror}; {kept}: {remedy}")


@contextmanager
def write_errors(place: str, **facts: str) -> Iterator[None]:
    """Translate the OSErrors of the body by `write_error`, which gets the facts.

    Raises:
        StoreError: A write failed.
        DiskError: The disk is full or fails.
    """
    try:
        yield
    except OSError as error:
        problem = write_error(place, error, **facts)
        raise problem from error


class StoreLockedError(StoreError):
    """Another process has the store open for writing."""

    def __init__(
        self, path: str, pid: int | None, *, meanwhile: str = "", remedy: str = _UNLOCK
    ) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(path, f"locked by {who}; {meanwhile}{remedy}")
        self.pid, self.meanwhile = pid, meanwhile


class WriterWaitingError(StoreLockedError):
    """Another process waits to write the store, and has priority."""


class StoreVersionError(StoreError):
    """Another version of tracehouse wrote the store, or a snapshot of it."""

    def __init__(self, path: str, version: int, known: int, *, has_migration: bool = False) -> None:
        """Name the schema of the store, and the one that this version knows."""
        which, remedy = "an older", "rebuild it from its archive with 'tracehouse store rebuild'"
        if version > known:
            which, remedy = "a newer", "upgrade tracehouse"
        elif has_migration:
            remedy = "upgrade it with 'tracehouse store migrate', which needs write permission"
        super().__init__(
            path,
            f"written by {which} tracehouse (schema {version}, this one has {known}); {remedy}",
        )


class DamagedStoreError(StoreError):
    """The store's DuckDB file is damaged or gone."""

    def __init__(self, path: str, problem: str, meanwhile: str = "") -> None:
        remedy = "rebuild it from the archive with 'tracehouse store rebuild'"
        super().__init__(path, f"{problem}; {remedy}{meanwhile and '; '}{meanwhile}")
        self.damage, self.meanwhile = problem, meanwhile


class FailedCheckpointError(StoreError):
    """DuckDB cannot write its log into a store's file, although the disk works."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(
            path,
            f"DuckDB's checkpoint failed ({cause}); committed data is safe: the running service, "
            "or else the next command that writes, rebuilds the store from its archive",
        )
        self.cause = cause


class HopelessCheckpointError(StoreError):
    """Checkpoints fail although the store was rebuilt without the compression that failed."""

    def __init__(self, file: str, version: str, cause: str) -> None:
        """Name the file, the version of DuckDB and the last failure."""
        super().__init__(
            file,
            f"DuckDB {version} cannot write this file: checkpoints failed before and after a "
            f"rebuild, the last one without the compression that may fail ({cause}); all dumps "
            "are in the archive: install another version of DuckDB, and run "
            "'tracehouse store rebuild'",
        )


class ArchiveError(WarehouseError):
    """A file of the archive is damaged or gone."""


class UnloadableDumpsError(ArchiveError):
    """Dumps of the archive, which were in the store before, cannot be loaded into it again."""

    def __init__(self, path: str, lost: Sequence[str]) -> None:
        """State where, and the dumps in words."""
        shown, more = "; ".join(lost[:_MOST_NAMES]), len(lost) - _MOST_NAMES
        rest = f"; and {more:,} more" if more > 0 else ""
        super().__init__(
            path,
            f"{len(lost):,} dumps of the archive cannot be loaded, so nothing was replaced: "
            f"{shown}{rest}; mend the cause and run the command again, or run "
            "'tracehouse store rebuild --force', which leaves them out (the archive keeps them)",
        )


class LakeError(WarehouseError):
    """A lake cannot be read or written, or does not exist."""


class LakeAddressError(LakeError):
    """The address of a lake is malformed."""

    def __init__(self, address: str, problem: str) -> None:
        super().__init__(f"'{address}'", problem)


class SparkError(WarehouseError):
    """Apache Spark is missing, or a Spark job failed."""


class QueryError(Exception):
    """A query cannot be answered; the message says which and why."""


class HeaderError(QueryError):
    """A .sql file's header is malformed."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place


class UnknownQueryError(QueryError):
    """No canned query has this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"no query '{name}'{suggest(name, known)}")
        self.name = name


class NoSuchDumpError(QueryError):
    """The store has no such dump."""


class ParameterError(QueryError):
    """A query's parameter is unknown, missing or of the wrong type."""

    def __init__(self, query: str, param: str, problem: str) -> None:
        super().__init__(f"query '{query}', parameter '{param}': {problem}")
        self.query = query
        self.param = param
        self.problem = problem


class SlowAnswerError(QueryError):
    """An answer exceeds its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the answer takes more than {seconds:g} s: select fewer dumps, such as those of one "
            "device and build"
        )


class LongQuestionError(QueryError):
    """A canned query over so many dumps would exceed its time limit."""

    def __init__(self, query: str, expected: float, seconds: float, filters: Sequence[str]) -> None:
        super().__init__(
            f"query '{query}': would take some {expected:,.0f} s, and the limit is {seconds:g} s: "
            f"select at most some {seconds / expected:.0%} of these dumps, with a filter such as "
            f"{', '.join(filters)}"
        )


class StatementError(QueryError):
    """Ad-hoc SQL is not a single SELECT, or fails."""


class CostlyStatementError(StatementError):
    """Ad-hoc SQL exceeds a limit: `bound` is seconds, memory, answer or text."""

    def __init__(self, bound: str, problem: str) -> None:
        super().__init__(problem)
        self.bound = bound


def suggest(name: str, known: Sequence[str]) -> str:
    """A clause that names the nearest known name, or a few of them; long names are left out.

    >>> suggest("percentile", ["percentiles", "dumps"])
    '; did you mean percentiles?'
    >>> suggest("addmm", ["native_call_addmm.out", "native_call_relu.out"])
    '; did you mean native_call_addmm.out?'
    """
    short = [other for other in known if len(other) <= _LONGEST_NAME]
    is_short = len(name) <= _LONGEST_NAME
    near = difflib.get_close_matches(name, short[:_MOST_COMPARED], n=1) if is_short else []
    near = near or [other for other in sorted(short) if name and name in other][:1]
    if near:
        return f"; did you mean {near[0]}?"
    some = sorted(short)[:_MOST_NAMES]
    more = ", ..." if len(known) > len(some) else ""
    if not some:
        return "" if known else "; none exist"
    return f"; there are {', '.join(some)}{more}"
