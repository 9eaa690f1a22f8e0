"""Names in filters, looked up among the names in the store; pure.

A misspelt name must not mean "no rows": a name without a match is an error that suggests names.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from tracehouse.ingest.schemas.attributes import compose
from tracehouse.warehouse.catalogue.header import Names, Parameter
from tracehouse.warehouse.catalogue.queries import Query
from tracehouse.warehouse.errors import ParameterError, suggest

ReadNames = Callable[[Names], Collection[object]]

_GLOB_LETTERS = frozenset("*?[")
_LONGEST_SHOWN = 60  # letters of a tag's value


class _Place(NamedTuple):
    """The query and parameter that a ParameterError names."""

    query: str
    param: str


def resolve_names(
    query: Query, values: Mapping[str, object], read_names: ReadNames
) -> dict[str, object]:
    """The values of a query's parameters, with names looked up and globs replaced by matches.

    Returns:
        The values. A parameter of names becomes the matching names of the store, and a parameter of
        tags becomes the sets of tags, as JSON, that contain these tags.

    Raises:
        ParameterError: The store has no such name or tag.
    """
    resolved = dict(values)
    for parameter in query.header.params:
        value = values[parameter.name]
        if parameter.names is not None and value is not None:
            place = _Place(query.header.name, parameter.name)
            resolved[parameter.name] = _resolve(
                place, parameter, value, read_names(parameter.names)
            )
    return resolved


def _resolve(
    place: _Place, parameter: Parameter, value: object, known: Collection[object]
) -> object:
    if isinstance(value, int):
        return _known_number(place, value, known)
    names = sorted(map(str, known))
    if parameter.type == "TAG_KEY":
        return _known_key(place, str(value), names, parameter.choices)
    if parameter.type == "TAG[]" and isinstance(value, list):
        return _tagged(place, value, names)
    if isinstance(value, list):
        return sorted({name for text in value for name in _called(place, text, names)})
    return _called(place, str(value), names, is_glob=False)[0]


def _known_number(place: _Place, value: int, known: Collection[object]) -> int:
    if value not in known:
        numbers = [number for number in known if isinstance(number, int)]
        there = f"there are {min(numbers)} to {max(numbers)}" if numbers else "none exist"
        raise ParameterError(*place, f"{value} is not in the store; {there}")
    return value


def _called(place: _Place, text: str, names: Sequence[str], *, is_glob: bool = True) -> list[str]:
    found = _matching(text, names, is_glob=is_glob)
    if not found:
        hint = suggest(text, names) if names else "; none exist yet: ingest dumps first"
        raise ParameterError(*place, f"'{text}' is not in the store{hint}")
    return found


def _matching(text: str, names: Collection[str], *, is_glob: bool = True) -> list[str]:
    """The name itself, or otherwise the names that match it as a glob, in the store's spelling."""
    for spelt in (text, compose(text)):
        if spelt in names:
            return [spelt]
    if not is_glob or not _GLOB_LETTERS.intersection(text):
        return []
    return [name for name in names if fnmatchcase(name, text) or fnmatchcase(name, compose(text))]


def _known_key(place: _Place, key: str, sets: Sequence[str], columns: Sequence[str]) -> str:
    key = compose(key)
    if key not in columns:
        known = {*columns, *(own for text in sets for own in _read_tags(text))}
        if key not in known:
            problem = f"no tag or attribute '{key}'{suggest(key, sorted(known))}"
            raise ParameterError(*place, problem)
    return key


def _tagged(place: _Place, wanted: Sequence[str], sets: Sequence[str]) -> list[str]:
    """The sets of tags that have one of the wanted values of every wanted key.

    Raises:
        ParameterError: No set has one of the values.
    """
    tags = {text: _read_tags(text) for text in sets}
    known = defaultdict(set)
    for own in tags.values():
        for key, value in own.items():
            known[key].add(value)
    chosen = defaultdict(set)
    for text in wanted:
        key, _, value = compose(text).partition("=")
        matches = _matching(value, known.get(key, ()))
        if not matches:
            near = [f"{key}={other[:_LONGEST_SHOWN]}" for other in sorted(known.get(key, ()))]
            there = suggest(text, near or [f"{other}=..." for other in known])
            raise ParameterError(*place, f"tag '{text}' is not in the store{there}")
        chosen[key].update(matches)
    return [
        text
        for text, own in tags.items()
        if all(own.get(key) in values for key, values in chosen.items())
    ]


def _read_tags(text: str) -> dict[str, str]:
    """Tags from a JSON object, with values other than texts as JSON; none from other JSON."""
    try:
        tags = json.loads(text)
    except (ValueError, RecursionError):  # a foreign store may contain any text
        return {}
    if not isinstance(tags, dict):
        return {}
    return {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in tags.items()
    }
