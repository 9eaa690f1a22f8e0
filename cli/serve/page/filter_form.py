"""The form of filters: names with suggestions, dates, and counts of what each name selects."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cli.serve.page.cells import natural_key
from cli.serve.page.page_request import DATES, NAMES, Address, PageRequest
from warehouse.errors import ParameterError

MOST_NAMES = 500  # suggestions for a field
MOST_LINKS = 12  # counts of a filter
_LABELS = {"since": "recorded from", "until": "before"}
_DATE_LETTERS = len("2026-01-31")


class Choice(NamedTuple):
    """A name with its dumps, and the address that filters by it, or no longer does."""

    name: str
    dump_count: int
    href: str
    is_chosen: bool = False


class Facet(NamedTuple):
    """The names that a filter can have: the most frequent, and how many others there are."""

    name: str
    choices: Sequence[Choice]
    more: int


@dataclass(frozen=True)
class Field:
    """An input of the form.

    Attributes:
        name: Name of the parameter.
        values: Its values; one empty text without any.
        label: Words before it.
        kind: Type of the input.
        names: Suggestions.
        nearest: If a value is unknown, links to those that may be meant.
        facet: The filter that the suggestions are of.
        placeholder: What an empty input means.
    """

    name: str
    values: Sequence[str]
    label: str
    kind: str = "text"
    names: Sequence[str] = ()
    nearest: Sequence[Choice] = ()
    facet: str = ""
    placeholder: str = "all"


class Form(NamedTuple):
    """The filters of a view.

    Attributes:
        fields: The inputs.
        facets: What narrows the view.
        clear: Address of the view without filters; empty if there are none.
        hidden: Names and values of the view's other parameters.
    """

    fields: Sequence[Field]
    hidden: Sequence[tuple[str, str]] = ()
    facets: Sequence[Facet] = ()
    clear: str = ""


def plain_form(request: Address, builds: Mapping[str, str]) -> Form:
    """The form with its values alone, which needs no store."""
    return _form(request, builds, {}, {})


def filter_form(request: PageRequest, builds: Mapping[str, str]) -> Form:
    """The form with suggestions and counts.

    A Problem with the visitor's pools, and a ParameterError about a date, are passed on.

    Args:
        request: The request.
        builds: Parameters of the view that name builds, with what each means without a value.
    """
    counts, unknown = _read_names(request)
    return _form(request, builds, counts, unknown)


def _form(
    request: Address,
    builds: Mapping[str, str],
    counts: Mapping[str, Mapping[str, int]],
    unknown: Mapping[str, Sequence[str]],
) -> Form:
    fields = [
        Field(name, [request.fields.get(name, "")], name, facet="build", placeholder=meaning)
        for name, meaning in builds.items()
    ]
    for name in NAMES:
        names = sorted(counts.get(name, ()), key=natural_key)[:MOST_NAMES]
        nearest = [
            Choice(near, counts[name][near], request.here(**{name: near, "page": ""}))
            for value in unknown.get(name, ())
            for near in difflib.get_close_matches(value, names, n=3)
        ]
        values = request.filters.get(name, [""])
        fields.append(
            Field(name, values, name, names=names, nearest=nearest, facet=name if names else "")
        )
    for name in DATES:
        values = request.filters.get(name, [""])
        is_date = all(len(value) in (0, _DATE_LETTERS) for value in values)
        fields.append(Field(name, values, _LABELS[name], "date" if is_date else "text"))
    facets = [
        _facet(request, name, counts[name]) for name in NAMES if len(counts.get(name, ())) > 1
    ]
    clear = request.here(**dict.fromkeys(request.filters, ""), page="") if request.filters else ""
    hidden = [
        (name, value)
        for name, value in request.fields.items()
        if name not in builds and not name.endswith("page")
    ]
    return Form(fields, hidden, facets, clear)


def _facet(request: Address, name: str, counts: Mapping[str, int]) -> Facet:
    given = request.filters.get(name, [])
    names = sorted(counts, key=natural_key, reverse=name == "build")
    first = sorted(names, key=lambda one: (one not in given, -counts[one]))
    choices = []
    for one in first[:MOST_LINKS]:
        wanted = "" if one in given else one
        href = request.here(**{name: wanted, "page": ""})
        choices.append(Choice(one, counts[one], href, one in given))
    return Facet(name, choices, max(0, len(counts) - MOST_LINKS))


def _read_names(
    request: PageRequest,
) -> tuple[dict[str, dict[str, int]], dict[str, Sequence[str]]]:
    """The dumps of each name by filter, and the values of filters that the store lacks.

    Raises:
        ParameterError: A date is malformed.
    """
    chosen = request.chosen()
    unknown: dict[str, Sequence[str]] = {}
    visible = chosen["pool"] if request.bearer.pools is not None else None
    while True:
        try:
            rows = request.store.query("page_facets", **chosen, visible=visible).to_pylist()
        except ParameterError as error:
            if error.param not in NAMES or error.param not in chosen:
                raise
            del chosen[error.param]
            unknown[error.param] = request.filters[error.param]
            continue
        counts: dict[str, dict[str, int]] = defaultdict(dict)
        for row in rows:
            counts[row["facet"]][row["name"]] = row["dump_count"]
        return counts, unknown
