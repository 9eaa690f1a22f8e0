"""What can go wrong between Arrow tables, the store and its answers.

WarehouseError
├── StoreError            a store cannot be opened, or a write to it failed
│   ├── StoreLockedError  another process has it open
│   │   └── WriterWaitsError  or waits to write it, which comes first
│   ├── StoreVersionError a newer tracehouse wrote it
│   ├── OldStoreError     an older one did, and it must be migrated or rebuilt first
│   └── DamagedStoreError its DuckDB file is damaged or gone, and can be rebuilt
├── ArchiveError          a file of the archive is damaged or gone
├── LakeError             a lake cannot be read or written, or is not one
│   └── LakeAddressError  what is said to be its address can never be one
└── SparkError            Apache Spark is missing, or what it was to do failed
QueryError
├── HeaderError           a .sql file's header is malformed
├── UnknownQueryError     no canned query of that name
├── NoSuchDumpError       the store has no dump of that choice
├── ParameterError        a parameter is unknown, missing or of the wrong type
├── SlowAnswerError       an answer takes longer than it may
└── StatementError        ad-hoc SQL is not a single SELECT, or fails
    └── CostlyStatementError  or takes more than it may
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_MOST_NAMES = 12  # in a suggestion
_LONGEST_NAME = 100  # likewise; comparing takes its square
_MOST_COMPARED = 2000  # names
_UNLOCK = "wait until that process ends, or stop it, and run the command again"


class WarehouseError(Exception):
    """The store cannot do what was asked; the message says where, what and what to do."""


class StoreError(WarehouseError):
    """A store cannot be opened, or a write to it failed."""

    def __init__(self, path: str, problem: str) -> None:
        """Keep the path and the problem apart."""
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class StoreLockedError(StoreError):
    """Another process has the store open for writing."""

    def __init__(
        self, path: str, pid: int | None, *, meanwhile: str = "", remedy: str = _UNLOCK
    ) -> None:
        """Name the process, where the system tells it, what is lacking meanwhile, and a remedy."""
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(path, f"locked by {who}; {meanwhile}{remedy}")
        self.pid, self.meanwhile = pid, meanwhile


class WriterWaitsError(StoreLockedError):
    """Another process waits to write the store, which comes first."""


class StoreVersionError(StoreError):
    """A newer tracehouse wrote the store."""

    def __init__(self, path: str, version: int, known: int) -> None:
        """Tell both schema versions."""
        super().__init__(
            path,
            f"written by a newer tracehouse (schema {version}, this one knows up to {known}); "
            "upgrade tracehouse",
        )
        self.version = version


class OldStoreError(StoreError):
    """An older tracehouse wrote the store, and it must be migrated or rebuilt first."""

    def __init__(self, path: str, version: int, known: int, *, has_migration: bool) -> None:
        """Name both schema versions, and the command that leads from one to the other."""
        remedy = (
            "bring it up to date with 'tracehouse migrate', which needs the right to write it"
            if has_migration
            else "make it anew out of its archive with 'tracehouse rebuild'"
        )
        problem = f"written by an older tracehouse (schema {version}, now {known})"
        super().__init__(path, f"{problem}; {remedy}")
        self.version = version


class DamagedStoreError(StoreError):
    """The store's DuckDB file is damaged or gone."""

    def __init__(self, path: str, problem: str, meanwhile: str = "") -> None:
        """Tell what is wrong with it, and what is there until it is mended."""
        remedy = "make it anew out of the archive with 'tracehouse rebuild'"
        super().__init__(path, f"{problem}; {remedy}{meanwhile and '; '}{meanwhile}")
        self.damage, self.meanwhile = problem, meanwhile


class ArchiveError(WarehouseError):
    """A file of the archive is damaged or gone."""

    def __init__(self, path: str, problem: str) -> None:
        """Keep the path and the problem apart."""
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class LakeError(WarehouseError):
    """A lake cannot be read or written, or is not one."""

    def __init__(self, place: str, problem: str) -> None:
        """Keep the place and the problem apart."""
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


class LakeAddressError(LakeError):
    """What is said to be the address of a lake can never be one."""

    def __init__(self, address: str, problem: str) -> None:
        """Show the address in quotes: it may be empty."""
        super().__init__(f"'{address}'", problem)


class SparkError(WarehouseError):
    """Apache Spark is missing, or what it was to do failed."""

    def __init__(self, place: str, problem: str) -> None:
        """Keep the place and the problem apart."""
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


class QueryError(Exception):
    """A question cannot be answered; the message says which and why."""


class HeaderError(QueryError):
    """A .sql file's header is malformed."""

    def __init__(self, place: str, problem: str) -> None:
        """`place` is file:line."""
        super().__init__(f"{place}: {problem}")
        self.place = place


class UnknownQueryError(QueryError):
    """There is no canned query of that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        """Suggest the nearest of the known names."""
        super().__init__(f"no query '{name}'{suggest(name, known)}")
        self.name = name


class NoSuchDumpError(QueryError):
    """The store has no dump of that choice."""


class ParameterError(QueryError):
    """A query's parameter is unknown, missing or of the wrong type."""

    def __init__(self, query: str, param: str, problem: str) -> None:
        """Keep query, parameter and problem apart."""
        super().__init__(f"query '{query}', parameter '{param}': {problem}")
        self.query = query
        self.param = param


class SlowAnswerError(QueryError):
    """An answer takes longer than it may."""

    def __init__(self, seconds: float) -> None:
        """Tell how long it may take."""
        super().__init__(
            f"the answer takes more than {seconds:g} s: ask of fewer dumps, as of one device and "
            "build"
        )


class StatementError(QueryError):
    """Ad-hoc SQL is not a single SELECT, or fails."""


class CostlyStatementError(StatementError):
    """Ad-hoc SQL takes more than it may."""

    def __init__(self, bound: str, problem: str) -> None:
        """`bound` is what there was too little of: seconds, memory, answer or text."""
        super().__init__(problem)
        self.bound = bound


def suggest(name: str, known: Sequence[str]) -> str:
    """A clause that names the nearest known name, or a few of them; long names are left out.

    >>> suggest("percentile", ["percentiles", "dumps"])
    '; did you mean percentiles?'
    """
    short = [other for other in known if len(other) <= _LONGEST_NAME]
    is_short = len(name) <= _LONGEST_NAME
    near = difflib.get_close_matches(name, short[:_MOST_COMPARED], n=1) if is_short else []
    if near:
        return f"; did you mean {near[0]}?"
    some = sorted(short)[:_MOST_NAMES]
    more = ", ..." if len(known) > len(some) else ""
    if not some:
        return "" if known else "; there are none"
    return f"; there are {', '.join(some)}{more}"
