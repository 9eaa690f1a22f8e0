"""Dumps uploaded in tests, and their states."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import httpx2

from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_dump

_MOST_SECONDS = 20.0
_NUMBERS = count(1000)


def new_dump() -> bytes:
    """A small dump that no service has yet."""
    return tiny_dump(next(_NUMBERS))


def sha256_of(dump: bytes) -> str:
    """The name under which a dump is uploaded."""
    return hashlib.sha256(dump).hexdigest()


def send(
    client: httpx2.Client, dump: bytes, manifest: Mapping[str, object] = MANIFEST
) -> httpx2.Response:
    """Upload a dump as a form."""
    files = {"dump": ("", dump, "application/octet-stream")}
    return client.post("/v1/dumps", data={"manifest": json.dumps(manifest)}, files=files)


def send_packed(
    client: httpx2.Client, dump: bytes, pack: Callable[[bytes], bytes], encoding: str
) -> httpx2.Response:
    """Upload a dump as a form that is packed."""
    files = {"dump": ("", dump, "application/octet-stream")}
    data = {"manifest": json.dumps(MANIFEST)}
    made = client.build_request("POST", "/v1/dumps", data=data, files=files)
    headers = {"Content-Type": made.headers["Content-Type"], "Content-Encoding": encoding}
    return client.post("/v1/dumps", content=pack(made.read()), headers=headers)


def record_of(dump: bytes, manifest: bytes, **more: bytes | str) -> bytes:
    """A dump of a batch with its manifest, companions by part, and other fields of its line."""
    parts = {"manifest": manifest, "dump": dump}
    parts |= {name: data for name, data in more.items() if isinstance(data, bytes)}
    texts = {name: text for name, text in more.items() if isinstance(text, str)}
    line = {**texts, **{name: len(data) for name, data in parts.items()}}
    return json.dumps(line).encode() + b"\n" + b"".join(parts.values())


def send_batch(client: httpx2.Client, records: Sequence[bytes]) -> httpx2.Response:
    """Upload a batch of dumps."""
    return client.post("/v1/dumps:batch", content=b"".join(records))


def await_state(client: httpx2.Client, dump: bytes) -> dict[str, Any]:
    """A dump's state once it is no longer just accepted."""
    deadline = time.monotonic() + _MOST_SECONDS
    while True:
        found: dict[str, Any] = client.get(f"/v1/dumps/{sha256_of(dump)}").json()
        if found.get("state") not in ("accepted", None) or time.monotonic() > deadline:
            return found
        time.sleep(0.02)
