"""What can be asked of the service, as data for its OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cli.serve.access import Scope

Schema = Mapping[str, Any]
Content = Mapping[str, Schema]  # by media type

TEXT: Schema = {"type": "string"}
BYTES: Schema = {"type": "string", "format": "binary"}
OBJECT: Schema = {"type": "object"}
ROWS: Schema = {"type": "array", "items": OBJECT}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_TABLE = {
    "text/csv": TEXT,
    "text/tab-separated-values": TEXT,
    "application/vnd.apache.arrow.stream": BYTES,
    "application/vnd.apache.parquet": BYTES,
}
_REPORT = {
    "text/html": TEXT,
    "text/markdown": TEXT,
    "application/json": OBJECT,
    "application/xml": TEXT,
}
_STATE = {
    "type": "object",
    "required": ["sha256", "state"],
    "properties": {
        "sha256": SHA256,
        "state": {"enum": ["accepted", "indexed", "quarantined", "conflict"]},
        "reason": {"type": ["string", "null"]},
        "detail": {"type": ["string", "null"]},
    },
}


class Input(NamedTuple):
    """A parameter of an operation: its name, where it is, its schema and its meaning."""

    name: str
    place: str
    schema: Schema
    doc: str
    is_required: bool = False


class Operation(NamedTuple):
    """One thing that can be asked.

    Attributes:
        method: Its method.
        path: Its path.
        summary: What it does, in a sentence.
        scope: What a token must allow; None if it needs none.
        answers: Content of its answers by status.
        inputs: Its parameters.
        body: Content of its body; None without one.
        problems: Statuses of its problems, besides those of access.
    """

    method: str
    path: str
    summary: str
    scope: Scope | None
    answers: Mapping[int, Content]
    inputs: tuple[Input, ...] = ()
    body: Content | None = None
    problems: tuple[int, ...] = ()


def table_content(rows: Schema = ROWS) -> Content:
    """A table in every format that `Accept` may ask for."""
    return {"application/json": rows, **_TABLE}


PAGING = (
    Input("limit", "query", {"type": "integer", "minimum": 1}, "Rows of a page."),
    Input("offset", "query", {"type": "integer", "minimum": 0}, "Rows before it."),
)
_DUMP = Input("sha256", "path", SHA256, "SHA-256 of the dump.", is_required=True)
_MANIFEST = Input(
    "Tracehouse-Manifest", "header", TEXT, "Manifest: JSON, escaped to ASCII.", is_required=True
)
_ENCODING = Input(
    "Content-Encoding", "header", {"enum": ["identity", "gzip", "zstd"]}, "How it is packed."
)
_ACCEPTED: Mapping[int, Content] = {
    200: {"application/json": _STATE},
    201: {"application/json": _STATE},
}
_UPLOAD_PROBLEMS = (400, 409, 413, 415, 429, 507)
_PARTS: Schema = {
    "type": "object",
    "required": ["dump", "manifest"],
    "properties": {
        "dump": BYTES,
        "manifest": {"type": "string", "contentMediaType": "application/json"},
        "etrecord": BYTES,
        "debug_buffer": BYTES,
    },
}
_STATEMENT: Schema = {
    "type": "object",
    "required": ["sql"],
    "properties": {"sql": TEXT, "params": OBJECT},
    "additionalProperties": False,
}
_REPORT_FORMAT = {"enum": ["html", "markdown", "json", "junit", "slack"]}

OPERATIONS = (
    Operation(
        "get", "/healthz", "Whether the process lives.", None, {200: {"application/json": OBJECT}}
    ),
    Operation(
        "get",
        "/readyz",
        "Whether it can do its work, or why not.",
        None,
        {200: {"application/json": OBJECT}, 503: {"application/json": OBJECT}},
    ),
    Operation(
        "get", "/metrics", "Figures for Prometheus.", Scope.READ, {200: {"text/plain": TEXT}}
    ),
    Operation(
        "get", "/v1/openapi.json", "This document.", Scope.READ, {200: {"application/json": OBJECT}}
    ),
    Operation(
        "put",
        "/v1/dumps/{sha256}",
        "Upload a dump; again does no harm.",
        Scope.INGEST,
        _ACCEPTED,
        (_DUMP, _MANIFEST, _ENCODING),
        {"application/octet-stream": BYTES},
        _UPLOAD_PROBLEMS,
    ),
    Operation(
        "get",
        "/v1/dumps/{sha256}",
        "What became of a dump.",
        Scope.INGEST,
        {200: {"application/json": _STATE}},
        (_DUMP,),
        None,
        (400, 404),
    ),
    Operation(
        "post",
        "/v1/dumps",
        "Upload a dump with what comes with it, or a zip of dumps.",
        Scope.INGEST,
        {200: {"application/json": OBJECT}, 201: {"application/json": OBJECT}},
        (),
        {"multipart/form-data": _PARTS, "application/zip": BYTES},
        _UPLOAD_PROBLEMS,
    ),
    Operation(
        "get", "/v1/queries", "The canned queries.", Scope.READ, {200: {"application/json": ROWS}}
    ),
    Operation(
        "post",
        "/v1/sql",
        "Rows of a SELECT over the newest snapshot.",
        Scope.SQL,
        {200: table_content()},
        PAGING,
        {"application/json": _STATEMENT, "text/plain": TEXT},
        (400, 406, 413, 415, 422, 429, 503, 504),
    ),
    Operation(
        "get",
        "/v1/report",
        "The report of a build.",
        Scope.READ,
        {200: _REPORT},
        (
            Input("head", "query", TEXT, "Build it is about; by default the last."),
            Input("base", "query", TEXT, "Build to compare with; by default those before it."),
            Input("format", "query", _REPORT_FORMAT, "Format; goes before Accept."),
        ),
        None,
        (400, 404, 406),
    ),
    Operation(
        "get",
        "/v1/schema",
        "Tables, views and columns with their meanings.",
        Scope.READ,
        {200: table_content()},
        (),
        None,
        (406,),
    ),
    Operation(
        "get",
        "/v1/status",
        "How the store and the service are doing.",
        Scope.READ,
        {200: {"application/json": OBJECT}},
    ),
)
