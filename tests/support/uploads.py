"""Dumps uploaded in tests, and their states."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

import httpx2

from tests.support.stores import MANIFEST

_MOST_SECONDS = 20.0


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


def await_state(client: httpx2.Client, dump: bytes) -> dict[str, Any]:
    """A dump's state once it is no longer just accepted."""
    deadline = time.monotonic() + _MOST_SECONDS
    while True:
        found: dict[str, Any] = client.get(f"/v1/dumps/{sha256_of(dump)}").json()
        if found.get("state") not in ("accepted", None) or time.monotonic() > deadline:
            return found
        time.sleep(0.02)
