"""Connections for queries of an open store, created on first use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import duckdb

from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import Query
from tracehouse.warehouse.catalogue.sql_files import read_sql_file, read_statement
from tracehouse.warehouse.catalogue.views import named_views, reads_table
from tracehouse.warehouse.engine.aligned_operators import (
    RUNS,
    VIEW,
    AlignedOperators,
    Pair,
    empty_view,
    keep_names,
    needed_views,
)
from tracehouse.warehouse.engine.connection import (
    attach_reader,
    closed_on_error,
    open_cursor,
    restrict_reader,
    translated_errors,
    use_database,
)
from tracehouse.warehouse.engine.memory_limit import reading_limit
from tracehouse.warehouse.engine.migrations import check_version
from tracehouse.warehouse.engine.sql_functions import register_functions
from tracehouse.warehouse.engine.store_checks import (
    check_no_foreign_objects,
    check_tables,
    is_sealed,
)
from tracehouse.warehouse.engine.view_rows import KEPT, find_kept_views, find_state
from tracehouse.warehouse.engine.views import make_temporary_views, show_pools

if TYPE_CHECKING:
    import pyarrow as pa

_NO_LIMITS: Mapping[str, str | int] = {}
# Statements of tracehouse may spill to disk. Those of users access no file, or may read any file.
Access = Literal["trusted", "untrusted", "with files"]


_DROPPED = (
    "{:,} of the store's dumps have no raw events any more ('tracehouse store retention'); "
    "figures from raw events do not include them"
)
_ONE_KIND = (
    "{:,} of {:,} models of a backend are left out: they have one kind of run, and no tag "
    "decode_method says that they write tokens"
)


class StoreConnections:
    """Connections to one file of a store; cursors of its writer if it is open for writing.

    Attributes:
        file: The store's DuckDB file, or a snapshot of it.
    """

    def __init__(
        self,
        store: Path,
        file: Path,
        *,
        writer: duckdb.DuckDBPyConnection | None = None,
        limits: Mapping[str, str | int] = _NO_LIMITS,
    ) -> None:
        """Prepare connections to `file`, which the caller protects from changes meanwhile.

        `limits` are DuckDB's settings that limit untrusted statements.
        """
        self.file, self._limits = file, limits
        self._store, self._writer = store, writer
        self._spill: tempfile.TemporaryDirectory[str] | None = None
        self._connections: dict[Access, duckdb.DuckDBPyConnection] = {}
        self._pools: Collection[str] | None = None
        self._views: set[tuple[Access, str]] = set()
        self._named: dict[Access, object] = {}  # the state of the store whose runs were named
        self._aligned: dict[Access, AlignedOperators] = {}
        self._attached: duckdb.DuckDBPyConnection | None = None  # not restricted yet
        self._descriptor: int | None = None
        self._without_tokens: tuple[int, int] | None = None
        self._kept: Mapping[str, str] = {}
        self._is_kept_known = False

    def check(self) -> None:
        """Check that the file is a store of this version, through an isolated connection.

        A sealed file contains nothing foreign, so its connection is restricted only when the first
        statement comes, as the access of that statement demands.

        Raises:
            StoreError: The file is unreadable or not a store, or contains foreign objects.
            StoreVersionError: Another version of tracehouse wrote the store.
        """
        store = str(self._store)
        with translated_errors(self._store, self.file):
            with suppress(OSError):  # DuckDB reports that it cannot be read
                self._descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
            connection = self._attached = attach_reader(self.file)
            is_known = self._descriptor is not None and is_sealed(self.file, self._descriptor)
            if not is_known:
                self._connections["untrusted"] = self._open("untrusted")
                check_no_foreign_objects(connection, store)
            use_database(connection)
            check_version(connection, store, read_only=True)
            if not is_known:
                check_tables(connection, store)

    def connection(
        self, access: Access, text: str = "", pair: Pair | None = None
    ) -> duckdb.DuckDBPyConnection:
        """The connection for a statement, with the views that the text names.

        For one that compares a pair of builds, operators have the names of this pair.

        Raises:
            StoreError: The file is unreadable.
        """
        with translated_errors(self._store, self.file):
            if access not in self._connections:
                self._connections[access] = self._prepare(access)
            self._prepare_order(access, text)
            named = named_views(text)
            if not set(KEPT).isdisjoint(named):
                self._find_kept(access)
                named = named_views(text, self._kept)
            self._make_views(access, named)
            if RUNS in named:
                self._name_runs(access, pair, is_aligned=VIEW in named)
        return self._connections[access]

    def _make_views(self, access: Access, names: Iterable[str]) -> None:
        missing = [name for name in names if (access, name) not in self._views]
        make_temporary_views(self._connections[access], missing, self._kept)
        self._views.update((access, name) for name in missing)

    def _find_kept(self, access: Access) -> None:
        """Find out which views show rows that the file keeps: of all dumps, as it was closed."""
        if not self._is_kept_known:
            self._is_kept_known = True
            if self._writer is None and self._pools is None:
                self._kept = find_kept_views(self._connections[access])

    def _name_runs(self, access: Access, pair: Pair | None, *, is_aligned: bool) -> None:
        """Bring the names of runs up to date, and the view of aligned operators if it is read.

        Both are kept until the store changes. Statements of users may not spill, and name few runs,
        so they keep the names of runs only where operators are aligned.
        """
        version = self._find_version(access)
        connection = self._connections[access]
        if self._named.get(access) != version:
            if access in self._named or access in self._aligned:
                empty_view(connection)
            self._named.pop(access, None)
            self._aligned.pop(access, None)
            if self._keeps_names(access, is_aligned=is_aligned):
                self._prepare_order(access, "FROM build_order")
                self._make_views(access, needed_views(self._kept))
                with suppress(duckdb.OutOfMemoryException):  # the statement will say so
                    if RUNS not in self._kept:
                        keep_names(connection)
                    self._named[access] = version
        if is_aligned and (pair is not None or VIEW not in self._kept or access in self._aligned):
            if access not in self._aligned:
                self._aligned[access] = AlignedOperators(connection, is_kept=VIEW in self._kept)
            self._aligned[access].show(pair)

    def _keeps_names(self, access: Access, *, is_aligned: bool) -> bool:
        return is_aligned or access == "trusted"

    def _find_version(self, access: Access) -> object:
        """What differs between the states of the store that have other runs."""
        if self._writer is None:
            return True
        with suppress(duckdb.OutOfMemoryException):  # the statement will say so
            return find_state(self._connections[access])
        return object()

    def _prepare_order(self, access: Access, text: str, /) -> None:
        """Make the table build_order if a statement reads it; a store has it."""

    def limit_to(self, pools: Collection[str]) -> None:
        """Hide all but what is of these device pools; before the first statement."""
        self._pools = pools
        for connection in self._connections.values():
            show_pools(connection, pools)

    def for_statement(self, text: str) -> duckdb.DuckDBPyConnection:
        """The connection for a trusted statement other than a canned query.

        Raises:
            StoreError: The file is unreadable.
        """
        return self._trusted(text)

    def for_query(self, query: Query, params: Mapping[str, object]) -> duckdb.DuckDBPyConnection:
        """The connection for a canned query with these parameters.

        Raises:
            StoreError: The file is unreadable.
        """
        return self._trusted(query.sql, find_pair(params))

    def note(self, connection: duckdb.DuckDBPyConnection, text: str) -> str:
        """Why the answer to a statement may lack data or be wrong; empty if nothing is known."""
        if not reads_table(text, "events"):
            return ""
        ((count,),) = connection.execute("SELECT count(*) FROM dropped_events").fetchall()
        return _DROPPED.format(count) if count else ""

    def query_note(self, connection: duckdb.DuckDBPyConnection, text: str) -> str:
        """The note of a canned query, also about models that its parts leave out."""
        notes = [self.note(connection, text)]
        if reads_table(text, "token_dumps"):
            counts = self._count_without_tokens(connection)
            notes += [_ONE_KIND.format(*counts)] if counts[0] else []
        return "; ".join(filter(None, notes))

    def _count_without_tokens(self, connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
        """How many models write no tokens, and how many there are."""
        if self._without_tokens is None or self._writer is not None:
            part = read_sql_file("parts", "token_dumps")
            text = f"WITH token_dumps AS ({part}) {read_statement('models_without_tokens')}"
            (self._without_tokens,) = connection.execute(duckdb_text(text)).fetchall()
        return self._without_tokens

    def with_note(
        self, answer: pa.Table, connection: duckdb.DuckDBPyConnection, text: str
    ) -> pa.Table:
        """The answer to a statement, with its `note`, if any, in the metadata."""
        note = self.note(connection, text)
        return answer.replace_schema_metadata({"note": note}) if note else answer

    def explaining_errors(self) -> AbstractContextManager[None]:
        """Replace errors of statements in the body by errors that explain a known cause."""
        return nullcontext()

    def interrupt(self) -> None:
        """Stop the running statements, from another thread."""
        for connection in list(self._connections.values()):
            connection.interrupt()

    def close(self) -> None:
        """Close all connections except the writer."""
        for connection in (*self._connections.values(), self._attached):
            if connection is not None:
                connection.close()
        self._attached = None
        # Only now: closing any descriptor releases DuckDB's lock.
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._spill is not None:
            self._spill.cleanup()
            self._spill = None

    def _trusted(self, text: str, pair: Pair | None = None) -> duckdb.DuckDBPyConnection:
        connection = self.connection("trusted", text, pair)
        register_functions(connection, text)
        return connection

    def _prepare(self, access: Access) -> duckdb.DuckDBPyConnection:
        """A connection to the database that shows what it may."""
        connection = self._open(access)
        with closed_on_error(connection):
            use_database(connection)
            if self._pools is not None:
                show_pools(connection, self._pools)
        return connection

    def _open(self, access: Access) -> duckdb.DuckDBPyConnection:
        if self._writer is not None:
            return open_cursor(self._writer)
        # Statements that may not spill need whatever memory there is.
        limits = self._limits if access == "untrusted" else reading_limit()
        spill = self._spill_folder(access)
        self._attached = connection = self._attached or attach_reader(self.file)
        restrict_reader(connection, spill=spill, allow_files=access == "with files", limits=limits)
        self._attached = None
        return connection

    def _spill_folder(self, access: Access) -> Path | None:
        """A private folder for files that trusted statements spill, created on first use."""
        if access != "trusted":
            return None
        if self._spill is None:
            self._spill = tempfile.TemporaryDirectory(prefix="tracehouse-")
        return Path(self._spill.name)


def find_pair(params: Mapping[str, object]) -> Pair | None:
    """The two builds that a query with these parameters compares; None if it compares none."""
    base, head = params.get("base"), params.get("head")
    return (base, head) if isinstance(base, str) and isinstance(head, str) else None
