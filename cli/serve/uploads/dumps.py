"""Dumps over HTTP: taken in, and what became of them.

A manifest in a header is JSON in ASCII: other letters are written as its escapes (\\u00fc).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from cli.serve.access.authorization import Bearer
from cli.serve.access.pools import check_pool, pool_of
from cli.serve.http.problems import Problem
from cli.serve.http.threads import run_there
from cli.serve.service import Service
from cli.serve.uploads.arrivals import bring, held, refusing
from cli.serve.uploads.multipart import PartReader
from cli.serve.uploads.zips import ZipMemberResult, answer_taken, read_artifact, take_group
from ingest.dump import HashedFile
from ingest.errors import ManifestError
from ingest.manifest.fields import COUNTERS, Fields
from ingest.manifest.models import Manifest
from ingest.manifest.resolver import correct_manifest, parse_fields, parse_stated
from ingest.manifest.runner_output import add_counters, parse_printed
from ingest.sources.folder_names import LOG_SUFFIX, QHAS_SUFFIX
from warehouse.consumer import Consumer
from warehouse.inbox.accept import Outcome
from warehouse.inbox.records import make_delivery
from warehouse.inbox.spools import Spool

MANIFEST_HEADER = "Tracehouse-Manifest"

_SHA256 = re.compile("[0-9a-f]{64}")
_NAME_LETTERS = 16  # of a SHA-256 that names a dump
_PRINTED = {"log": LOG_SUFFIX, "qhas": QHAS_SUFFIX}
_COMPANIONS = {"etrecord": "ETRecord", "debug_buffer": "debug buffer"}
_FORM, _ZIP = "multipart/form-data", "application/zip"
_ERRORS = (
    "SELECT reason, detail FROM ingest_errors WHERE sha256 = $sha256 ORDER BY refused_at DESC "
    "LIMIT 1"
)
_UNKNOWN = HTTPStatus.NOT_FOUND, "unknown_dump", "no dump of this SHA-256 was sent"
_STORED = "SELECT dump_id FROM dumps WHERE sha256 = $sha256"


async def put_dump(request: Request) -> Response:
    """Take a dump that is sent under its SHA-256, with its manifest in a header.

    Raises:
        Problem: It is not taken.
    """
    service = _service(request)
    most_bytes = service.settings.max_dump_bytes
    async with refusing(request):
        bearer: Bearer = request.state.bearer
        sha256 = _sha256_of(request)
        manifest = _stated_manifest(request.headers.get(MANIFEST_HEADER))
        check_pool(bearer, manifest.device.pool)
        with service.admission.admit(request, most_bytes) as encoding:
            async with held(service, service.inbox.spool()) as spool:
                await bring(service, request, encoding, spool.write, most_bytes)
                if spool.sha256 != sha256:
                    detail = f"the body has SHA-256 {spool.sha256}: send it again, or to that name"
                    raise Problem(HTTPStatus.BAD_REQUEST, "sha256", detail)
                file = spool.hashed(_name(sha256))
                delivery = make_delivery(manifest.canonical_json(), file)
                return _answer(sha256, await service.commits.commit(bearer, delivery, spool))


async def post_dumps(request: Request) -> Response:
    """Take a dump with all that comes with it, in parts; or a zip of dumps.

    Raises:
        Problem: It is not taken.
    """
    service = _service(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    async with refusing(request):
        bearer: Bearer = request.state.bearer
        if kind not in (_FORM, _ZIP):
            detail = f"Content-Type: found {kind!r:.100}, wanted {_FORM} or {_ZIP}"
            raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "content_type", detail)
        with service.admission.admit(request, service.settings.max_body_bytes) as encoding:
            take = _take_parts if kind == _FORM else _take_zip
            return await take(request, bearer, encoding)


async def get_dump(request: Request) -> Response:
    """What became of a dump.

    Raises:
        Problem: It is not known, or not for everybody to ask.
    """
    service = _service(request)
    sha256, bearer = _sha256_of(request), request.state.bearer
    state = await run_in_threadpool(find_state, service, sha256, bearer.pools)
    return JSONResponse({"sha256": sha256, **state})


def find_state(
    service: Service, sha256: str, pools: Collection[str] | None
) -> Mapping[str, str | None]:
    """State of a dump, and why it is that: as `GET /v1/dumps/{sha256}` says it.

    Args:
        service: What took it.
        sha256: Its SHA-256.
        pools: Device pools that whoever asks is limited to; None for all.

    Raises:
        Problem: It is not known, or of another pool.
    """
    consumer = service.consumer
    if pools is not None and _pools_of(consumer, sha256).difference(pools):
        raise Problem(*_UNKNOWN)
    is_caught_up, is_waiting = consumer.is_caught_up, consumer.known.is_waiting(sha256)
    with service.reader() as reader:
        is_stored = reader.sql(_STORED, {"sha256": sha256}).num_rows
        refused = reader.sql(_ERRORS, {"sha256": sha256}).to_pylist()
    nothing = {"reason": None, "detail": None}
    if is_waiting:
        return {"state": "accepted", **nothing}
    error = refused[0] if refused else nothing
    if is_stored or refused:
        return {"state": "indexed" if is_stored else "quarantined", **error}
    if not is_caught_up:
        detail = "not all is indexed yet that was accepted before the service was started"
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "starting", detail, retry_after=2)
    raise Problem(*_UNKNOWN)


def _pools_of(consumer: Consumer, sha256: str) -> set[str | None]:
    """The device pool of a dump, if it is known."""
    return set(map(pool_of, consumer.known.manifests([sha256]).values()))


async def _take_parts(request: Request, bearer: Bearer, encoding: str | None) -> Response:
    service = _service(request)
    settings = service.settings
    reader = PartReader(request, service.inbox, settings.max_dump_bytes)
    async with held(service, reader) as form:
        await bring(service, request, encoding, form.write, settings.max_body_bytes)
        form.check()
        manifest = _parse(bytes(form.parts["manifest"].spool.data), "manifest")
        manifest = await run_in_threadpool(_add_printed, manifest, form)  # a log may be long
        check_pool(bearer, manifest.device.pool)
        dump = form.parts["dump"].spool
        request.state.what = dump.sha256
        name = form.parts["dump"].file_name or _name(dump.sha256)
        companions = (_companion(form, part, name) for part in _COMPANIONS)
        delivery = make_delivery(manifest.canonical_json(), dump.hashed(name), *companions)
        return _answer(dump.sha256, await service.commits.commit(bearer, delivery, dump))


def _add_printed(manifest: Manifest, form: PartReader) -> Manifest:
    """The manifest with the counters in what the runner printed.

    Raises:
        Problem: That is malformed.
    """
    try:
        printed = [
            counter
            for part, suffix in _PRINTED.items()
            if part in form.parts and form.parts[part].spool.byte_count
            for counter in parse_printed(part, form.parts[part].spool.data, suffix)
        ]
        if not printed:
            return manifest
        stated = [counter.model_dump() for counter in manifest.counters or ()]
        fields: Fields = {COUNTERS: add_counters(stated, printed)}
        return correct_manifest(manifest.canonical_json(), "manifest", fields)
    except ManifestError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "manifest", str(error)) from error


def _companion(form: PartReader, part: str, name: str) -> HashedFile | None:
    found = form.parts.get(part)
    if found is None or not found.spool.byte_count:  # as forms send it without a file
        return None
    return found.spool.hashed(found.file_name or f"{name}: {_COMPANIONS[part]}")


async def _take_zip(request: Request, bearer: Bearer, encoding: str | None) -> Response:
    service = _service(request)
    settings = service.settings
    stated = _parse_object(request.headers.get(MANIFEST_HEADER, "{}"))
    async with held(service, service.inbox.spool(is_zip=True)) as spool:
        await bring(service, request, encoding, spool.write, settings.max_body_bytes)

        def room(byte_count: int) -> Spool:
            service.admission.check_room(byte_count)
            return service.inbox.spool()

        groups = read_artifact(spool.path, stated, settings.max_dump_bytes, room)
        taken: list[ZipMemberResult] = []
        while group := await run_there(service.spooling, next, groups, None):
            taken += await take_group(service, bearer, group)
    request.state.what = ", ".join(one.sha256 or one.name for one in taken)
    return answer_taken(taken)


def _answer(sha256: str, outcome: Outcome) -> Response:
    """The answer to an upload."""
    status = HTTPStatus.CREATED if outcome.is_new else HTTPStatus.OK
    return JSONResponse({"sha256": sha256, "state": outcome.state}, status)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _name(sha256: str) -> str:
    return f"{sha256[:_NAME_LETTERS]}.etdp"


def _sha256_of(request: Request) -> str:
    """The SHA-256 that a path names.

    Raises:
        Problem: It is none.
    """
    sha256: str = request.path_params["sha256"]
    if not _SHA256.fullmatch(sha256):
        detail = f"found {sha256!r:.100} in the path, wanted a SHA-256 in small hexadecimal letters"
        raise Problem(HTTPStatus.BAD_REQUEST, "sha256", detail)
    return sha256


@lru_cache(maxsize=256)  # many dumps have the same
def _stated_manifest(text: str | None) -> Manifest:
    """The manifest in a header.

    Raises:
        Problem: It is missing, malformed, or lacks a field.
    """
    if text is None:
        detail = f"no header {MANIFEST_HEADER}: state device, build and model in it, as JSON"
        raise Problem(HTTPStatus.BAD_REQUEST, "manifest", detail)
    return _parse(_ascii(text), MANIFEST_HEADER)


def _parse(data: bytes, place: str) -> Manifest:
    try:
        return parse_stated(place, data)
    except ManifestError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "manifest", str(error)) from error


def _parse_object(text: str) -> dict[str, object]:
    try:
        return parse_fields(MANIFEST_HEADER, _ascii(text))
    except ManifestError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "manifest", str(error)) from error


def _ascii(text: str) -> bytes:
    if not text.isascii():
        detail = f"{MANIFEST_HEADER}: not ASCII; write other letters as \\uXXXX"
        raise Problem(HTTPStatus.BAD_REQUEST, "manifest", detail)
    return text.encode()
