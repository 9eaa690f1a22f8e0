"""Which form of an answer a request wants, and which page of it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple, TypeVar

from starlette.requests import Request

from cli.serve.http.problems import Problem

RESERVED = ("format", "limit", "offset")  # in an address; no parameter of a query is called so

_MOST_DIGITS = 15
_Name = TypeVar("_Name", bound=str)


class Page(NamedTuple):
    """Which rows of an answer are wanted: `limit` from `offset` on; None for all."""

    limit: int | None
    offset: int


ALL = Page(None, 0)


def choose_form(request: Request, offered: Mapping[_Name, str]) -> _Name:
    """The form of an answer: what ?format= names, else what Accept likes best.

    Args:
        request: The request.
        offered: Media types of the forms by their names, the one to prefer first.

    Raises:
        Problem: 400 or 406; none of these is wanted.
    """
    names = ", ".join(offered)
    if (given := request.query_params.get("format")) is not None:
        for name in offered:
            if name == given:
                return name
        raise Problem(HTTPStatus.BAD_REQUEST, "format", f"format={given}, wanted one of {names}")
    ranges = _parse_accept(",".join(request.headers.getlist("accept")) or "*/*")
    qualities = {name: _quality(media_type, ranges) for name, media_type in offered.items()}
    best = max(qualities, key=lambda name: qualities[name])
    if not qualities[best]:
        types = ", ".join(media_type.partition(";")[0] for media_type in offered.values())
        detail = f"nothing of what Accept says is offered: {types}; or ask with ?format= {names}"
        raise Problem(HTTPStatus.NOT_ACCEPTABLE, "not_acceptable", detail)
    return best


def _parse_accept(text: str) -> dict[str, float]:
    """How much each range of media types is wanted, 0 to 1; what is malformed is not wanted."""
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
    """The page that is asked for.

    Raises:
        Problem: 400; it is no page.
    """
    limit = _read_count(request, "limit", 1)
    return Page(limit, _read_count(request, "offset", 0) or 0)


def _read_count(request: Request, name: str, least: int) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (
        text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) >= least
    ):
        detail = f"{name}={text}, wanted a whole number of at least {least}"
        raise Problem(HTTPStatus.BAD_REQUEST, name, detail)
    return int(text)
