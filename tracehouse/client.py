"""Clients of a service: dumps are uploaded, and questions are answered as those to a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from tracehouse.answers import Answer, Document
from tracehouse.cli.remote import RemoteStore
from tracehouse.ingest.errors import ServiceError
from tracehouse.ingest.remote import RETRY_SECONDS, OutgoingDump, Pool, Receipt, ServiceConnection
from tracehouse.questions import Questions

if TYPE_CHECKING:
    from tracehouse.queries.report.forms import Form

CONNECTIONS = 4

_Params = ParamSpec("_Params")
_Answer = TypeVar("_Answer")


class Client(Questions):
    """A service, over one connection, for one thread; use it as a context manager.

    A method raises ServiceError if the service cannot be reached or refuses, and QueryError if the
    question is at fault.
    """

    def __init__(
        self, url: str, *, token: str | None = None, retry_seconds: float = RETRY_SECONDS
    ) -> None:
        """Prepare the connection; the first request opens it.

        Args:
            url: The service's URL, such as http://127.0.0.1:8080.
            token: Access token; by default the value of $TRACEHOUSE_TOKEN.
            retry_seconds: How long to retry while the service is unreachable or busy.

        Raises:
            ServiceError: The URL or the token is malformed.
        """
        self._connection = ServiceConnection(url, token=token, retry_seconds=retry_seconds)
        self._store = RemoteStore(self._connection, note=lambda _: None)

    def upload(self, dumps: Iterable[OutgoingDump]) -> list[Receipt | ServiceError]:
        """The result of each dump, in order; a dump with a receipt is on the service's disk."""
        return self._connection.upload(dumps)

    def query(self, name: str, /, **params: object) -> Answer:
        """Rows of a canned query; see `Warehouse.query`."""
        return Answer(self._store.query(name, **params), name, params)

    def sql(
        self,
        text: str,
        params: Mapping[str, object] | Sequence[object] | None = None,
        *,
        allow_files: bool = False,
    ) -> Answer:
        """Rows of a SELECT on the service's newest snapshot; files cannot be read."""
        return Answer(self._store.sql(text, params, allow_files=allow_files))

    def report(
        self,
        head: str | None = None,
        *,
        base: str | None = None,
        branch: str | None = None,
        form: Form = "markdown",
    ) -> Document:
        """The report of a build, by default the last, or its comparison with a base."""
        builds = {"head": head, "base": base, "branch": branch}
        return Document(self._store.document("/v1/report", form, builds), form)

    def schema(self) -> Answer:
        """Tables, views and columns."""
        return Answer(self._store.schema(), "schema")

    def status(self) -> Answer:
        """The state of the store and its service: one row."""
        return Answer(self._store.status(), "status")

    def close(self) -> None:
        """Close the connection; the next request would open it again."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"<Client {self._connection.url}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _in_thread(
    method: Callable[Concatenate[Client, _Params], _Answer],
) -> Callable[Concatenate[AsyncClient, _Params], Coroutine[Any, Any, _Answer]]:
    """The method of `AsyncClient` that calls this one in a thread."""

    @wraps(method)
    async def call(self: AsyncClient, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Answer:
        return await self.run(lambda client: method(client, *args, **kwargs))

    return call


class AsyncClient:
    """The methods of `Client` for coroutines; use it as an asynchronous context manager.

    Requests run in threads, each over a connection of its own, so that several may be under way.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retry_seconds: float = RETRY_SECONDS,
        connections: int = CONNECTIONS,
    ) -> None:
        """Prepare the connections; see `Client`.

        Raises:
            ServiceError: The URL or the token is malformed.
        """
        self._clients = Pool(partial(Client, url, token=token, retry_seconds=retry_seconds))
        self._threads = ThreadPoolExecutor(connections, "tracehouse")

    upload = _in_thread(Client.upload)
    query = _in_thread(Client.query)
    compare = _in_thread(Client.compare)
    sql = _in_thread(Client.sql)
    report = _in_thread(Client.report)
    schema = _in_thread(Client.schema)
    status = _in_thread(Client.status)

    async def close(self) -> None:
        """Wait for requests that are under way, and close all connections."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)
        self._clients.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, function: Callable[[Client], _Answer]) -> _Answer:
        """Call a function with a client of its own, in a thread."""

        def answer() -> _Answer:
            with self._clients.lend() as client:
                return function(client)

        return await asyncio.get_running_loop().run_in_executor(self._threads, answer)
