"""The worker: a process that runs untrusted SQL on a snapshot, and may crash.

It starts without a snapshot, so that it can be started before there is a statement for it.

The kernel enforces the same restrictions as DuckDB's settings: once the snapshot is open, the
process can neither open nor write files, make sockets or start processes, and gets no more memory
than its limit.
"""

from __future__ import annotations

import json
import os
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from tracehouse.warehouse.catalogue.views import load_views
from tracehouse.warehouse.children.confinement import confine
from tracehouse.warehouse.children.messages import GONE, Message, receive, requests, send
from tracehouse.warehouse.children.process import (
    count_data,
    disable_core_dumps,
    limit_data,
    tie_to_owner,
)
from tracehouse.warehouse.engine.aligned_operators import load_modules
from tracehouse.warehouse.engine.connection import translated_errors
from tracehouse.warehouse.engine.statements import streamed_answer
from tracehouse.warehouse.engine.store_connections import StoreConnections
from tracehouse.warehouse.engine.view_rows import load_texts
from tracehouse.warehouse.errors import StatementError, StoreError
from tracehouse.warehouse.sandbox.bounds import Bounds

_NICENESS = 10  # uploads have priority
_OWN_SHARE = 0.75  # of the memory: DuckDB's limit, which does not count texts and lists
_BATCH_ROWS = 4096
_FIRST = """
SELECT count(*) AS n, now() AS t, uuid() AS u, smallest_change([1.0]) AS c FROM named_dumps
"""


def serve(channel: int, bounds: str) -> None:
    """Answer statements from a socket until its other end is closed.

    An empty message is sent at the start. The first message names the store and the snapshot.
    """
    tie_to_owner()
    disable_core_dumps()
    load_views()
    load_modules()
    load_texts()
    with socket.socket(fileno=channel) as owner, suppress(*GONE):
        send(owner, {})
        place = receive(owner).message
        paths = Path(place["store"]), Path(place["snapshot"])
        reader = _SnapshotReader(*paths, Bounds(*json.loads(bounds)))
        send(owner, reader.prepare())
        os.nice(_NICENESS)
        for request in requests(owner):
            answer = reader.answer(request.message["text"], request.message["params"])
            data = answer.pop("data", b"")
            with suppress(*GONE):
                send(owner, {**answer, "byte_count": len(data)})
                owner.sendall(data)


class _TooLongError(Exception):
    """An answer has more rows or bytes than its limit."""


class _SnapshotReader:
    """Answers one statement at a time."""

    def __init__(self, store: Path, snapshot: Path, bounds: Bounds) -> None:
        self._store, self._bounds = store, bounds
        self._connections = StoreConnections(
            store,
            snapshot,
            limits={
                "memory_limit": f"{int(bounds.memory_bytes * _OWN_SHARE)}B",
                "threads": 1,
                "async_threads": 0,  # Landlock would not confine them
                "max_execution_time": int(bounds.seconds * 1000),
            },
        )

    def prepare(self) -> Message:
        """Open the snapshot and lock the process down; returns an empty message or the problem."""
        try:
            self._connections.check()
        except StoreError as error:
            return {"reason": "store", "detail": error.problem}
        self._run(_FIRST, None)  # Python loads its modules while it can still read files
        _lock_down(self._bounds.memory_bytes)
        return {}

    def answer(self, text: str, params: Any) -> dict[str, Any]:
        """The answer to a statement: an Arrow stream as `data`, or the reason of its failure."""
        try:
            return self._run(text, params)
        except _TooLongError:
            return {"reason": "answer"}
        except MemoryError:
            return {"reason": "memory"}
        except StoreError as error:
            return {"reason": "store", "detail": error.problem}
        except OSError as error:  # a module or file that is read too late
            return {"reason": "store", "detail": str(error)}
        except StatementError as error:
            return _problem(str(error))
        except (OverflowError, TypeError, ValueError) as error:  # due to its parameters
            return _problem(str(error))

    def _run(self, text: str, params: Any) -> dict[str, Any]:
        connection = self._connections.connection("untrusted", text)
        with translated_errors(self._store, self._connections.file):
            with streamed_answer(connection, text, params, batch_rows=_BATCH_ROWS) as batches:
                data = self._collect(batches)
            return {"data": data, "note": self._connections.note(connection, text)}

    def _collect(self, batches: pa.RecordBatchReader) -> pa.Buffer:
        """The Arrow stream of all batches.

        Raises:
            _TooLongError: The batches have too many rows or bytes.
        """
        count, sink = 0, pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batches.schema) as stream:
            for batch in batches:
                count += batch.num_rows
                stream.write_batch(batch)
                if count > self._bounds.answer_rows or sink.tell() > self._bounds.answer_bytes:
                    raise _TooLongError
        return sink.getvalue()


_REASONS: dict[str, Callable[[str], bool]] = {
    "seconds": lambda text: text.startswith("INTERRUPT Error"),
    "memory": lambda text: "Out of Memory Error" in text or "bad_alloc" in text,
}


def _problem(text: str) -> dict[str, Any]:
    for reason, fits in _REASONS.items():
        if fits(text):
            return {"reason": reason}
    return {"reason": "statement", "detail": text}


def _lock_down(memory_bytes: int) -> None:
    """Forbid this process all but to compute, and to allocate more memory."""
    own_bytes = count_data()
    lowest = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.close(lowest)
    confine()
    if own_bytes is not None:
        limit_data(own_bytes + memory_bytes)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
