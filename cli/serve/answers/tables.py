"""Answers: pages of tables in several forms, and texts, each with its entity tag."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import IO
from urllib.parse import urlencode

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tracehouse.cli.serve.http.negotiation import ALL, Page
from tracehouse.queries.formats import MEDIA_TYPES, Format, Rows, read_batches, write_encoded

TABLE_FORMS = MEDIA_TYPES
_STARTED = secrets.token_hex(8)  # tags do not outlive the service: a store may change without it
_MEMORY_BYTES = 1 << 20  # a longer answer waits in a temporary file
_PART_BYTES = 256 << 10


class SpooledResponse(StreamingResponse):
    """An answer in a temporary file, which is closed even if the client goes away."""

    def __init__(self, file: IO[bytes], media_type: str, headers: Mapping[str, str]) -> None:
        length = {"Content-Length": str(file.tell())}
        parts = iter(partial(file.read, _PART_BYTES), b"")
        super().__init__(parts, media_type=media_type, headers={**headers, **length})
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file in parts."""
        with self._file as file:
            file.seek(0)
            await super().__call__(scope, receive, send)


def entity_tag(*facts: object) -> str:
    """The tag of an answer whose bytes these facts determine."""
    return f'"{hashlib.sha256(repr((_STARTED, facts)).encode()).hexdigest()[:32]}"'


def unchanged(request: Request, tag: str) -> Response | None:
    """The answer 304 to a client that has the answer of this tag; None to others."""
    known = ",".join(request.headers.getlist("if-none-match"))
    if any(one.strip().removeprefix("W/") in {tag, "*"} for one in known.split(",")):
        return Response(status_code=304, headers=_headers(tag))
    return None


class _PageRows:
    """The rows of a page, read from those of an answer.

    Attributes:
        has_more: Whether rows follow the page, once it is read.
    """

    def __init__(self, rows: Rows, page: Page) -> None:
        self._rows, self._page = rows, page
        self.has_more = False

    def read(self) -> Iterator[pa.RecordBatch]:
        skipped, left = self._page.offset, self._page.limit
        for batch in read_batches(self._rows):
            rest = batch.slice(skipped)
            skipped -= min(skipped, batch.num_rows)
            yield rest.slice(0, left)
            if left is not None and rest.num_rows > left:
                self.has_more = True
                return
            left = None if left is None else left - rest.num_rows


def table_answer(
    request: Request,
    table: Rows,
    form: Format,
    *,
    page: Page = ALL,
    tag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A page of rows in a form; call it in a thread.

    A FormatError is passed on.
    """
    note = (table.schema.metadata or {}).get(b"note", b"").decode()
    more = {**_headers(tag), **(headers or {}), **_note_header(note)}
    rows = _PageRows(table, page)
    with ExitStack() as files:
        file = files.enter_context(tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES))
        write_encoded(pa.RecordBatchReader.from_batches(table.schema, rows.read()), form, file)
        files.pop_all()  # the response closes the file
    if rows.has_more:
        more["Link"] = f'<{_next(request, page)}>; rel="next"'
    return SpooledResponse(file, MEDIA_TYPES[form], more)


def text_answer(text: str, media_type: str, tag: str | None = None) -> Response:
    """A text as an answer."""
    return Response(text, media_type=media_type, headers=_headers(tag))


def _headers(tag: str | None) -> dict[str, str]:
    if tag is None:
        return {"Cache-Control": "no-store", "Vary": "Accept"}
    return {"Cache-Control": "no-cache", "Vary": "Accept", "ETag": tag}


def _note_header(notes: str) -> dict[str, str]:
    """The header with the notes of a table, which are lines of Unicode; none without any."""
    text = "; ".join(notes.splitlines()).encode("ascii", "backslashreplace").decode()
    return {"Tracehouse-Note": text} if text else {}


def _next(request: Request, page: Page) -> str:
    """The address of the next page, without the host, which a proxy may rename."""
    others = [item for item in request.query_params.multi_items() if item[0] != "offset"]
    offset = page.offset + (page.limit or 0)
    return f"{request.url.path}?{urlencode([*others, ('offset', str(offset))])}"
