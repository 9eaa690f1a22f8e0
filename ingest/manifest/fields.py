"""The fields of a manifest as one flat table, so that several manifests merge field by field.

A key is (section, field): ("device", "name"), ("clock.delegates", "xnnpack"), ("tags", "color").
The section of `method`, `captured_at` and `counters` is "". Null and the empty text count as not
stated.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from pydantic import BaseModel

from tracehouse.ingest.schemas.attributes import SECTIONS, compose, short_name
from tracehouse.ingest.strict_json import quote

Key = tuple[str, str]
Fields = dict[Key, object]

COUNTERS: Key = ("", "counters")
_UNIT, _RATE = ("clock", "unit"), ("clock", "ticks_per_second")
_SECTIONS = {section: tuple(names) for section, names in SECTIONS.items() if section}

REQUIRED: dict[str, Key] = {
    "device": ("device", "name"),
    "build": ("build", "id"),
    "model": ("model", "name"),
}
# Names that need no section: in options, in path templates and at the top of a manifest file.
SHORT_NAMES: dict[str, Key] = {
    **REQUIRED,
    **{short_name(*key): key for key in ((s, name) for s in SECTIONS for name in SECTIONS[s])},
    "counters": COUNTERS,
}
_TOP_NAMES = (*_SECTIONS, *SHORT_NAMES, "tags")
_LIKENESS = 0.75  # "biuld" resembles build; "lab" resembles no field
_MOST_TAG_LENGTH = 200  # letters of the joined name of a nested tag
_MOST_NAME_LENGTH = 40  # letters of an unknown name that is compared with the known ones
_MOST_COMPARED = 100  # unknown names of a section: each comparison takes a tenth of a millisecond
_MOST_DIFFERENCES = 10
LAYOUT_FIELDS = tuple(
    name for name, key in SHORT_NAMES.items() if key[0] != "clock" and name != "counters"
)


class FullShape(dict[str, object]):
    """A manifest with all sections as objects and all tags in `tags`."""


def flatten(data: Mapping[str, object]) -> Fields:
    """The fields that a manifest of any shape states; unknown fields become tags.

    A tag that is an object becomes one tag per field, such as ``input.height``, unless a name would
    be longer than 200 characters. The rate and the unit of a clock belong together: a rate implies
    cycles, and any other unit sets the rate to None, which overrides a rate stated elsewhere.

    Raises:
        ValueError: if `tags` or `clock.delegates` is not an object, or a field is stated twice.
    """
    fields: Fields = {}
    for key, value in _flatten_tags(_list_fields(data)):
        if value is None or value == "":
            continue
        stated = fields.setdefault(key, value)
        if stated is not value and stated != value:
            raise ValueError(f"{'.'.join(filter(None, key))}: stated twice, wanted one value")
    if _RATE in fields:
        fields.setdefault(_UNIT, "cycles")
    elif fields.get(_UNIT, "cycles") != "cycles":
        fields[_RATE] = None
    return fields


def near_misses(data: Mapping[str, object]) -> list[str]:
    """A sentence for each unknown field that resembles a known field that is not stated.

    >>> near_misses({"device": "pixel8", "biuld": "b7", "lab": 3, "model": {"nmae": "mv2"}})
    ["unknown field 'biuld', stored as a tag; did you mean build?", \
"unknown field 'model.nmae', stored as a tag; did you mean model.name?"]
    """
    found = _misspelt("", data, _TOP_NAMES)
    for section, names in _SECTIONS.items():
        content = data.get(section)
        if isinstance(content, Mapping):
            known = (*names, "delegates") if section == "clock" else names
            found += _misspelt(f"{section}.", content, known)
    return found


def _misspelt(prefix: str, stated: Mapping[str, object], known: tuple[str, ...]) -> list[str]:
    free = [name for name in known if name not in stated]
    unknown = (name for name in stated if name not in known and len(name) <= _MOST_NAME_LENGTH)
    sentences = []
    for name in islice(unknown, _MOST_COMPARED):
        near = difflib.get_close_matches(name.casefold(), free, n=1, cutoff=_LIKENESS)
        if near:
            hint = f"did you mean {prefix}{near[0]}?"
            sentences.append(f"unknown field {prefix + name!r}, stored as a tag; {hint}")
    return sentences


def describe_differences(here: str, there: str) -> str:
    """The fields in which two manifests, given as canonical JSON, differ, as a sentence.

    >>> describe_differences('{"device":{"name":"a"}}', '{"device":{"name":"b","os":"x"}}')
    "device.name: 'a' here, 'b' there; device.os: nothing here, 'x' there"
    """
    found = list_differences(here, there)
    differences = [
        f"{name:.200}: {ours} here, {theirs} there"
        for name, ours, theirs in found[:_MOST_DIFFERENCES]
    ]
    more = len(found) - len(differences)
    return "; ".join([*differences, *([f"and {more:,} more"] if more else [])])


def list_differences(here: str, there: str) -> list[tuple[str, str, str]]:
    """The fields in which two manifests differ, each with both values.

    >>> list_differences('{"device":{"name":"a"}}', '{"device":{"name":"a","os":"x"}}')
    [('device.os', 'nothing', "'x'")]
    """
    ours, theirs = name_values(here), name_values(there)
    return [
        (name, _stated(ours, name), _stated(theirs, name))
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    ]


def name_values(manifest: str) -> dict[str, object]:
    """The values of a manifest by name (``device.os``, ``tags.lab``); deeper levels stay nested."""
    values: dict[str, object] = {}
    for section, content in json.loads(manifest).items():
        if isinstance(content, dict):
            values.update({f"{section}.{name}": value for name, value in content.items()})
        else:
            values[section] = content
    return values


def _stated(fields: Mapping[str, object], name: str) -> str:
    return quote(fields[name]) if name in fields else "nothing"


def find_key(name: str) -> Key:
    """The key of a field by its name: ``build``, ``device.os``, ``tags.lab``.

    Raises:
        ValueError: if there is no such field.

    >>> find_key("build"), find_key("device.os"), find_key("clock.delegates.XNNPACK")
    (('build', 'id'), ('device', 'os'), ('clock.delegates', 'xnnpack'))
    """
    name = compose(name)
    if name in SHORT_NAMES:
        return SHORT_NAMES[name]
    section, _, rest = name.partition(".")
    if section == "clock" and rest.startswith("delegates."):
        return "clock.delegates", rest.removeprefix("delegates.").casefold()
    if rest and (section == "tags" or rest in _SECTIONS.get(section, ())):
        return section, rest
    raise ValueError(f"no field {quote(name)}; e.g. build, device.os or tags.NAME")


def nest(fields: Fields) -> FullShape:
    """The manifest with these fields."""
    nested: dict[str, dict[str, object]] = {"": {}, "clock": {}, "clock.delegates": {}}
    for (section, name), value in fields.items():
        if value is not None:
            nested.setdefault(section, {})[name] = value
    nested["clock"]["delegates"] = nested.pop("clock.delegates")
    return FullShape(nested.pop("") | nested)


def _list_fields(data: Mapping[str, object]) -> Iterator[tuple[Key, object]]:
    for name, value in data.items():
        content = value.model_dump() if isinstance(value, BaseModel) else value
        if name == "tags":
            yield from ((("tags", tag), item) for tag, item in _need_object(name, content).items())
        elif name in _SECTIONS and isinstance(content, Mapping):
            yield from _list_section(name, content)
        else:
            yield SHORT_NAMES.get(name, ("tags", name)), content


def _flatten_tags(fields: Iterable[tuple[Key, object]]) -> Iterator[tuple[Key, object]]:
    waiting = [*fields][::-1]
    while waiting:
        (section, name), value = waiting.pop()
        names = (
            {f"{name}.{own}": one for own, one in value.items()}
            if section == "tags" and isinstance(value, Mapping) and len(name) < _MOST_TAG_LENGTH
            else {}
        )
        if names and max(map(len, names)) <= _MOST_TAG_LENGTH:
            waiting += ((("tags", own), one) for own, one in reversed(names.items()))
        else:
            yield (section, name), value


def _list_section(section: str, content: Mapping[str, object]) -> Iterator[tuple[Key, object]]:
    for name, value in content.items():
        if name in _SECTIONS[section]:
            yield (section, name), value
        elif section == "clock" and name == "delegates":
            yield from _list_delegates(_need_object("clock.delegates", value))
        else:
            yield ("tags", f"{section}.{name}"), value


def _list_delegates(content: Mapping[str, object]) -> Iterator[tuple[Key, object]]:
    for backend, value in content.items():
        place = f"clock.delegates.{backend}"
        stated = {"unit": value} if isinstance(value, str) else _need_object(place, value)
        rate = {name: stated[name] for name in _SECTIONS["clock"] if stated.get(name) is not None}
        if "ticks_per_second" in rate:
            rate.setdefault("unit", "cycles")
        yield ("clock.delegates", backend.casefold()), rate
        for name in stated.keys() - set(_SECTIONS["clock"]):
            yield ("tags", f"{place}.{name}"), stated[name]


def _need_object(place: str, value: object) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{place}: found {quote(value)}, wanted an object")
    return value
