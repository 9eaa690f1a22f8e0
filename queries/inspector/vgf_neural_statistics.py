"""Neural accelerator statistics of the VGF backend in delegate metadata. Pure.

A record is JSON; its segments have blobs in base64, which are decoded here.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any

from tracehouse.queries.errors import WrongValueError

SCHEMA = "executorch.vgf.neural_statistics"
SCHEMA_VERSION = 1

_BLOBS = ("debug_database", "statistics_info", "statistics_memory")

Metadata = bytes | bytearray | str


def parse_vgf_neural_statistics_metadata(metadata: Metadata) -> dict[str, Any]:
    """One record, with the bytes of its blobs as `raw_data`; b"" for an unavailable blob.

    Raises:
        WrongValueError: The metadata is no such record, has another version, or a blob is not
            base64.
    """
    payload = _read_json(_to_bytes(metadata))
    if not _is_record(payload):
        raise WrongValueError(f"delegate metadata: not JSON with the schema {SCHEMA}")
    version = payload.get("schema_version")
    if version != SCHEMA_VERSION:
        raise WrongValueError(
            "Unsupported VGF neural statistics metadata schema version: "
            f"{version}, wanted {SCHEMA_VERSION}"
        )
    return {**payload, "segments": [_segment(segment) for segment in payload.get("segments", [])]}


def parse_vgf_neural_statistics_delegate_metadata(
    delegate_metadata_list: Iterable[Metadata | None],
) -> list[dict[str, Any]]:
    """The records in an event's metadata, in order, without metadata of other backends.

    Raises:
        WrongValueError: A record that names the schema is malformed.
    """
    records = []
    for metadata in delegate_metadata_list:
        data = _to_bytes(metadata)
        payload = _read_json(data)
        if payload is None and SCHEMA.encode() in data:
            raise WrongValueError("Malformed VGF neural statistics delegate metadata: not JSON")
        if _is_record(payload):
            records.append(parse_vgf_neural_statistics_metadata(data))
    return records


def _segment(segment: dict[str, Any]) -> dict[str, Any]:
    blobs = {name: segment[name] for name in _BLOBS if isinstance(segment.get(name), dict)}
    return {**segment, **{name: _blob(name, blob) for name, blob in blobs.items()}}


def _blob(name: str, blob: dict[str, Any]) -> dict[str, Any]:
    if not blob.get("available"):
        return {"raw_data": b"", **blob}
    if blob.get("encoding") != "base64":
        raise WrongValueError(
            f"{name}: Unsupported VGF neural statistics blob encoding: {blob.get('encoding')}, "
            "wanted base64"
        )
    try:
        data = base64.b64decode(blob.get("data", ""), validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise WrongValueError(
            f"{name}: Malformed base64 data in VGF neural statistics blob: {error}"
        ) from error
    return {**blob, "raw_data": data}


def _to_bytes(metadata: object) -> bytes:
    if isinstance(metadata, str):
        return metadata.encode()
    return bytes(metadata) if isinstance(metadata, bytes | bytearray) else b""


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # ValueError also means invalid UTF-8
        return None


def _is_record(payload: Any) -> bool:
    return isinstance(payload, dict) and payload.get("schema") == SCHEMA
