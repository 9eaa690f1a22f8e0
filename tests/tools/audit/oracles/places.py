"""Which dumps a question is about, and what its rows are grouped by."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from typing import Any
from unicodedata import normalize

from tests.tools.audit.events import Event
from tests.tools.audit.recordings import Recording, Run, parse_time

Params = Mapping[str, Any]
Row = dict[str, Any]
Place = tuple[str | None, ...]
Sides = tuple[list[Recording], list[Recording]]  # of base and head

PLACE = ("device", "pool", "build", "model", "backend", "group")
EVENT = ("event_name", "instruction_id", "delegate_id", "kind")
NAMES = ("device", "pool", "build", "model", "backend")  # what filters of dumps name
FILTERS = (*NAMES, "tag", "since", "until")
NAMES_OF_RUNS = ("run", "event", "delegate_id")
_OF_DEVICE = ("pool", "os", "os_version", "arch", "soc")
_LATE = datetime(9999, 1, 1, tzinfo=UTC)


@cache
def facts(dump: Recording) -> dict[str, str | None]:
    """What the filters of questions go by."""
    return {
        "device": dump.device,
        "build": dump.build,
        "model": dump.model[0],
        "backend": dump.model[1],
        "branch": dump.fact("build", "branch"),
        "quantization": dump.fact("model", "quantization"),
        **{name: dump.fact("device", name) for name in _OF_DEVICE},
    }


def chosen(dumps: Sequence[Recording], params: Params, *besides: str) -> list[Recording]:
    """The dumps that the filters leave, but for the filters named."""
    stated = [name for name in NAMES if params.get(name) is not None and name not in besides]
    wanted = {name: meant(params[name], names_of(dumps, name)) for name in stated}
    tags = _alternatives(dumps, params)
    return [
        dump
        for dump in dumps
        if all(facts(dump)[name] in names for name, names in wanted.items())
        and _is_in_time(dump, params)
        and all(tag_text(dump, key) in values for key, values in tags.items())
    ]


def names_of(dumps: Sequence[Recording], name: str) -> set[str]:
    """All names that the store has for a filter; one that means none of them is refused."""
    if name in NAMES_OF_RUNS:
        return _names_of_runs(tuple(dumps), name)
    return {value for dump in dumps if (value := facts(dump)[name]) is not None}


@cache
def _names_of_runs(dumps: tuple[Recording, ...], name: str) -> set[str]:
    runs = [(dump, run) for dump in dumps for run in dump.runs]
    if name == "run":
        return {series_of(dump, run) for dump, run in runs}
    events = [event for _, run in runs for event in run.events]
    names = {event.name if name == "event" else event.delegate for event in events}
    return {one for one in names if one is not None}


def meant(wanted: object, known: Collection[str]) -> set[str]:
    """The names that a filter means: one that is a name is that name alone, else it is a glob."""
    return {name for text in listed(wanted) for name in _called(text, known)}


def listed(wanted: object) -> list[str]:
    """The values of a filter, which may be repeated."""
    return [wanted] if isinstance(wanted, str) else list(wanted)  # type: ignore[call-overload]


def _called(text: str, known: Collection[str]) -> list[str]:
    spelt = normalize("NFC", text)
    return [spelt] if spelt in known else [name for name in known if fnmatchcase(name, spelt)]


def is_refused(dumps: Sequence[Recording], params: Params) -> bool:
    """Whether a question must not be answered, as a filter means nothing that is in the store."""
    since, until = parse_time(params.get("since")), parse_time(params.get("until"))
    if since is not None and until is not None and since >= until:
        return True
    lacks_name = any(
        not _called(text, names_of(dumps, name))
        for name in (*NAMES, *NAMES_OF_RUNS)
        if params.get(name) is not None and not isinstance(params[name], int)
        for text in listed(params[name])
    )
    return lacks_name or not all(
        _called(value, _tag_values(dumps, key)) for key, value in _tags(params)
    )


def is_named(value: str | None, wanted: object) -> bool:
    """Whether a value is one of those wanted, by name or glob; None wants all."""
    return wanted is None or (value is not None and bool(meant(wanted, [value])))


def _is_in_time(dump: Recording, params: Params) -> bool:
    since, until = parse_time(params.get("since")), parse_time(params.get("until"))
    at = dump.captured_at
    if at is None:
        return since is None and until is None
    return (since is None or at >= since) and (until is None or at < until)


def _alternatives(dumps: Sequence[Recording], params: Params) -> dict[str, set[str]]:
    """By key the values of which a dump must have one."""
    found: dict[str, set[str]] = {}
    for key, value in _tags(params):
        found.setdefault(key, set()).update(_called(value, _tag_values(dumps, key)))
    return found


def _tags(params: Params) -> list[tuple[str, str]]:
    pairs = listed(params["tag"]) if params.get("tag") is not None else []
    return [(normalize("NFC", key), value) for key, _, value in (p.partition("=") for p in pairs)]


def _tag_values(dumps: Sequence[Recording], key: str) -> set[str]:
    return {value for dump in dumps if (value := tag_text(dump, key)) is not None}


def tag_text(dump: Recording, key: str) -> str | None:
    """A tag as text."""
    value = dump.tags.get(key)
    return (
        value if isinstance(value, str) or value is None else json.dumps(value, ensure_ascii=False)
    )


def grouped(dumps: Sequence[Recording], params: Params) -> dict[Place, list[Recording]]:
    """The chosen dumps by what rows call them: device, pool, build, model, backend, group."""
    groups: dict[Place, list[Recording]] = {}
    by = params.get("group_by")
    for dump in chosen(dumps, params):
        known = facts(dump)
        group = None if by is None else known[by] if by in known else tag_text(dump, by)
        at = (None, None) if by else (known["device"], known["pool"])
        groups.setdefault((*at, dump.build, *dump.model, group), []).append(dump)
    return groups


def named(place: Place) -> Row:
    """The columns that tell what a row is of."""
    return dict(zip(PLACE, place, strict=True))


def event_named(event: Event) -> Row:
    """The columns that tell which event a row is of."""
    return dict(zip(EVENT, event.key, strict=True))


def of_device(dump: Recording) -> tuple[str, str, str | None]:
    """Device, model and backend."""
    return (dump.device, *dump.model)


def device_named(key: Sequence[object]) -> Row:
    """The columns that tell which device, model and backend a row is of."""
    return dict(zip(("device", "model", "backend"), key, strict=True))


def two_builds(dumps: Sequence[Recording], params: Params) -> Iterator[tuple[Row, Sides]]:
    """The chosen dumps of base and head, for each device and model that has both."""
    found: dict[Any, Sides] = {}
    for dump in chosen(dumps, params, "build"):
        if dump.build in (params["base"], params["head"]):
            sides = found.setdefault(of_device(dump), ([], []))
            sides[dump.build == params["head"]].append(dump)
    for key, sides in found.items():
        if all(sides):
            yield device_named(key), sides


def build_facts(dumps: Sequence[Recording], build: str) -> Row:
    """What is known of a build: what any of its dumps states."""
    own = [dump for dump in dumps if dump.build == build]
    stated = {
        name: next((v for d in own if (v := d.fact("build", name)) is not None), None)
        for name in ("ordinal", "branch", "committed_at", "parent", "role", "commit")
    }
    times = [(dump.device, dump.captured_at) for dump in own if dump.captured_at]
    times = [(device, at) for device, at in times if at.year >= 2020]
    devices = {device for device, _ in times}
    each = [_middle([at for device, at in times if device == one]) for one in devices]
    return stated | {
        "committed_at": parse_time(stated["committed_at"]),
        "captured_at": _middle([at for at in each if at]),
        "first_captured_at": min((at for _, at in times), default=None),
    }


def _middle(times: Sequence[datetime]) -> datetime | None:
    """The time in the middle, or the later of two; None of none."""
    return sorted(times)[len(times) // 2] if times else None


def builds_in_order(dumps: Sequence[Recording]) -> list[str]:
    """Builds by ordinal, else by time of commit, else by recording, else by name.

    The shipped dumps state no parents.
    """

    def place(build: str) -> tuple[Any, ...]:
        known = build_facts(dumps, build)
        ordinal = known["ordinal"]
        return (
            ordinal is None, ordinal or 0, known["committed_at"] or _LATE,
            known["captured_at"] or _LATE, build,
        )  # fmt: skip

    return sorted({dump.build for dump in dumps}, key=place)


def history_facts(dumps: Sequence[Recording], build: str) -> Row:
    """The columns of a build in a history."""
    known = build_facts(dumps, build)
    names = ("committed_at", "first_captured_at")
    return {"build_ordinal": known["ordinal"]} | {name: known[name] for name in names}


def series_of(dump: Recording, run: Run) -> str:
    """What run a run is, so that it is the same in other builds: only like runs are compared.

    Runs of one name that do other work, such as prefill and decode, are numbered in the order in
    which they come; one that failed is said to be incomplete.
    """
    return _series(dump)[run.index]


def runs_of(dump: Recording, params: Params) -> list[Run]:
    """The runs that the filter of runs leaves."""
    return [run for run in dump.runs if is_named(series_of(dump, run), params.get("run"))]


@cache
def _series(dump: Recording) -> list[str]:
    numbers: dict[Any, dict[Any, int]] = {}
    found = []
    for run in dump.runs:
        kinds = {event.kind for event in run.events}
        is_load = "load" in kinds and not kinds & {"operator_call", "kernel", "delegate_call"}
        rank = "method" if "method" in kinds else "load" if is_load else "neither"
        own = numbers.setdefault((run.name, run.bundled_input_index, rank), {})
        number = own.setdefault(frozenset(event.key for event in run.events), len(own) + 1)
        name = run.name or "run"
        name += f" input {run.bundled_input_index}" if run.bundled_input_index >= 0 else ""
        name += f" #{number}" if number > 1 else ""
        found.append(f"{name} (incomplete)" if rank == "neither" else name)
    return found
