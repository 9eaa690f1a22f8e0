"""Dumps uploaded in tests, and their states."""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Mapping, Sequence
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


def put(
    client: httpx2.Client,
    dump: bytes,
    manifest: Mapping[str, object] = MANIFEST,
    *,
    body: bytes | None = None,
    encoding: str = "identity",
) -> httpx2.Response:
    """Upload a dump, or `body` to its name."""
    headers = {"Tracehouse-Manifest": json.dumps(manifest), "Content-Encoding": encoding}
    content = dump if body is None else body
    return client.put(f"/v1/dumps/{sha256_of(dump)}", content=content, headers=headers)


def zip_of(members: Mapping[str, bytes]) -> bytes:
    """A zip of files by name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def send_zip(
    client: httpx2.Client,
    content: Mapping[str, bytes] | bytes,
    manifest: Mapping[str, object] = MANIFEST,
) -> httpx2.Response:
    """Upload a zip, or what is said to be one, with a manifest for all its dumps."""
    headers = {"Content-Type": "application/zip", "Tracehouse-Manifest": json.dumps(manifest)}
    body = content if isinstance(content, bytes) else zip_of(content)
    return client.post("/v1/dumps", content=body, headers=headers)


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
