"""What a store answers: rows of canned queries and of SQL, its schema, and its programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from functools import wraps
from itertools import chain
from threading import Event
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from tracehouse.warehouse.catalogue.answers import stream_answer
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import Query, find_query
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.catalogue.views import load_views
from tracehouse.warehouse.engine.connection import reading
from tracehouse.warehouse.engine.deadlines import within
from tracehouse.warehouse.engine.statements import answer_statement
from tracehouse.warehouse.engine.views import comment_views
from tracehouse.warehouse.errors import QueryError, StatementError
from tracehouse.warehouse.opening.doors import errors_while_open
from tracehouse.warehouse.opening.session import Session

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 100_000
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")
_Asked = TypeVar("_Asked", bound="StoreAnswers")


def _make_call(
    method: Callable[Concatenate[_Asked, _Params], _Result], *, is_answer: bool
) -> Callable[Concatenate[_Asked, _Params], _Result]:
    @wraps(method)
    def call(self: _Asked, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        with self._session.call(is_answer=is_answer):
            return method(self, *args, **kwargs)

    return call


def as_call(
    method: Callable[Concatenate[_Asked, _Params], _Result],
) -> Callable[Concatenate[_Asked, _Params], _Result]:
    """The method, which keeps open what it opens until it ends; see `Session.call`."""
    return _make_call(method, is_answer=False)


def as_answer(
    method: Callable[Concatenate[_Asked, _Params], _Result],
) -> Callable[Concatenate[_Asked, _Params], _Result]:
    """The method as a call during which nothing may be written; see `Session.call`."""
    return _make_call(method, is_answer=True)


class StoreAnswers:
    """A store that is asked. Use it as a context manager, or call `close`."""

    def __init__(self, session: Session) -> None:
        self._session, self._path = session, session.path

    @property
    def snapshot_time(self) -> datetime | None:
        """Time of the snapshot that was read last; None for the store's own file."""
        snapshot = self._session.last_opened.snapshot
        return snapshot and snapshot.taken_at

    @property
    def damage(self) -> str:
        """Why a snapshot was read, and the remedy, if the store is damaged or old."""
        return self._session.last_opened.damage

    def query(self, name: str | Query, /, **params: object) -> pa.Table:
        """Rows of a canned query.

        Args:
            name: Name of the query; or a query that is not listed.
            **params: Parameters; texts are converted, and defaults filled in. A parameter of
                several values accepts a text or a sequence of texts, which may be globs.

        Returns:
            The columns of the query's header, in its order. If the query reads raw events and some
            were dropped, the metadata of the table's schema has a `note`.

        Raises:
            UnknownQueryError: No canned query has this name.
            ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or
                names a dump, device, build, tag, ... that the store does not have.
        """
        with self.stream_query(name, params) as rows:
            return rows.read_all()

    @contextmanager
    def stream_query(
        self, name: str | Query, params: Mapping[str, object], *, most_rows: int | None = None
    ) -> Iterator[pa.RecordBatchReader]:
        """The rows of a canned query, computed while they are read; see `query`.

        Args:
            name: Name of the query; or a query that is not listed.
            params: Parameters.
            most_rows: How many rows are read at most; None if all may be read.
        """
        import pyarrow as pa

        query = find_query(name) if isinstance(name, str) else name
        with self._session.call(is_answer=True):
            if query.is_computed:
                from tracehouse.warehouse.regressions.computed import answer_computed

                yield answer_computed(self, query, params).to_reader()
                return
            answering = self._session.answering
            connection = answering.for_query(query, params)
            with self._explained(), reading(connection):
                note = answering.query_note(connection, query.sql)
                batches = stream_answer(
                    connection, query, params, seconds=self._session.seconds, most_rows=most_rows
                )
                with closing(batches):
                    first = next(batches)
                    schema = first.schema.with_metadata({"note": note} if note else None)
                    yield pa.RecordBatchReader.from_batches(schema, chain([first], batches))

    @as_answer
    def sql(
        self,
        text: str,
        params: Mapping[str, object] | Sequence[object] | None = None,
        *,
        allow_files: bool = False,
    ) -> pa.Table:
        """Rows of an ad-hoc SELECT over the tables and views.

        Args:
            text: The statement, which can neither change the store nor read or write files.
            params: Values of parameters: by name for ``$name``, in order for ``?``.
            allow_files: Let the statement read files, such as a CSV to join; the store must be
                opened read-only for that.

        Raises:
            StatementError: The statement is not a single SELECT (or EXPLAIN of one), or fails.
        """
        if allow_files and self._session.writer is not None:
            raise StatementError("files can be read only if the store is opened read-only")
        connection = self._session.answering.connection(
            "with files" if allow_files else "untrusted", text
        )
        with self._explained():
            table = answer_statement(connection, text, params, allow_files=allow_files)
            return self._session.answering.with_note(table, connection, text)

    @contextmanager
    def stream(
        self, text: str, params: Mapping[str, object] | None = None
    ) -> Iterator[pa.RecordBatchReader]:
        """Rows of a SELECT of tracehouse, which may spill to disk, computed while they are read.

        Args:
            text: The statement; it is not checked, so it must not come from a user.
            params: Values of parameters by name.
        """
        with self._session.call(is_answer=True):
            connection = self._session.answering.for_statement(text)
            with self._explained(), reading(connection):
                answer = connection.sql(duckdb_text(text), params=params)
                with answer.to_arrow_reader(_BATCH_ROWS) as rows:
                    yield rows

    @as_answer
    def schema(self) -> pa.Table:
        """Tables, views and columns with types and comments.

        Returns:
            table_name, column_name (null for the table or view itself), type, comment.
        """
        connection = self._session.answering.connection("trusted", " ".join(load_views()))
        with errors_while_open(self._path, self._session.answering.file):
            comment_views(connection)
            return connection.sql(read_statement("described_schema")).to_arrow_table()

    @as_answer
    def exported_program(
        self,
        etrecord_id: int | None = None,
        *,
        dump_id: int | None = None,
        graph: str | None = None,
    ) -> Any:
        """ExecuTorch's ExportedProgram of an ETRecord; executorch must be installed.

        It is read from the archive.

        Args:
            etrecord_id: The ETRecord.
            dump_id: A dump that was ingested with the ETRecord, instead of its id.
            graph: Name of the graph, as in the table graph_nodes; by default the program in the
                edge dialect. ``GRAPH/METHOD`` names another method than forward.

        Raises:
            QueryError: executorch is missing, or the archive has lost the ETRecord.
        """
        from tracehouse.ingest.etrecord.names import EDGE_PROGRAM
        from tracehouse.warehouse.archive.archive import Archive
        from tracehouse.warehouse.programs import exported_programs as programs

        wanted = graph or EDGE_PROGRAM
        with errors_while_open(self._path, self._session.answering.file):
            connection = self._session.answering.connection("trusted")
            name, sha256 = programs.find_etrecord(
                connection, etrecord_id=etrecord_id, dump_id=dump_id
            )
            archived = Archive(self._path).find(sha256)
            if archived is None:
                raise QueryError(f"{name}: not in the archive: ingest it again with its dump")
            return programs.pick_exported_program(archived.data, name, graph=wanted)

    def within(
        self, seconds: float | None, stop: Event | None = None
    ) -> AbstractContextManager[None]:
        """Interrupt the body's queries of this store after some seconds, or when `stop` is set.

        The body then raises SlowAnswerError, or LongQuestionError as soon as a canned query is seen
        to take longer; close the store afterwards.
        """
        self._session.seconds = seconds
        return within(seconds, self._session.interrupt, stop)

    def limit_to(self, pools: Collection[str]) -> None:
        """Hide all but what is of these device pools; before the first query."""
        self._session.answering.limit_to(pools)

    def close(self) -> None:
        """Close the store; further use fails.

        If the last checkpoint fails, the store is rebuilt, unless it was opened patiently.

        Raises:
            StoreError: Some rows are still in the store's write-ahead log, where they are safe, or
                the file was deleted or replaced.
            FailedCheckpointError: The last checkpoint failed, and the store was opened patiently.
        """
        self._session.close()

    def __enter__(self) -> Self:
        self._session.enter()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._session.close(error)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn DuckDB's errors about a query into our own."""
        file = self._session.answering.file
        with errors_while_open(self._path, file), self._session.answering.explaining_errors():
            yield
