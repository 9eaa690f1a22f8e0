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


@dataclass(frozen=True)
class Field:
    """An input of the form, with its values; one empty text without any."""

    name: str
    values: Sequence[str]
    label: str
    kind: str = "text"
    names: Sequence[str] = ()  # suggestions
    facet: Sequence[Choice] = ()  # the most frequent names
    more: int = 0  # other names
    nearest: Sequence[tuple[str, str]] = ()  # names that may be meant, and their addresses
    placeholder: str = "all"
    choices: Sequence[str] = ()  # the only values, if there are few
    doc: str = ""
    remove: Sequence[str] = ()  # addresses without each of the values

    @property
    def chips(self) -> list[tuple[str, str]]:
        """The values that are set, each with the address without it."""
        return [pair for pair in zip(self.values, self.remove, strict=False) if pair[0]]


class Form(NamedTuple):
    """The filters of a view, and the inputs of builds that it is about."""

    fields: list[Field]
    builds: list[Field]
    hidden: Sequence[tuple[str, str]] = ()  # other parameters of the view
    clear: str = ""  # the address without filters


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
    fields = [
        *(_parameter_field(address, one) for one in params),
        *(_name_field(address, name, known) for name in NAMES if name in filters),
        *(_date_field(address, name) for name in DATES if name in filters),
    ]
    given = address.filters
    clear = address.here(**dict.fromkeys(given, ""), page="") if given else ""
    own = (*builds, *(param.name for param in params), "at")
    hidden = [
        (name, value)
        for name, value in address.fields.items()
        if name not in own and not name.endswith("page")
    ]
    named = [_build_field(address, name, meaning, known) for name, meaning in builds.items()]
    return Form(fields, named, hidden, clear)


def _build_field(address: Address, name: str, meaning: str, known: _Names) -> Field:
    values, builds = [address.fields.get(name, "")], known.counts.get("build", {})
    nearest = _nearest(address, name, values, builds)
    names = sorted(builds, key=natural_key, reverse=True)[:MOST_NAMES]
    if len(builds) <= MOST_CHOICES and (not values[0] or values[0] in builds):
        return Field(name, values, name, nearest=nearest, placeholder=meaning, choices=names)
    return Field(name, values, name, names=names, nearest=nearest, placeholder=meaning)


def _name_field(address: Address, name: str, known: _Names) -> Field:
    values, counts = address.filters.get(name, [""]), known.counts.get(name, {})
    facet = _facet(address, name, counts) if len(counts) > 1 else []
    return Field(
        name,
        values,
        name,
        names=sorted(counts, key=natural_key)[:MOST_NAMES],
        facet=facet,
        more=len(counts) - len(facet) if facet else 0,
        nearest=_nearest(address, name, values, counts if name in known.unknown else {}),
        remove=_removing(address, name, values),
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


def _facet(address: Address, name: str, counts: Mapping[str, int]) -> list[Choice]:
    given = address.filters.get(name, [])
    names = sorted(counts, key=natural_key, reverse=name == "build")
    first = sorted(names, key=lambda one: (one not in given, -counts[one]))[:MOST_LINKS]
    hrefs = [address.here(**{name: "" if one in given else one, "page": ""}) for one in first]
    return [
        Choice(one, counts[one], href, one in given) for one, href in zip(first, hrefs, strict=True)
    ]


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
