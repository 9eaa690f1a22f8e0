"""Uploads that are refused before they come into the inbox, put on record in the store."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.commits import UploadProblem
from tracehouse.ingest.dump import Refusal

NAME_LETTERS = 16  # of a SHA-256 in the name of a dump
UNNAMED = "upload"  # source of an upload without a name

# The other statuses are about access, or defer an upload.
_REFUSED = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
_POOL = "pool"  # the token is for other pools of devices
_CUT = {"cut", "disconnected"}  # the client did not read the answer, and sends the dump again


def name_of(sha256: str) -> str:
    """The name of a dump that was uploaded without one."""
    return f"{sha256[:NAME_LETTERS]}.etdp"


def record_request(request: Request, problem: Problem) -> None:
    """Put the refusal of a request on record; a zip's dumps are on record one by one.

    The request's state has the `source`, `sha256` and `manifest` of the dump as far as they are
    known: a SHA-256 is that of bytes that were read.
    """
    if "dumps" not in problem.more:
        state, service = request.state, request.app.state.service
        source, sha256 = getattr(state, "source", UNNAMED), getattr(state, "sha256", None)
        manifest = getattr(state, "manifest", None)
        record_refusal(service, problem, source, sha256, manifest)


def record_refusal(
    service: Service, problem: Problem, source: str, sha256: str | None, manifest: str | None = None
) -> None:
    """Put the refusal of an upload on record, unless the upload is only deferred."""
    if isinstance(problem, UploadProblem):
        service.consumer.refusals.refuse(problem.refusal)
    elif problem.reason == _POOL or (
        problem.status_code in _REFUSED and problem.reason not in _CUT
    ):
        refusal = Refusal(source, sha256, problem.reason, None, problem.detail, manifest=manifest)
        service.consumer.refusals.refuse(refusal)
