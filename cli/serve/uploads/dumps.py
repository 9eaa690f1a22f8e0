"""Uploads of dumps, and their states.

A manifest in a header is JSON in ASCII; other characters are escaped (\\u00fc).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracehouse.cli.serve.access.authorization import Scope, check_pool, pool_of
from tracehouse.cli.serve.http.endpoints import (
    BYTES,
    ENCODINGS,
    JSON_OBJECT,
    TEXT,
    Content,
    Input,
    Operation,
    Schema,
    media_type_of,
)
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.arrivals import (
    count_sidecar_bytes,
    deliver_parts,
    name_of_parts,
    parse_manifest,
    received,
    refusing,
    stated_manifest,
    threads_for,
)
from tracehouse.cli.serve.uploads.commits import OTHER_POOL
from tracehouse.cli.serve.uploads.multipart import NEEDED_PARTS, PARTS, PartReader
from tracehouse.cli.serve.uploads.refusals import name_of
from tracehouse.cli.serve.uploads.zips import accept_zip
from tracehouse.ingest.manifest.sidecars import Sidecar
from tracehouse.warehouse.inbox.accept import CONFLICT, Outcome
from tracehouse.warehouse.inbox.records import make_delivery
from tracehouse.warehouse.load.children import OWN_SIDECAR_BYTES

MANIFEST_HEADER = "Tracehouse-Manifest"

_Parsed = TypeVar("_Parsed")

_SHA256 = re.compile("[0-9a-f]{64}")
_FORM, _ZIP = "multipart/form-data", "application/zip"
_ERRORS = (
    "SELECT reason, detail FROM ingest_errors WHERE sha256 = $sha256 ORDER BY refused_at DESC "
    "LIMIT 1"
)
_PATH = "/v1/dumps/{sha256}"
SHA256_TEXT: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_STATE: Content = {
    "application/json": {
        "type": "object",
        "required": ["sha256", "state"],
        "properties": {
            "sha256": SHA256_TEXT,
            "state": {"enum": ["accepted", "indexed", "quarantined"]},
            "reason": {"type": ["string", "null"]},
            "detail": {"type": ["string", "null"]},
        },
    }
}
_PARTS: Schema = {
    "type": "object",
    "required": NEEDED_PARTS,
    "properties": {
        **dict.fromkeys(PARTS, BYTES),
        "manifest": {"type": "string", "contentMediaType": "application/json"},
    },
}
_DUMP = Input("sha256", "path", SHA256_TEXT, "SHA-256 of the dump.", is_required=True)
_PACKING: Schema = {"enum": ["identity", *ENCODINGS]}
ENCODING = Input("Content-Encoding", "header", _PACKING, "How the body is packed.")
PROBLEMS = (400, 408, 409, 413, 415, 429, 503, 507)
_UNKNOWN = 404, "unknown_dump", "no dump of this SHA-256 was sent"
_STORED = "SELECT dump_id FROM dumps WHERE sha256 = $sha256"


@Operation(
    _PATH,
    "Upload a dump; repeating it is harmless.",
    {200: _STATE, 201: _STATE},
    (
        _DUMP,
        Input(MANIFEST_HEADER, "header", TEXT, "Manifest: ASCII-escaped JSON.", is_required=True),
        ENCODING,
    ),
    "put",
    (Scope.INGEST,),
    {"application/octet-stream": BYTES},
    PROBLEMS,
    guard=refusing,
)
async def put_dump(request: Request) -> Response:
    """Accept a dump under its SHA-256, with its manifest in a header.

    Raises:
        Problem: The upload is refused.
    """
    service: Service = request.app.state.service
    sha256, bearer = _sha256_of(request), request.state.bearer
    request.state.source = name_of(sha256)
    stated, parse = _header(request), service.sidecars.parse
    parse_stated = partial(parse_manifest, MANIFEST_HEADER, stated, parse)
    manifest = await _run_parsing(service, parse_stated, len(stated))
    request.state.manifest = manifest.canonical_json()
    check_pool(bearer, manifest.device.pool)
    most_bytes = service.settings.max_dump_bytes
    async with received(request, service.inbox.spool(), most_bytes) as spool:
        if spool.sha256 != sha256:
            detail = f"the body has SHA-256 {spool.sha256}: send it again, or to that address"
            raise Problem(400, "sha256", detail)
        delivery = make_delivery(request.state.manifest, spool.hashed(name_of(sha256)))
        return _answer(sha256, await service.commits.commit(bearer, delivery, spool))


@Operation(
    "/v1/dumps",
    "Upload a dump with its companions, or a zip of dumps.",
    {200: JSON_OBJECT, 201: JSON_OBJECT},
    (
        Input(
            MANIFEST_HEADER,
            "header",
            TEXT,
            "Fields of all dumps of a zip, likewise ASCII-escaped JSON.",
        ),
        ENCODING,
    ),
    "post",
    (Scope.INGEST,),
    {_FORM: _PARTS, _ZIP: BYTES},
    PROBLEMS,
    guard=refusing,
)
async def post_dumps(request: Request) -> Response:
    """Accept a dump and its companions as the parts of a form, or a zip of dumps.

    Raises:
        Problem: The upload is refused.
    """
    kind = media_type_of(request)
    if kind == _FORM:
        return await _accept_parts(request)
    if kind == _ZIP:
        service: Service = request.app.state.service
        stated = _header(request, "{}")
        parse = partial(service.sidecars.parse, Sidecar.MANIFEST, MANIFEST_HEADER, stated)
        return await accept_zip(request, await _run_parsing(service, parse, len(stated)))
    detail = f"Content-Type: found {kind!r:.100}, wanted {_FORM} or {_ZIP}"
    raise Problem(415, "content_type", detail)


@Operation(
    _PATH,
    "The state of a dump.",
    {200: _STATE},
    (_DUMP,),
    scopes=(Scope.INGEST, Scope.READ),
    problems=(400, 404, 503),
)
async def get_dump(request: Request) -> Response:
    """The state of a dump; a Problem is passed on if it is unknown."""
    service: Service = request.app.state.service
    sha256, pools = _sha256_of(request), request.state.bearer.pools
    state = await run_in_threadpool(_find_state, service, sha256, pools)
    return JSONResponse({"sha256": sha256, **state})


def _find_state(
    service: Service, sha256: str, pools: frozenset[str] | None
) -> Mapping[str, str | None]:
    known = service.consumer.known
    if pools is not None:
        manifests = known.manifests([sha256]).values()
        if not {pool_of(manifest) for manifest in manifests}.issubset(pools):
            raise Problem(*_UNKNOWN)
    is_caught_up, is_waiting = service.consumer.is_caught_up, known.is_waiting(sha256)
    with service.reader(pools) as reader:
        is_stored = reader.sql(_STORED, {"sha256": sha256}).num_rows
        refused = reader.sql(_ERRORS, {"sha256": sha256}).to_pylist()
    if pools is not None and refused and refused[0]["reason"] == CONFLICT:
        refused[0]["detail"] = OTHER_POOL  # instead of the fields that differ
    nothing = {"reason": None, "detail": None}
    if is_waiting:
        return {"state": "accepted", **nothing}
    error = refused[0] if refused else nothing
    if is_stored or refused:
        return {"state": "indexed" if is_stored else "quarantined", **error}
    if not is_caught_up:
        detail = "dumps that were accepted before the service started are still being indexed"
        raise Problem(503, "starting", detail, retry_after=2)
    raise Problem(*_UNKNOWN)


async def _accept_parts(request: Request) -> Response:
    service, bearer = request.app.state.service, request.state.bearer
    settings = service.settings
    parts = PartReader(request, service.inbox, settings.max_dump_bytes)
    async with received(request, parts, settings.max_body_bytes) as form:
        form.check()
        dump = form.parts["dump"].spool
        request.state.what = request.state.sha256 = dump.sha256
        request.state.source = name_of_parts(form.parts)
        parse = partial(stated_manifest, form.parts, service.sidecars.parse)
        manifest = await run_to_end(threads_for(service, count_sidecar_bytes(form.parts)), parse)
        request.state.manifest = manifest.canonical_json()
        check_pool(bearer, manifest.device.pool)
        delivery = deliver_parts(form.parts, request.state.manifest)
        return _answer(dump.sha256, await service.commits.commit(bearer, delivery, dump))


def _answer(sha256: str, outcome: Outcome) -> Response:
    content = {"sha256": sha256, "state": outcome.state}
    return JSONResponse(content, 201 if outcome.is_new else 200)


def _sha256_of(request: Request) -> str:
    sha256: str = request.path_params["sha256"]
    if not _SHA256.fullmatch(sha256):
        detail = f"found {sha256!r:.100} in the path, wanted a SHA-256 in lower-case hexadecimal"
        raise Problem(400, "sha256", detail)
    return sha256


async def _run_parsing(service: Service, parse: Callable[[], _Parsed], byte_count: int) -> _Parsed:
    """The result of parsing a header, here if it is short."""
    if byte_count <= OWN_SIDECAR_BYTES:
        return parse()
    return await run_to_end(service.parsing, parse)


def _header(request: Request, default: str | None = None) -> bytes:
    """The manifest in a request's head.

    Raises:
        Problem: There is none, or it is not ASCII.
    """
    text = request.headers.get(MANIFEST_HEADER, default)
    if text is None:
        detail = f"no header {MANIFEST_HEADER}: state device, build and model in it, as JSON"
        raise Problem(400, "manifest", detail)
    if not text.isascii():
        detail = f"{MANIFEST_HEADER}: not ASCII; write other characters as \\uXXXX"
        raise Problem(400, "manifest", detail)
    return text.encode()
