"""A store: open it, put dumps in, ask questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import duckdb

from ingest.companions import CompanionFinder
from ingest.etrecord import EDGE_PROGRAM
from ingest.manifest import ManifestResolver
from ingest.sources import Source, find_sources
from warehouse import DEFAULT_PATH
from warehouse.catalogue import bind_parameters, duckdb_text, find_query
from warehouse.connection import connect, translated_errors
from warehouse.errors import ParameterError, StatementError, suggest
from warehouse.exported_programs import find_etrecord, read_exported_program
from warehouse.ingestion import IngestProgress, IngestSummary, ingest_sources
from warehouse.migrations import check_version, is_current, migrate
from warehouse.statements import check_statement

if TYPE_CHECKING:
    import pyarrow as pa

_SCHEMA = """
SELECT table_name, NULL AS column_name, 'table' AS type, comment FROM duckdb_tables()
WHERE NOT internal
UNION ALL SELECT view_name, NULL, 'view', comment FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
WHERE NOT internal
ORDER BY table_name, column_name NULLS FIRST
"""


# Parameters that name something, and the names there are: a misspelt one must not mean "no rows".
_NAMES = {
    "device": "SELECT name FROM devices",
    "pool": "SELECT pool FROM devices WHERE pool IS NOT NULL",
    "build": "SELECT name FROM builds",
    "base": "SELECT name FROM builds",
    "head": "SELECT name FROM builds",
    "model": "SELECT name FROM models",
    "backend": "SELECT backend FROM models WHERE backend IS NOT NULL",
    "event": "SELECT event_name FROM named_event_signatures",
}


class Warehouse:
    """An open store. Use as a context manager, or call `close`."""

    def __init__(self, path: Path, connection: duckdb.DuckDBPyConnection) -> None:
        """Wrap an open connection; see `open`."""
        self._path = path
        self._connection = connection

    @classmethod
    def open(
        cls, path: str | os.PathLike[str] = DEFAULT_PATH, *, read_only: bool = False
    ) -> Warehouse:
        """Open the store in a directory, created and brought up to date as needed.

        Args:
            path: The store's directory.
            read_only: Let other readers in, and refuse to create or write.

        Raises:
            StoreError: There is no store to read, it is not one, or it cannot be written.
            StoreLockedError: Another process has it open.
            StoreVersionError: A newer tracehouse wrote it.
        """
        store = Path(path)
        connection = connect(store, read_only=read_only)
        try:
            with translated_errors(store):
                check_version(connection, str(store))
                if not is_current(connection):
                    if read_only:  # written by an older tracehouse: bring it up to date first
                        connection.close()
                        cls.open(store).close()
                        connection = connect(store, read_only=True)
                    else:
                        migrate(connection)
        except BaseException:  # an interrupt too must not leave the file locked
            connection.close()
            raise
        return cls(store, connection)

    def ingest(
        self,
        paths: Iterable[str | os.PathLike[str] | Source],
        *,
        manifest: Mapping[str, object] | None = None,
        layout: str | None = None,
        etrecord: str | os.PathLike[str] | Source | None = None,
        jobs: int | None = None,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> IngestSummary:
        """Ingest dumps; what the store has already changes nothing.

        Args:
            paths: Files, folders, zip artifacts and globs, or sources found before.
            manifest: Fields that hold for all of them, e.g. ``{"device": "pixel8"}``; they
                override what is found beside the dumps.
            layout: Template of paths, e.g. ``{device}/{build}/{model}/*.etdp``.
            etrecord: ETRecord of all of them; by default what lies beside each, as
                ``NAME.etrecord`` or as the only such file of the folder.
            jobs: Threads that read and decode; by default as many as there are cores for.
            progress: Called after each committed batch.

        Returns:
            What was done; refused files are in it and in the table ingest_errors.

        Raises:
            StoreError: A batch cannot be written (earlier ones are committed).
        """
        resolver = ManifestResolver(overrides=manifest, layout=layout)
        sources = find_sources(paths)
        record = etrecord if isinstance(etrecord, Source | None) else Source(os.fspath(etrecord))
        with translated_errors(self._path):
            return ingest_sources(
                self._connection,
                sources,
                resolver,
                companions=CompanionFinder(record),
                jobs=jobs,
                progress=progress,
            )

    def query(self, name: str, **params: object) -> pa.Table:
        """Rows of a canned query.

        Args:
            name: Name of the query.
            **params: Its parameters; texts are converted, defaults filled in.

        Returns:
            The columns of the query's header, in its order.

        Raises:
            UnknownQueryError: No canned query of that name.
            ParameterError: A parameter is unknown, missing or of the wrong type, or names a
                device, build, model, ... that the store does not have.
        """
        query = find_query(name)
        values = bind_parameters(query, params)
        with translated_errors(self._path):
            self._check_names(name, values)
            return self._connection.sql(duckdb_text(query.sql), params=values).to_arrow_table()

    def _check_names(self, query: str, values: Mapping[str, object]) -> None:
        for param, text in _NAMES.items():
            value = values.get(param)
            if value is not None:
                known = sorted({row[0] for row in self._connection.execute(text).fetchall()})
                if value not in known:
                    problem = f"nothing in the store is called '{value}'"
                    raise ParameterError(query, param, problem + suggest(str(value), known))

    def sql(self, text: str) -> pa.Table:
        """Rows of an ad-hoc SELECT over the tables and views.

        Raises:
            StatementError: It is not a single SELECT, or fails.
        """
        check_statement(self._connection, text)
        try:
            return self._connection.sql(text).to_arrow_table()
        except duckdb.Error as error:
            raise StatementError(str(error)) from error

    def schema(self) -> pa.Table:
        """Tables, views and columns with types and comments.

        Returns:
            table_name, column_name (null for the table or view itself), type, comment.
        """
        return self._connection.sql(_SCHEMA).to_arrow_table()

    def exported_program(
        self,
        etrecord_id: int | None = None,
        *,
        dump_id: int | None = None,
        graph: str = EDGE_PROGRAM,
    ) -> Any:
        """ExecuTorch's ExportedProgram out of an ETRecord; this needs executorch.

        The store keeps what an ETRecord says, not its bytes: it is read again from where it was.
        If it is gone, SourceError is raised; if it has changed, or executorch is missing,
        QueryError.

        Args:
            etrecord_id: The ETRecord.
            dump_id: Instead, a dump that was ingested with it.
            graph: Its name, as in the table graph_nodes; with ``/METHOD`` for another method
                than forward.
        """
        with translated_errors(self._path):
            connection = self._connection
            source, sha256 = find_etrecord(connection, etrecord_id=etrecord_id, dump_id=dump_id)
        return read_exported_program(source, graph=graph, sha256=sha256)

    def close(self) -> None:
        """Close the store; further use fails."""
        self._connection.close()

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
