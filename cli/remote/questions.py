"""Queries of a store through its service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import cache, cached_property
from http import HTTPStatus
from threading import Event
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from tracehouse.cli.output.streams import write_note
from tracehouse.ingest.errors import ServiceError
from tracehouse.warehouse.engine.deadlines import within
from tracehouse.warehouse.errors import QueryError, StatementError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.ingest.remote.connection import ServiceAnswer, ServiceConnection
    from tracehouse.queries.report.forms import Form


ARROW = "application/vnd.apache.arrow.stream"
SNAPSHOT_HEADER = "Tracehouse-Snapshot"

_QUESTION_AT_FAULT = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
_QUESTIONS = {"unknown_query", "deadline"}


class RemoteStore:
    """A store behind a service, with the query methods of `Store`."""

    def __init__(
        self, connection: ServiceConnection, *, note: Callable[[str], None] = write_note
    ) -> None:
        """Ask over a connection; `note` is told which snapshot an answer is from."""
        self._connection, self._note = connection, note
        self._told: str | None = None  # the snapshot that the last note was about

    def within(self, seconds: float | None, stop: Event) -> AbstractContextManager[None]:
        """Interrupt the body's questions after some seconds, or when `stop` is set.

        The body then raises an error; the service stops what it did for a client that is gone.
        """
        return within(seconds, self._connection.interrupt, stop)

    def query(self, name: str, /, **params: object) -> pa.Table:
        """Rows of a canned query; see `Store.query`."""
        with self.stream_query(name, params) as rows:
            return rows.read_all()

    @contextmanager
    def stream_query(
        self, name: str, params: Mapping[str, object]
    ) -> Iterator[pa.RecordBatchReader]:
        """The rows of a canned query, decoded while they are read."""
        given = {name: value for name, value in params.items() if value is not None}
        pairs = [(name, text) for name, value in given.items() for text in _texts(value)]
        path = _path(f"/v1/queries/{quote(name, safe='')}", pairs)
        with self._opened(self.ask("GET", path), path) as rows:
            yield rows

    def sql(
        self,
        text: str,
        params: Mapping[str, object] | Sequence[object] | None = None,
        *,
        allow_files: bool = False,
    ) -> pa.Table:
        """Rows of an ad-hoc SELECT; see `Store.sql`.

        Raises:
            StatementError: The statement would read files, which a service does not allow, or has
                parameters that JSON cannot represent.
        """
        if allow_files:
            raise StatementError("--allow-files needs a local store; leave out --url")
        try:
            body = json.dumps({"sql": text, "params": params or {}}).encode()
        except TypeError as error:
            wanted = "wanted texts, numbers or booleans, and CAST in the statement"
            raise StatementError(f"params: {error}; {wanted}") from error
        return self._table("POST", "/v1/sql", body)

    def schema(self) -> pa.Table:
        """Tables, views and columns; see `Store.schema`."""
        return self._table("GET", "/v1/schema")

    def status(self) -> pa.Table:
        """The state of the store and its service: one row."""
        return self._table("GET", "/v1/status")

    def document(self, path: str, form: str, params: Mapping[str, str | None]) -> str:
        """The report or the explanation at a path of the service, in a form."""
        given = {**params, "format": form}
        pairs = [(name, value) for name, value in given.items() if value is not None]
        return self.ask("GET", _path(path, pairs)).body.decode("utf-8", "replace")

    def _table(self, method: str, path: str, body: bytes = b"") -> pa.Table:
        return self.table_of(self.ask(method, path, body), path)

    def table_of(self, answer: ServiceAnswer, path: str) -> pa.Table:
        """The table in the answer of a path; a ServiceError if it has none."""
        with self._opened(answer, path) as rows:
            return rows.read_all()

    @contextmanager
    def _opened(self, answer: ServiceAnswer, path: str) -> Iterator[pa.RecordBatchReader]:
        """The rows in the answer of a path.

        Raises:
            ServiceError: The answer has none.
        """
        import pyarrow as pa

        try:
            with pa.ipc.open_stream(pa.py_buffer(answer.body)) as stream:
                yield stream
        except pa.ArrowInvalid as error:
            detail = "unexpected answer; is this the address of a tracehouse service?"
            raise ServiceError(self._connection.url + path, detail, reason="answer") from error

    def ask(
        self, method: str, path: str, body: bytes = b"", *, headers: Mapping[str, str] | None = None
    ) -> ServiceAnswer:
        """The answer to a question.

        Raises:
            QueryError: The query is at fault.
            ServiceError: The service cannot be reached, or fails.
        """
        sent = {"Accept": f"{ARROW}, application/json;q=0.5, */*;q=0.1", **(headers or {})}
        if body:
            sent["Content-Type"] = "application/json"
        try:
            answer = self._connection.request(method, path, headers=sent, body=[body])
        except ServiceError as error:
            if error.status in _QUESTION_AT_FAULT or error.reason in _QUESTIONS:
                raise QueryError(error.detail) from error
            raise
        taken_at = answer.headers.get(SNAPSHOT_HEADER)
        if taken_at and taken_at != self._told:
            self._told = taken_at
            self._note(f"note: answered from the service's snapshot of {_with_age(taken_at)}")
        return answer


def _path(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _with_age(taken_at: str) -> str:
    """The service's text of a time, and how long ago that is."""
    try:
        age = (datetime.now(UTC) - datetime.fromisoformat(taken_at)).total_seconds()
    except (ValueError, TypeError):
        return taken_at
    return f"{taken_at}, which is {max(age, 0.0):,.0f} s old"


def _texts(value: object) -> list[str]:
    """The texts of a parameter's values in a URL."""
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    return [str(value)]


class RemoteReport:
    """A report on two builds; without a base, on the head's night, or on a branch's last night.

    Attributes:
        text: The report in a form, requested once, as a later request might get a later build.
    """

    def __init__(self, connection: ServiceConnection, **builds: str | None) -> None:
        document = RemoteStore(connection).document
        self.text: Callable[[Form], str] = cache(lambda form: document("/v1/report", form, builds))

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        return str(self._content["summary"])

    @property
    def verdict(self) -> str:
        """The verdict in a word."""
        return str(self._content["verdict"])

    @property
    def notes(self) -> list[str]:
        """Notes to read before the report."""
        return [str(note) for note in self._content["notes"]]

    @cached_property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.text("json"))
        return content
