"""Uploading a dump with its manifest and companions to a service."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator
from http import HTTPStatus
from typing import NamedTuple

from ingest.errors import ServiceError
from ingest.remote.connection import ServiceConnection

MANIFEST_HEADER = "Tracehouse-Manifest"

_Bytes = bytes | memoryview
_LONGEST_HEADER = 4096  # characters; servers accept some 8,000 for all headers


class Receipt(NamedTuple):
    """The dump's SHA-256, and whether the dump is new to the service."""

    sha256: str
    is_new: bool


def upload_dump(
    connection: ServiceConnection,
    dump: _Bytes,
    manifest: str,
    *,
    etrecord: _Bytes | None = None,
    debug_buffer: _Bytes | None = None,
) -> Receipt:
    """Upload a dump; when this returns, the service has the dump on disk.

    Raises:
        ServiceError: The service cannot be reached, or does not accept the dump.
    """
    sha256 = hashlib.sha256(dump).hexdigest()
    stated = json.dumps(json.loads(manifest), separators=(",", ":"))  # json.dumps writes ASCII only
    if etrecord is None and debug_buffer is None and len(stated) <= _LONGEST_HEADER:
        headers = {MANIFEST_HEADER: stated, "Content-Type": "application/octet-stream"}
        answer = connection.request("PUT", f"/v1/dumps/{sha256}", headers=headers, body=[dump])
    else:
        boundary = secrets.token_hex(16)
        parts = {"manifest": stated.encode(), "dump": dump}
        if etrecord is not None:
            parts["etrecord"] = etrecord
        if debug_buffer is not None:
            parts["debug_buffer"] = debug_buffer
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        body = list(_form(parts, boundary))
        answer = connection.request("POST", "/v1/dumps", headers=headers, body=body)
    if not _names(answer.body, sha256):  # another server, or a proxy's page
        detail = "unexpected answer; is this the address of a tracehouse service?"
        raise ServiceError(connection.url, detail, reason="answer")
    return Receipt(sha256, answer.status == HTTPStatus.CREATED)


def _names(answer: bytes, sha256: str) -> bool:
    """Whether an answer names this dump."""
    try:
        receipt = json.loads(answer)
    except ValueError:
        return False
    return isinstance(receipt, dict) and receipt.get("sha256") == sha256


def _form(parts: dict[str, _Bytes], boundary: str) -> Iterator[_Bytes]:
    for name, data in parts.items():
        kind = "application/json" if name == "manifest" else "application/octet-stream"
        head = f'Content-Disposition: form-data; name="{name}"\r\nContent-Type: {kind}\r\n'
        yield f"--{boundary}\r\n{head}\r\n".encode()
        yield data
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode()
