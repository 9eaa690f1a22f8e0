"""Answers: tables in their forms, a page of them at a time, and texts, each with its tag."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from http import HTTPStatus
from typing import IO
from urllib.parse import urlencode

import pyarrow as pa
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from cli.serve.http.negotiation import ALL, Page
from queries.formats import MEDIA_TYPES, Format, write_encoded

TABLE_FORMS = MEDIA_TYPES
_STARTED = secrets.token_hex(8)  # what was done to a store between two services, no tag tells
_MEMORY_BYTES = 1 << 20  # of an answer; what is longer waits in a temporary file
_PART_BYTES = 256 << 10


class SpooledResponse(Response):
    """An answer that was written to a temporary file, which is gone once it is sent."""

    def __init__(self, file: IO[bytes], media_type: str, headers: Mapping[str, str]) -> None:
        """Take the file, as it stands."""
        byte_count = file.tell()
        super().__init__(
            media_type=media_type, headers={**headers, "content-length": str(byte_count)}
        )
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, part after part."""
        with self._file as file:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            file.seek(0)
            is_wanted = scope["method"] != "HEAD"
            while is_wanted and (part := await run_sync(file.read, _PART_BYTES)):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def entity_tag(*facts: object) -> str:
    """A tag that only answers of the same bytes have, if these facts decide what they are."""
    return f'"{hashlib.sha256(repr((_STARTED, facts)).encode()).hexdigest()[:32]}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has the answer of this tag."""
    known = ",".join(request.headers.getlist("if-none-match"))
    return any(one.strip().removeprefix("W/") in {tag, "*"} for one in known.split(","))


def unchanged(tag: str) -> Response:
    """The answer to a client that has it already."""
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=_headers(tag))


def table_answer(
    request: Request,
    table: pa.Table,
    form: Format,
    *,
    page: Page = ALL,
    tag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Rows of a table in a form; to be made in a thread.

    A FormatError is passed on.
    """
    note = (table.schema.metadata or {}).get(b"note", b"").decode()
    more = {**_headers(tag), **(headers or {}), **({"Tracehouse-Note": note} if note else {})}
    rows = table.slice(page.offset, page.limit)
    if page.offset + rows.num_rows < table.num_rows:
        more["Link"] = f'<{_next(request, page)}>; rel="next"'
    with ExitStack() as held:
        file = held.enter_context(tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES))
        write_encoded(rows, form, file)
        held.pop_all()  # it is closed when it is sent
    return SpooledResponse(file, MEDIA_TYPES[form], more)


def text_answer(text: str, media_type: str, tag: str | None = None) -> Response:
    """A text as an answer."""
    return Response(text, media_type=media_type, headers=_headers(tag))


def _headers(tag: str | None) -> dict[str, str]:
    if tag is None:
        return {"Cache-Control": "no-store", "Vary": "Accept"}
    return {"Cache-Control": "no-cache", "Vary": "Accept", "ETag": tag}


def _next(request: Request, page: Page) -> str:
    """The address of the next page, without the host, which a proxy may know by another name."""
    others = [item for item in request.query_params.multi_items() if item[0] != "offset"]
    offset = page.offset + (page.limit or 0)
    return f"{request.url.path}?{urlencode([*others, ('offset', str(offset))])}"
