"""The filters of a view: chips of those that are set, and a form with suggestions for others."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from tracehouse.cli.serve.page.cells import natural_key
from tracehouse.cli.serve.page.page_request import DATES, NAMES, Address, PageRequest, page_query
from tracehouse.warehouse.catalogue.header import Parameter
from tracehouse.warehouse.errors import ParameterError

MOST_NAMES = 500  # suggestions for a field
MOST_LINKS = 12  # counts of a filter
MOST_CHOICES = 60  # builds to choose from; more are suggested while one types
_LABELS = {"since": "recorded from", "until": "before"}
_GLOB_LETTERS = frozenset("*?[")
_MOST_COMPARED = 5000  # names, with one that is unknown
_DATE_LETTERS = len("2026-01-31")


class Choice(NamedTuple):
    """A name, its number of dumps, and the address that adds or removes this filter."""

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
        facet: The filter whose names are suggested; empty without suggestions.
        nearest: If a value is unknown, the names that may be meant, each with its address.
        placeholder: What an empty input means.
        choices: The only values, if there are few.
        doc: What it means, if the label does not say so.
        remove: Addresses without each of the values.
    """

    name: str
    values: Sequence[str]
    label: str
    kind: str = "text"
    facet: str = ""
    nearest: Sequence[tuple[str, str]] = ()
    placeholder: str = "all"
    choices: Sequence[str] = ()
    doc: str = ""
    remove: Sequence[str] = ()

    @property
    def chips(self) -> list[tuple[str, str]]:
        """The values that are set, each with the address without it."""
        return [pair for pair in zip(self.values, self.remove, strict=False) if pair[0]]


class Form(NamedTuple):
    """The filters of a view.

    Attributes:
        fields: The inputs.
        builds: Inputs of builds that the view itself is about.
        facets: Names by which the view can be narrowed.
        clear: Address of the view without filters; empty if there are none.
        hidden: Names and values of the view's other parameters.
        names: Suggestions, by filter.
    """

    fields: list[Field]
    builds: list[Field]
    hidden: Sequence[tuple[str, str]] = ()
    facets: Sequence[Facet] = ()
    clear: str = ""
    names: Mapping[str, Sequence[str]] = MappingProxyType({})


class Wanted(NamedTuple):
    """The filters that a view has; those of builds with what each means without a value."""

    filters: Sequence[str] = ()
    builds: Mapping[str, str] = MappingProxyType({})
    params: Sequence[Parameter] = ()


def plain_form(address: Address, wanted: Wanted) -> Form:
    """The form with its values alone, which needs no store."""
    return _form(address, wanted, _Names({}, frozenset()))


def filter_form(request: PageRequest, wanted: Wanted) -> Form:
    """The form with suggestions and counts.

    A Problem with the visitor's pools, and a ParameterError about a date, are passed on.
    """
    return _form(request, wanted, _read_names(request))


class _Names(NamedTuple):
    """The dumps of each name by filter, and the filters that have names the store lacks."""

    counts: Mapping[str, Mapping[str, int]]
    unknown: frozenset[str]


def _form(address: Address, wanted: Wanted, known: _Names) -> Form:
    filters, builds, params = wanted
    counts = {name: own for name, own in known.counts.items() if name in filters}
    fields = [
        *(_parameter_field(address, one) for one in params),
        *(_name_field(address, name, known) for name in NAMES if name in filters),
        *(_date_field(address, name) for name in DATES if name in filters),
    ]
    facets = [_facet(address, name, own) for name, own in counts.items() if len(own) > 1]
    given = address.filters
    clear = address.here(**dict.fromkeys(given, ""), page="") if given else ""
    own = (*builds, *(param.name for param in params), "at")
    hidden = [
        (name, value)
        for name, value in address.fields.items()
        if name not in own and not name.endswith("page")
    ]
    lists = {
        name: sorted(own, key=natural_key)[:MOST_NAMES]
        for name, own in known.counts.items()
        if name in filters or (builds and name == "build")
    }
    named = [_build_field(address, name, meaning, known) for name, meaning in builds.items()]
    return Form(fields, named, hidden, facets, clear, lists)


def _build_field(address: Address, name: str, meaning: str, known: _Names) -> Field:
    values = [address.fields.get(name, "")]
    builds = known.counts.get("build", {})
    nearest = _nearest(address, name, values, builds)
    is_short = len(builds) <= MOST_CHOICES and (not values[0] or values[0] in builds)
    choices = sorted(builds, key=natural_key, reverse=True) if is_short else ()
    return Field(
        name, values, name, facet="build", nearest=nearest, placeholder=meaning, choices=choices
    )


def _name_field(address: Address, name: str, known: _Names) -> Field:
    values = address.filters.get(name, [""])
    names = known.counts.get(name, {}) if name in known.unknown else {}
    nearest = _nearest(address, name, values, names)
    return Field(
        name, values, name, facet=name, nearest=nearest, remove=_removing(address, name, values)
    )


def _date_field(address: Address, name: str) -> Field:
    values = address.filters.get(name, [""])
    is_date = all(len(value) in (0, _DATE_LETTERS) for value in values)
    kind = "date" if is_date else "text"
    return Field(name, values, _LABELS[name], kind, remove=_removing(address, name, values))


def _parameter_field(address: Address, param: Parameter) -> Field:
    """The input of a parameter that only some queries have."""
    values = address.filters.get(param.name, [""])
    choices = param.choices if param.type == "STRING" else ()
    return Field(
        param.name,
        values,
        param.name.replace("_", " "),
        placeholder=param.default or ("needed" if param.is_required else "all"),
        choices=choices or (("true", "false") if param.type == "BOOLEAN" else ()),
        doc=param.doc,
        remove=_removing(address, param.name, values),
    )


def _removing(address: Address, name: str, values: Sequence[str]) -> list[str]:
    """The addresses without each of the values."""
    others = ([*values[:i], *values[i + 1 :]] for i in range(len(values)))
    return [address.here(**{name: rest, "page": ""}) for rest in others]


def _nearest(
    address: Address, name: str, values: Sequence[str], names: Collection[str]
) -> list[tuple[str, str]]:
    """Names that the unknown ones may mean, each with the address that has it."""
    return [
        (near, address.here(**{name: [near if one == value else one for one in values]}, page=""))
        for value in values
        if value and value not in names and not _GLOB_LETTERS.intersection(value)
        for near in difflib.get_close_matches(value, list(names)[:_MOST_COMPARED], n=3)
    ]


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


def _read_names(request: PageRequest) -> _Names:
    """The names of the store, without regard to filters that have unknown names.

    Raises:
        ParameterError: A date is malformed.
    """
    chosen, unknown = request.chosen(), set[str]()
    query = page_query("page_facets")
    while True:
        try:
            rows = request.store.query(query, **chosen).to_pylist()
        except ParameterError as error:
            if error.param not in NAMES or error.param not in chosen:
                raise
            del chosen[error.param]
            unknown.add(error.param)
            continue
        return _Names(_counts(rows), frozenset(unknown))


def _counts(rows: Iterable[Mapping[str, object]]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {name: {} for name in NAMES}
    for row in rows:
        counts[str(row["facet"])][str(row["name"])] = int(str(row["dump_count"]))
    return counts
