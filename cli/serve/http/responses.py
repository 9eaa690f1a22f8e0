"""Answers: the form and page that a request wants, tables and texts in it, and their tags."""

from __future__ import annotations

import hashlib
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import IO, NamedTuple, TypeVar
from urllib.parse import urlencode

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.queries.formats import MEDIA_TYPES, Format, Rows, read_batches, write_encoded

RESERVED = ("format", "limit", "offset")  # parameters of queries must not have these names
TABLE_FORMS = MEDIA_TYPES

_STARTED = secrets.token_hex(8)  # tags do not outlive the service: a store may change without it
_MEMORY_BYTES = 1 << 20  # a longer answer waits in a temporary file
_PART_BYTES = 256 << 10
_Name = TypeVar("_Name", bound=str)


class Page(NamedTuple):
    """The rows of an answer: `limit` of them from `offset` on; None for all."""

    limit: int | None
    offset: int


ALL = Page(None, 0)


def choose_form(request: Request, offered: Mapping[_Name, str]) -> _Name:
    """The form of an answer: the one in ?format=, else the one that Accept prefers.

    `offered` has the media type of each form, the default first.

    Raises:
        Problem: 400 or 406 if the request wants another form.
    """
    names = ", ".join(offered)
    if (given := request.query_params.get("format")) is not None:
        for name in offered:
            if name == given:
                return name
        raise Problem(400, "format", f"format={given}, wanted one of {names}")
    ranges = _parse_accept(",".join(request.headers.getlist("accept")) or "*/*")
    qualities = {name: _quality(media_type, ranges) for name, media_type in offered.items()}
    best = max(qualities, key=lambda name: qualities[name])
    if not qualities[best]:
        types = ", ".join(media_type.partition(";")[0] for media_type in offered.values())
        detail = f"Accept allows none of {types}; accept one of them, or add ?format= {names}"
        raise Problem(406, "not_acceptable", detail)
    return best


def check_parameters(request: Request, known: Sequence[str]) -> None:
    """Check that the address has no other parameters.

    Raises:
        Problem: 400 if it has.
    """
    for name in request.query_params:
        if name not in known:
            detail = f"no such parameter '{name}'; there are {', '.join(known)}"
            raise Problem(400, "parameter", detail)


def _parse_accept(text: str) -> dict[str, float]:
    """Quality of each range of media types, 0 to 1; a malformed one counts as 0."""
    ranges = {}
    for entry in text.lower().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        quality = next((p.partition("=")[2] for p in parameters if p.startswith("q=")), "1")
        try:
            ranges[name] = min(max(float(quality), 0.0), 1.0)
        except ValueError:
            ranges[name] = 0.0
    return ranges


def _quality(media_type: str, ranges: Mapping[str, float]) -> float:
    name = media_type.partition(";")[0]
    family = f"{name.partition('/')[0]}/*"
    return next((ranges[known] for known in (name, family, "*/*") if known in ranges), 0.0)


def read_page(request: Request) -> Page:
    """The page that a request wants.

    Raises:
        Problem: 400 if a number is malformed.
    """
    limit = _read_count(request, "limit", 1)
    return Page(limit, _read_count(request, "offset", 0) or 0)


def _read_count(request: Request, name: str, least: int) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not re.fullmatch("[0-9]{1,15}", text) or int(text) < least:
        detail = f"{name}={text}, wanted a whole number of at least {least}"
        raise Problem(400, name, detail)
    return int(text)


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


def answer_unchanged(request: Request, tag: str) -> Response | None:
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
