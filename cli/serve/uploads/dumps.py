"""Uploads of a dump as a form (multipart/form-data), and the states of dumps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracehouse.cli.serve.access.authorization import Scope, check_pool, pool_of
from tracehouse.cli.serve.http.endpoints import (
    BYTES,
    ENCODINGS,
    Content,
    Input,
    Operation,
    Schema,
    TooLargeProblem,
    media_type_of,
)
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.threads import run_to_end
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.arrivals import (
    LONGEST_NAME,
    NEEDED_PARTS,
    PARTS,
    Part,
    count_sidecar_bytes,
    deliver_parts,
    name_of_parts,
    parse_manifest,
    receive_parts,
    report_refusals,
    threads_for,
)
from tracehouse.cli.serve.uploads.commits import OTHER_POOL
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES
from tracehouse.warehouse.inbox.accept import CONFLICT
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.spools import Spool

_SHA256 = re.compile("[0-9a-f]{64}")
_FORM = "multipart/form-data"
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


class FormProblem(Problem):
    """A body in parts is malformed."""

    def __init__(self, problem: str) -> None:
        super().__init__(400, "multipart", f"the body is malformed: {problem}")


class FormReader:
    """Splits a body into its parts while it arrives; close the `spools` afterwards."""

    def __init__(self, request: Request, inbox: Inbox, most_bytes: int) -> None:
        """Find the boundary of the parts in the request's head; `most_bytes` limits a file.

        Raises:
            FormProblem: The head has no boundary.
        """
        self.parts: dict[str, Part] = {}
        self._inbox, self._most_bytes = inbox, most_bytes
        self._field, self._value, self._disposition = bytearray(), bytearray(), b""
        self._part: Part | None = None
        self._is_ended = False
        _, options = parse_options_header(request.headers["content-type"])
        try:
            self._parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._on_field,
                    "on_header_value": self._on_value,
                    "on_header_end": self._on_header,
                    "on_headers_finished": self._open,
                    "on_part_data": self._write,
                    "on_end": self._end,
                },
            )
        except (KeyError, MultipartParseError) as error:
            raise FormProblem("no boundary of its parts in Content-Type") from error

    def write(self, piece: bytes) -> None:
        """Parse the next piece of the body.

        A StoreError is passed on.

        Raises:
            FormProblem: The body is malformed, or a part is unknown, given twice or too large.
        """
        try:
            self._parser.write(piece)
        except MultipartParseError as error:
            raise FormProblem(str(error)) from error

    @property
    def spools(self) -> list[Spool]:
        """The contents of the parts, for the caller to close."""
        return [part.spool for part in self.parts.values()]

    def check(self) -> None:
        """Check that the body is complete and has a dump and a manifest.

        Raises:
            FormProblem: It is incomplete.
        """
        if not self._is_ended:
            raise FormProblem("it ends in the middle of a part")
        missing = [name for name in NEEDED_PARTS if name not in self.parts]
        if missing:
            raise FormProblem(f"no part {missing[0]!r}")

    def _begin(self) -> None:
        self._disposition, self._part = b"", None

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header(self) -> None:
        if self._field.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._field.clear()
        self._value.clear()

    def _open(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = _decode(options.get(b"name", b""))
        if name not in PARTS:
            raise FormProblem(f"a part {name!r:.100}, wanted {', '.join(PARTS)}")
        if name in self.parts:
            raise FormProblem(f"two parts {name!r}")
        file_name = _decode(options.get(b"filename", b"")).replace("\\", "/").rpartition("/")[2]
        most_bytes = MAX_MANIFEST_BYTES if name == "manifest" else self._most_bytes
        self._part = Part(file_name[:LONGEST_NAME], self._inbox.spool(), most_bytes)
        self.parts[name] = self._part

    def _write(self, data: bytes, start: int, end: int) -> None:
        if part := self._part:
            if part.spool.byte_count + end - start > part.most_bytes:
                raise TooLargeProblem(part.most_bytes)
            part.spool.write(data[start:end])

    def _end(self) -> None:
        self._is_ended = True


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise FormProblem("a name that is not UTF-8") from error


@Operation(
    "/v1/dumps",
    "Upload a dump with its companions; repeating it is harmless.",
    {200: _STATE, 201: _STATE},
    (ENCODING,),
    "post",
    (Scope.INGEST,),
    {_FORM: _PARTS},
    PROBLEMS,
    guard=report_refusals,
)
async def post_dump(request: Request) -> Response:
    """Accept a dump and its companions as the parts of a form.

    Raises:
        Problem: The upload is refused.
    """
    if (kind := media_type_of(request)) != _FORM:
        detail = f"Content-Type: found {kind!r:.100}, wanted {_FORM}"
        raise Problem(415, "content_type", detail)
    service, bearer = request.app.state.service, request.state.bearer
    form = FormReader(request, service.inbox, service.settings.max_dump_bytes)
    async with receive_parts(request, form):
        form.check()
        dump = form.parts["dump"].spool
        request.state.what = request.state.sha256 = dump.sha256
        request.state.source = name_of_parts(form.parts)
        parse = partial(parse_manifest, form.parts, service.sidecars.parse)
        manifest = await run_to_end(threads_for(service, count_sidecar_bytes(form.parts)), parse)
        request.state.manifest = manifest.canonical_json()
        check_pool(bearer, manifest.device.pool)
        delivery = deliver_parts(form.parts, request.state.manifest)
        outcome = await service.commits.commit(bearer, delivery, dump)
    content = {"sha256": dump.sha256, "state": outcome.state}
    return JSONResponse(content, 201 if outcome.is_new else 200)


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


def _sha256_of(request: Request) -> str:
    sha256: str = request.path_params["sha256"]
    if not _SHA256.fullmatch(sha256):
        detail = f"found {sha256!r:.100} in the path, wanted a SHA-256 in lower-case hexadecimal"
        raise Problem(400, "sha256", detail)
    return sha256
