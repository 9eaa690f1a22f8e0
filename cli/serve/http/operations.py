"""What can be asked of the service, as data for its OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cli.serve.access.authorization import Scope
from cli.serve.answers.reads import REPORT_FORMS
from cli.serve.answers.tables import TABLE_FORMS

Schema = Mapping[str, Any]
Content = Mapping[str, Schema]  # by media type

TEXT: Schema = {"type": "string"}
BYTES: Schema = {"type": "string", "format": "binary"}
OBJECT: Schema = {"type": "object"}
ROWS: Schema = {"type": "array", "items": OBJECT}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_STATE = {
    "type": "object",
    "required": ["sha256", "state"],
    "properties": {
        "sha256": SHA256,
        "state": {"enum": ["accepted", "indexed", "quarantined"]},
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
    """A table in every form that there is."""
    return {**_content(TABLE_FORMS), "application/json": rows}


def _content(media_types: Mapping[Any, str]) -> dict[str, Schema]:
    types = [media_type.partition(";")[0] for media_type in media_types.values()]
    return {one: BYTES if "/vnd.apache" in one else TEXT for one in types}


def _format(forms: Mapping[Any, str]) -> Input:
    return Input("format", "query", {"enum": list(forms)}, "Form of the answer, whatever Accept.")


TABLE_FORMAT = _format(TABLE_FORMS)
PAGING = (
    Input("limit", "query", {"type": "integer", "minimum": 1}, "Rows of a page."),
    Input("offset", "query", {"type": "integer", "minimum": 0}, "Rows before it."),
)
_DUMP = Input("sha256", "path", SHA256, "SHA-256 of the dump.", is_required=True)
_MANIFEST = Input(
    "Tracehouse-Manifest", "header", TEXT, "Manifest: JSON, escaped to ASCII.", is_required=True
)
_STATED = Input(
    "Tracehouse-Manifest", "header", TEXT, "Fields that hold for all dumps of a zip, likewise."
)
_ENCODING = Input(
    "Content-Encoding", "header", {"enum": ["identity", "gzip", "zstd"]}, "How it is packed."
)
_ACCEPTED: Mapping[int, Content] = {
    200: {"application/json": _STATE},
    201: {"application/json": _STATE},
}
_UPLOAD_PROBLEMS = (400, 408, 409, 413, 415, 429, 503, 507)
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
_STATEMENT: Schema = {
    "type": "object",
    "required": ["sql"],
    "properties": {"sql": TEXT, "params": {"type": ["object", "array", "null"]}},
    "additionalProperties": False,
}
_JSON: Mapping[int, Content] = {200: {"application/json": OBJECT}}
_SENT: Mapping[int, Content] = {**_JSON, 201: {"application/json": OBJECT}}
READ_PROBLEMS = (400, 404, 406, 429, 503, 504)

OPERATIONS = (
    Operation("get", "/healthz", "Whether the process lives.", None, _JSON),
    Operation(
        "get", "/readyz", "Whether it can do its work, or why not.", None,
        {**_JSON, 503: {"application/json": OBJECT}},
    ),
    Operation(
        "get", "/metrics", "Figures for Prometheus.", Scope.READ, {200: {"text/plain": TEXT}}
    ),
    Operation("get", "/v1/openapi.json", "This document.", Scope.READ, _JSON),
    Operation(
        "put", "/v1/dumps/{sha256}", "Upload a dump; again does no harm.", Scope.INGEST, _ACCEPTED,
        (_DUMP, _MANIFEST, _ENCODING), {"application/octet-stream": BYTES}, _UPLOAD_PROBLEMS,
    ),
    Operation(
        "get", "/v1/dumps/{sha256}", "What became of a dump.", Scope.INGEST,
        {200: {"application/json": _STATE}}, (_DUMP,), None, (400, 404, 503),
    ),
    Operation(
        "post", "/v1/dumps", "Upload a dump with what comes with it, or a zip of dumps.",
        Scope.INGEST, _SENT, (_STATED, _ENCODING),
        {"multipart/form-data": _PARTS, "application/zip": BYTES}, _UPLOAD_PROBLEMS,
    ),
    Operation(
        "get", "/v1/queries", "The canned queries.", Scope.READ,
        {200: {"application/json": ROWS}, 304: {}},
    ),
    Operation(
        "post", "/v1/sql", "Rows of a SELECT over the newest snapshot.", Scope.SQL,
        {200: table_content()}, (TABLE_FORMAT,),
        {"application/json": _STATEMENT, "text/plain": TEXT},
        (400, 406, 408, 413, 415, 422, 429, 503, 504),
    ),
    Operation(
        "get", "/v1/report", "The report of a build.", Scope.READ,
        {200: {**_content(REPORT_FORMS), "application/json": OBJECT}, 304: {}},
        (
            Input("head", "query", TEXT, "Build it is about; by default the last."),
            Input("base", "query", TEXT, "Build to compare with; by default those before it."),
            _format(REPORT_FORMS),
        ),
        None, READ_PROBLEMS,
    ),
    Operation(
        "get", "/v1/schema", "Tables, views and columns with their meanings.", Scope.READ,
        {200: table_content()}, (TABLE_FORMAT, *PAGING), None, READ_PROBLEMS,
    ),
    Operation(
        "get", "/v1/status", "How the store and the service are doing.", Scope.READ,
        {200: table_content()}, (TABLE_FORMAT,), None, READ_PROBLEMS,
    ),
)  # fmt: skip
