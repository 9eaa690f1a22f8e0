"""A store of this machine, which answers as a service does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tracehouse.answers import Answer, Document
from tracehouse.questions import Questions
from tracehouse.warehouse import DEFAULT_PATH
from tracehouse.warehouse.catalogue.queries import Query, find_query
from tracehouse.warehouse.store import Store

if TYPE_CHECKING:
    from tracehouse.queries.report.forms import Form
    from tracehouse.warehouse.opening.session import Session


class Warehouse(Store, Questions):
    """A store of dumps. Use it as a context manager, or call `close`.

    Each call opens what it needs, and closes it when it ends. From the first call in a ``with``
    block to the end of the block, the store stays open, so calls are fast, and after the first one
    that writes the store is locked. A store that is open in no block locks nobody out.

    Attributes:
        kept_snapshots: Number of newest snapshots that `snapshot` keeps.
        config: Settings of reports and nights; None for ./tracehouse.toml, if there is one.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._store = Store(session)  # whose answers are Arrow tables, for internal callers
        self.config: Path | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = DEFAULT_PATH,
        *,
        read_only: bool = False,
        create: bool = False,
        wait: float = 0.0,
        lake: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
    ) -> Self:
        """The store in a directory, for reading until something is written.

        While another process writes the store, or if the store is of an older tracehouse, damaged
        or gone, its newest snapshot is read.

        Args:
            path: The store's directory.
            read_only: Refuse to write; a ``with`` block reads one state, that of its beginning.
            create: Create the store if missing; otherwise, a misspelt path is an error.
            wait: Seconds to wait for other processes that have the store open.
            lake: The lake that the store was exported to, from which a reader gets raw events that
                retention dropped from the store; implies `read_only`.
            config: Settings of reports and nights, as for commands; by default ./tracehouse.toml.

        Raises:
            StoreError: The store does not exist, or the directory is not one. Calls raise it, too,
                if the store is locked, damaged, or of another version.
        """
        store = super().open(path, read_only=read_only, create=create, wait=wait, lake=lake)
        store.config = Path(config) if config is not None else None
        return store

    def query(self, name: str | Query, /, **params: object) -> Answer:
        """Rows of a canned query, as a service with the same settings answers them.

        Args:
            name: Name of the query.
            **params: Parameters; texts are converted, and defaults filled in. A parameter of
                several values accepts a text or a sequence of texts, which may be globs.

        Returns:
            The columns of the query's header, in its order. If the query reads raw events and some
            were dropped, the answer has a `note`.

        Raises:
            UnknownQueryError: No canned query has this name.
            ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or
                names a dump, device, build, tag, ... that the store does not have.
        """
        query = find_query(name) if isinstance(name, str) else name
        if isinstance(name, str) and self._has_settings():
            from tracehouse.queries.answers import stream_answer
            from tracehouse.queries.report.settings import read_settings

            settings = read_settings(self.config)
            with (
                self._session.call(is_answer=True),
                stream_answer(self._store, name, params, settings) as rows,
            ):
                return Answer(rows.read_all(), name, params)
        return Answer(self._store.query(name, **params), query.header.name, params)

    def report(
        self,
        head: str | None = None,
        *,
        base: str | None = None,
        branch: str | None = None,
        form: Form = "markdown",
    ) -> Document:
        """The report of a build, by default the last, or its comparison with a base.

        QueryError is raised if both a head and a branch are given, or there is no such build.
        """
        from tracehouse.queries.answers import report_text
        from tracehouse.queries.report.settings import read_settings

        settings = read_settings(self.config)
        with self._session.call(is_answer=True):
            text = report_text(self._store, settings, head, base=base, branch=branch, form=form)
        return Document(text, form)

    def sql(
        self,
        text: str,
        params: Mapping[str, object] | Sequence[object] | None = None,
        *,
        allow_files: bool = False,
    ) -> Answer:
        """Rows of a SELECT over the tables and views.

        Args:
            text: The statement, which can neither change the store nor read or write files.
            params: Values of parameters: by name for ``$name``, in order for ``?``.
            allow_files: Let the statement read files, such as a CSV to join; the store must be
                opened with ``read_only`` for that.

        Raises:
            StatementError: The statement is not a single SELECT (or EXPLAIN of one), or fails.
        """
        return Answer(self._store.sql(text, params, allow_files=allow_files))

    def schema(self) -> Answer:
        """Tables, views and columns with types and comments.

        Returns:
            table_name, column_name (null for the table or view itself), type, comment.
        """
        return Answer(self._store.schema(), "schema")

    def status(self) -> Answer:
        """The state of the store: one row."""
        from tracehouse.queries.store_status import status_table
        from tracehouse.warehouse.opening.status import read_status

        with self._session.call(is_answer=True):
            writer = self._store if self._session.writer else None
            return Answer(status_table(read_status(self._path, writer=writer)), "status")

    def __repr__(self) -> str:
        return f"<Warehouse {str(self._path)!r}: {self._session.describe()}>"

    def _has_settings(self) -> bool:
        from tracehouse.ingest.settings_file import FILE_NAME

        return self.config is not None or os.path.exists(FILE_NAME)
