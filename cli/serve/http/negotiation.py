"""The parameters of a request, and the form and the page of the answer that it wants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from starlette.requests import Request

from tracehouse.cli.serve.http.problems import Problem

RESERVED = ("format", "limit", "offset")  # parameters of queries must not have these names

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
