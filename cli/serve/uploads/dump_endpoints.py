"""Endpoints of dumps: uploads and their states."""

from __future__ import annotations

from cli.serve.access.authorization import Scope
from cli.serve.http.endpoints import (
    BYTES,
    JSON_OBJECT,
    TEXT,
    Content,
    Endpoint,
    Input,
    Operation,
    Schema,
)
from cli.serve.uploads.arrivals import refusing
from cli.serve.uploads.dumps import MANIFEST_HEADER, get_dump, post_dumps, put_dump

_PATH = "/v1/dumps/{sha256}"
_SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_STATE: Content = {
    "application/json": {
        "type": "object",
        "required": ["sha256", "state"],
        "properties": {
            "sha256": _SHA256,
            "state": {"enum": ["accepted", "indexed", "quarantined"]},
            "reason": {"type": ["string", "null"]},
            "detail": {"type": ["string", "null"]},
        },
    }
}
_PARTS: Schema = {
    "type": "object",
    "required": ["dump", "manifest"],
    "properties": {
        "dump": BYTES,
        "manifest": {"type": "string", "contentMediaType": "application/json"},
        "etrecord": BYTES,
        "debug_buffer": BYTES,
        "log": BYTES,
        "qhas": BYTES,
    },
}
_DUMP = Input("sha256", "path", _SHA256, "SHA-256 of the dump.", is_required=True)
_ENCODING = Input(
    "Content-Encoding", "header", {"enum": ["identity", "gzip", "zstd"]}, "How the body is packed."
)
_PROBLEMS = (400, 408, 409, 413, 415, 429, 503, 507)


def routes() -> list[Endpoint]:
    """Endpoints of dumps."""
    manifest = "Manifest: JSON, escaped to ASCII."
    fields = "Fields of all dumps of a zip: JSON, escaped to ASCII."
    put = Operation(
        "put",
        _PATH,
        "Upload a dump; repeating it is harmless.",
        (Scope.INGEST,),
        {200: _STATE, 201: _STATE},
        (_DUMP, Input(MANIFEST_HEADER, "header", TEXT, manifest, is_required=True), _ENCODING),
        {"application/octet-stream": BYTES},
        _PROBLEMS,
    )
    get = Operation(
        "get",
        _PATH,
        "The state of a dump.",
        (Scope.INGEST, Scope.READ),
        {200: _STATE},
        (_DUMP,),
        problems=(400, 404, 503),
    )
    post = Operation(
        "post",
        "/v1/dumps",
        "Upload a dump with its companions, or a zip of dumps.",
        (Scope.INGEST,),
        {200: JSON_OBJECT, 201: JSON_OBJECT},
        (Input(MANIFEST_HEADER, "header", TEXT, fields), _ENCODING),
        {"multipart/form-data": _PARTS, "application/zip": BYTES},
        _PROBLEMS,
    )
    return [
        Endpoint(put_dump, put, guard=refusing),
        Endpoint(get_dump, get),
        Endpoint(post_dumps, post, guard=refusing),
    ]
