"""The service that a command line chooses, if any, and what it answers in place of a store.

Every command imports this module, and with it nothing that takes long.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

import typer

from tracehouse.cli.errors import UsageError
from tracehouse.cli.output.streams import write_note
from tracehouse.ingest.errors import ServiceError
from tracehouse.warehouse.engine.deadlines import within
from tracehouse.warehouse.errors import QueryError, StatementError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.ingest.remote import ServiceAnswer, ServiceConnection
    from tracehouse.queries.report.forms import Form
    from tracehouse.warehouse.load.summary import IngestProgress

ARROW = "application/vnd.apache.arrow.stream"
SNAPSHOT_HEADER = "Tracehouse-Snapshot"
UPKEEP_PATH = "/v1/upkeep"
KEY_HEADER = "Idempotency-Key"

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="TRACEHOUSE_URL",
        metavar="URL",
        help="Use the service at this URL instead of a local store. Its token is read from "
        "$TRACEHOUSE_TOKEN.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="Read the token from FILE instead."),
]

_QUESTION_AT_FAULT = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
_QUESTIONS = {"unknown_query", "deadline"}
_chosen: ContextVar[tuple[str | None, Path | None]] = ContextVar("service", default=(None, None))


@dataclass(frozen=True)
class ServiceChoice:
    """A service, and the file of its token; by default the token is in $TRACEHOUSE_TOKEN.

    Attributes:
        key: Key of the service of a store of this user, in place of a token.
    """

    url: str
    token_file: Path | None = None
    key: str | None = None

    def connect(self, *, retry_seconds: float = 0.0) -> ServiceConnection:
        """A connection for one thread, opened with its first request.

        Raises:
            UsageError: The URL is malformed, or the token cannot be read.
        """
        from tracehouse.ingest.errors import ServiceError
        from tracehouse.ingest.remote import ServiceConnection

        token = self.key if self.token_file is None else _read_token(self.token_file)
        try:
            return ServiceConnection(self.url, token=token, retry_seconds=retry_seconds)
        except ServiceError as error:
            raise UsageError(f"--url: {error}") from error

    def reject_settings(self, config: Path | None) -> None:
        """Check that no settings file was named.

        Raises:
            BadParameter: One was named, but a service has its own settings.
        """
        if config is not None:
            raise typer.BadParameter("a service uses its own settings", param_hint="'--config'")


def choose_service(url: str | None, token_file: Path | None) -> None:
    """Choose a service for this command line; without a URL, a local store."""
    _chosen.set((url, token_file))


def choose_service_of(url: str | None, token_file: Path | None) -> None:
    """Choose a service by options after a command's name, which win over those before it."""
    before = _chosen.get()
    choose_service(url or before[0], token_file or before[1])


def chosen_service() -> ServiceChoice | None:
    """The service that this command line chose; None for a local store."""
    url, token_file = _chosen.get()
    return ServiceChoice(url, token_file) if url else None


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
        with self._open_rows(self._ask("GET", path), path) as rows:
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
        return self._ask("GET", _path(path, pairs)).body.decode("utf-8", "replace")

    def run_task(
        self,
        name: str,
        parameters: Mapping[str, object],
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> pa.Table:
        """The rows of an upkeep task; waits until the service has done it."""
        from tracehouse.warehouse.load.summary import IngestProgress

        path, key = f"{UPKEEP_PATH}/{name}", {KEY_HEADER: uuid.uuid4().hex}
        answer = self._ask("POST", path, json.dumps(parameters).encode(), headers=key)
        while answer.status == HTTPStatus.ACCEPTED:
            job = json.loads(answer.body)
            if progress and job["total"]:
                progress(IngestProgress(job["done"], job["total"], 0, 0))
            answer = self._ask("GET", f"{UPKEEP_PATH}/{job['id']}")
        with self._open_rows(answer, path) as rows:
            return rows.read_all()

    def _table(self, method: str, path: str, body: bytes = b"") -> pa.Table:
        with self._open_rows(self._ask(method, path, body), path) as rows:
            return rows.read_all()

    @contextmanager
    def _open_rows(self, answer: ServiceAnswer, path: str) -> Iterator[pa.RecordBatchReader]:
        """The rows in the answer of a path.

        Raises:
            ServiceError: The answer has none.
        """
        import pyarrow as pa

        try:
            with pa.ipc.open_stream(pa.py_buffer(answer.body)) as stream:
                yield stream
        except pa.ArrowInvalid as error:
            raise self._connection.unexpected_answer(path) from error

    def _ask(
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


def _read_token(file: Path) -> str:
    try:
        token = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(f"--token-file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--token-file {file}: not a token: wanted ASCII") from error
    if not token or not token.isprintable():
        raise UsageError(f"--token-file {file}: not a token: wanted one line")
    return token
