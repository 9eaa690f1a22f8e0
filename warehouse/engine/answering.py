"""What answers questions of an open store: a connection for each who asks, made when one does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import duckdb

from warehouse.catalogue.queries import Query
from warehouse.engine.connection import (
    open_cursor,
    open_reader,
    translated_errors,
    use_database,
)
from warehouse.engine.dropped import find_note
from warehouse.engine.functions import register_functions
from warehouse.engine.migrations import check_version
from warehouse.engine.own_tables import check_nothing_strange, check_tables
from warehouse.engine.scratch import ScratchFolder
from warehouse.engine.seal import is_sealed
from warehouse.engine.views import make_temporary_views, named_views

if TYPE_CHECKING:
    import pyarrow as pa

_NO_LIMITS: Mapping[str, str | int] = {}
Whose = Literal["ours", "theirs", "with files"]


class Answering:
    """Connections to one file of a store, through its writer if it is open for writing.

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
        """Name the file, which somebody else keeps from being changed meanwhile.

        `limits` are DuckDB's settings of what the statements of others may take.
        """
        self.file, self._limits = file, limits
        self._store, self._writer = store, writer
        self._scratch = ScratchFolder()
        self._connections: dict[Whose, duckdb.DuckDBPyConnection] = {}
        self._views: set[tuple[Whose, str]] = set()
        self._descriptor: int | None = None

    def check(self) -> None:
        """Pass if the file is one that we can read, as seen from where nothing can be touched.

        Raises:
            StoreError: It is unreadable or not ours, or something strange is in it.
            StoreVersionError: A newer tracehouse wrote it.
            OldStoreError: An older one did.
        """
        store = str(self._store)
        with translated_errors(self._store, self.file):
            with suppress(OSError):  # DuckDB will say that it cannot be read
                self._descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
            connection = self._connections["theirs"] = open_reader(self.file, limits=self._limits)
            is_known = self._descriptor is not None and is_sealed(self.file, self._descriptor)
            if not is_known:
                check_nothing_strange(connection, store)
            use_database(connection)
            check_version(connection, store, read_only=True)
            if not is_known:
                check_tables(connection, store)

    def connection(self, whose: Whose, text: str = "") -> duckdb.DuckDBPyConnection:
        """What answers a statement of ours, one of others, or one that may read files.

        Raises:
            StoreError: The file is unreadable.
        """
        with translated_errors(self._store, self.file):
            if whose not in self._connections:
                self._connections[whose] = self._open(whose)
                use_database(self._connections[whose])
            missing = [name for name in named_views(text) if (whose, name) not in self._views]
            make_temporary_views(self._connections[whose], missing)
            self._views.update((whose, name) for name in missing)
        return self._connections[whose]

    def asked(self, query: Query, params: Mapping[str, object]) -> duckdb.DuckDBPyConnection:
        """What answers a canned query with these parameters.

        Raises:
            StoreError: The file is unreadable.
        """
        connection = self.connection("ours", query.sql)
        register_functions(connection, query.sql)
        return connection

    def note(self, connection: duckdb.DuckDBPyConnection, text: str) -> str:
        """What the answer to a statement may miss, in words; empty if it misses nothing."""
        return find_note(connection, text)

    def noted(self, answer: pa.Table, connection: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
        """The answer to a statement; with a `note` in its metadata if there is something to say."""
        note = self.note(connection, text)
        return answer.replace_schema_metadata({"note": note}) if note else answer

    def explained(self) -> AbstractContextManager[None]:
        """Raise what the body does, a statement of a connection, or what this knows better."""
        return nullcontext()

    def interrupt(self) -> None:
        """Stop what is being answered, from another thread."""
        for connection in list(self._connections.values()):
            connection.interrupt()

    def close(self) -> None:
        """Let go of the file; the writer is its owner's."""
        for connection in self._connections.values():
            connection.close()
        # Only now: DuckDB's lock goes when any descriptor is closed.
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._scratch.remove()

    def _open(self, whose: Whose) -> duckdb.DuckDBPyConnection:
        if self._writer is not None:
            return open_cursor(self._writer)
        spill = self._scratch.path() if whose == "ours" else None
        return open_reader(self.file, spill=spill, allow_files=whose == "with files")
