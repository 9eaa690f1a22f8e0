"""What small hostile uploads cost a service: `python -m tests.tools.service.hostile [NAME ...]`.

Each upload goes to a service of its own. While it is handled, another client asks for `/healthz`
all the time. The figures are the peak memory of the service's process above that before the upload,
the peak memory of its largest child, and the longest time that an answer to the other client took.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2

from tests.support.processes import memory_bytes
from tests.support.service_process import ServiceProcess
from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_dump
from tests.support.uploads import record_of
from tests.support.waiting import repeating

_MOST_SECONDS = 120.0
_PAUSE = 0.005  # between two questions
_WATCHED_PAUSE = 0.02  # between two readings of the memory
_STATED = json.dumps(MANIFEST).encode()


class Upload(NamedTuple):
    """A body with its headers, and the path that it is sent to."""

    path: str
    headers: Mapping[str, str]
    body: bytes


def _batch(**parts: bytes) -> Upload:
    body = gzip.compress(record_of(tiny_dump(1), parts.pop("manifest", _STATED), **parts))
    return Upload("/v1/dumps:batch", {"Content-Encoding": "gzip"}, body)


def _filled(piece: bytes, mebibytes: int) -> bytes:
    return piece * ((mebibytes << 20) // len(piece))


def _brackets(mebibytes: int) -> bytes:
    return b"[" + _filled(b"[],", mebibytes) + b"0]"


def _etrecord(mebibytes: int) -> bytes:
    """An ETRecord whose map of debug handles is a list of short lists, as many as are allowed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ETRECORD_V0", b"")
        text = b'{"forward":{"1":[' + _filled(b"1             ,", mebibytes) + b"1]}}"
        archive.writestr("debug_handle_map", text)
        archive.writestr("padding", os.urandom((mebibytes << 20) // 60), zipfile.ZIP_STORED)
    return packed.getvalue()


def _unknown_fields() -> bytes:
    fields = {f"devce{number}": 0 for number in range(60_000)}
    return json.dumps({**MANIFEST, **fields}).encode()


def _nested_tags() -> bytes:
    lists = "[" + "[]," * 349_000 + "0]"
    return json.dumps({**MANIFEST, "lists": 0}).replace('"lists": 0', f'"lists": {lists}').encode()


def _counters() -> bytes:
    lines = (b"ethosu_pmu_cntr%d : 1\n" % number for number in range(2_400_000))
    return b"".join(lines)


UPLOADS: dict[str, Callable[[], Upload]] = {
    "qhas": lambda: _batch(qhas=_brackets(63)),
    "qhas within limits": lambda: _batch(qhas=b"[" + _filled(b"[]," + b" " * 49, 15) + b"0]"),
    "log of bytes": lambda: _batch(log=_filled(b"\xff", 63)),
    "log of counters": lambda: _batch(log=_counters()),
    "log of observers": lambda: _batch(log=_filled(b'PyTorchObserver {"a":1}\n', 63)),
    "manifest": lambda: _batch(manifest=_nested_tags()),
    "etrecord": lambda: _batch(etrecord=_etrecord(250)),
    "manifest of unknown fields": lambda: _batch(manifest=_unknown_fields()),
}


@contextmanager
def _asking(url: str, longest: list[float]) -> Iterator[None]:
    """Ask for the health of a service until the body ends, and note the longest answer."""
    with httpx2.Client(base_url=url, timeout=_MOST_SECONDS) as client:

        def ask() -> None:
            start = time.monotonic()
            client.get("/healthz").raise_for_status()
            longest[0] = max(longest[0], time.monotonic() - start)

        with repeating(ask, _PAUSE):
            yield


@contextmanager
def _watching(service: ServiceProcess, peaks: dict[int, int]) -> Iterator[None]:
    """Note the peak of memory of each process of a service until the body ends."""

    def watch() -> None:
        for pid in service.family():
            peaks[pid] = max(peaks.get(pid, 0), memory_bytes(pid, "VmHWM"))

    with repeating(watch, _WATCHED_PAUSE):
        yield


def measure(upload: Upload) -> dict[str, object]:
    """The cost of an upload for a new service."""
    longest, peaks = [0.0], dict[int, int]()
    with tempfile.TemporaryDirectory() as name:
        store, log = Path(name, "store"), Path(name, "log")
        with (
            ServiceProcess(store, free_bytes=0, log=log) as service,
            httpx2.Client(base_url=service.url, timeout=_MOST_SECONDS) as client,
        ):
            _send(client, _batch())
            _settle(client)
            before = memory_bytes(service.id, "VmHWM")
            start = time.monotonic()
            with _watching(service, peaks), _asking(service.url, longest):
                answer = _send(client, upload)
                answered = time.monotonic() - start
                _settle(client)
            took = time.monotonic() - start
    children = [peak for pid, peak in peaks.items() if pid != service.id]
    found = answer.json()
    results = found.get("dumps") or [found]
    return {
        "bytes": len(upload.body),
        "answer": results[0].get("detail", answer.status_code),
        "answered s": round(answered, 1),
        "indexed s": round(took, 1),
        "longest other answer s": round(longest[0], 2),
        "service MB": (peaks[service.id] - before) // 1_000_000,
        "child MB": max(children, default=0) // 1_000_000,
    }


def _send(client: httpx2.Client, upload: Upload) -> httpx2.Response:
    return client.post(upload.path, headers=dict(upload.headers), content=upload.body)


def _settle(client: httpx2.Client) -> None:
    """Wait until nothing waits to be indexed."""
    while "tracehouse_backlog_dumps 0" not in client.get("/metrics").text:
        time.sleep(0.05)


def main(*names: str) -> None:
    """Print the figures of some uploads, or of all."""
    for name in names or UPLOADS:
        sys.stdout.write(f"{name}: {json.dumps(measure(UPLOADS[name]()))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
