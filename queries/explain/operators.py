"""The operators of the runs at each place, with their values in base and head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple

from queries.explain.content import Place
from queries.report.figures import operator_text
from warehouse.catalogue.sql_files import read_statement
from warehouse.queryable import Queryable

SIDES = ("base", "head")
_LEFT_OUT = ("operator_call", "load", "delegate_phase")  # parts of what is listed, or no operators

_OUTSIDE = 2**31  # the instruction of events outside the program comes last

_Row = Mapping[str, Any]
Sides = Mapping[str, "RunOperators"]


class OperatorKey(NamedTuple):
    """An operator of a run, as builds have it in common."""

    event_name: str
    delegate_id: str | None
    ordinal: int

    def __str__(self) -> str:
        """The operator as reports show it."""
        return operator_text(self.event_name or "", self.delegate_id, self.ordinal)


class EventKey(NamedTuple):
    """An event in an ETRecord's tables."""

    etrecord_id: int
    run_signature_id: int
    event_signature_id: int


class Operator(NamedTuple):
    """An operator in one of the builds.

    Attributes:
        kind: Kind of its events: method, kernel, delegate_call or delegate_op.
        op_type: Type of the operator; None for methods and calls.
        instruction_id: Its instruction in the build.
        event: Its event in the newest dump with an ETRecord; None without one.
        value: Median over the dumps; None if no dump timed it.
        unit: Unit of the value: ns or ticks.
    """

    kind: str
    op_type: str | None
    instruction_id: int | None
    event: EventKey | None
    value: float | None
    unit: str


class RunOperators(NamedTuple):
    """The runs of one name in one of the builds.

    Attributes:
        dump_count: Dumps with such runs.
        operators: Its operators, in the order of its events.
    """

    dump_count: int
    operators: Mapping[OperatorKey, Operator]

    @property
    def method(self) -> Operator | None:
        """The method of the runs; None if it is unknown."""
        return next((one for one in self.operators.values() if one.kind == "method"), None)


class PlaceOperators(NamedTuple):
    """The recordings at a place.

    Attributes:
        etrecords: The ETRecord of the newest dump that has one, by side.
        runs: The runs by name and side; a side may be absent.
    """

    etrecords: Mapping[str, int]
    runs: Mapping[str, Sides]


def read_operators(store: Queryable, places: Sequence[Place]) -> list[PlaceOperators]:
    """The recordings at each of the places, in the order of the places."""
    rows = _read_dumps(store, places)
    dumps = [_dumps_at(place, rows) for place in places]
    ids = sorted({row["dump_id"] for by_side in dumps for own in by_side.values() for row in own})
    text = read_statement("explained_operators")
    by_dump: dict[int, list[_Row]] = defaultdict(list)
    for row in store.sql(text, {"dumps": ids}).to_pylist():
        by_dump[row["dump_id"]].append(row)
    return [_place_operators(by_side, by_dump) for by_side in dumps]


def _read_dumps(store: Queryable, places: Sequence[Place]) -> list[_Row]:
    wanted = {
        "builds": sorted({build for place in places for build in (place.base, place.head)}),
        "models": sorted({place.model for place in places}),
        "devices": sorted({place.device for place in places if place.device is not None}),
        "pools": sorted({place.pool for place in places if place.pool is not None}),
    }
    rows: list[_Row] = store.sql(read_statement("explained_dumps"), wanted).to_pylist()
    return rows


def _dumps_at(place: Place, rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    """The dumps at a place by side, the newest last."""
    here = [
        row
        for row in rows
        if (row["model"], row["backend"]) == (place.model, place.backend)
        and (row["device"] == place.device if place.device else row["pool"] == place.pool)
    ]
    return {
        side: [row for row in here if row["build"] == build]
        for side, build in zip(SIDES, (place.base, place.head), strict=True)
    }


def _place_operators(
    dumps: Mapping[str, Sequence[_Row]], rows: Mapping[int, Sequence[_Row]]
) -> PlaceOperators:
    runs: dict[str, dict[str, RunOperators]] = defaultdict(dict)
    etrecords = {}
    for side, own in dumps.items():
        known = {row["dump_id"]: row["etrecord_id"] for row in own if row["etrecord_id"]}
        if known:
            etrecords[side] = known[max(known)]
        listed = [row for dump in own for row in rows.get(dump["dump_id"], ())]
        for run, signatures in _named_runs(listed).items():
            runs[run][side] = _summarise(signatures, known)
    return PlaceOperators(etrecords, runs)


def _named_runs(rows: Sequence[_Row]) -> dict[str, list[list[_Row]]]:
    """The rows of each dump's run signatures that have a method, by the name of the runs.

    Runs of one name that consist of different events are numbered in the order of their first run:
    'Execute', 'Execute #2'.
    """
    found: dict[str, list[list[_Row]]] = defaultdict(list)
    shapes: dict[str, dict[frozenset[Any], int]] = defaultdict(dict)
    by_dump = sorted(rows, key=lambda row: (row["dump_id"], row["first_index"]))
    for _, group in groupby(by_dump, lambda row: (row["dump_id"], row["run_signature_id"])):
        own = list(group)
        if any(row["kind"] == "method" for row in own):
            name = own[0]["run_name"] or "run"
            shape = frozenset((row["event_name"], row["instruction_id"]) for row in own)
            number = shapes[name].setdefault(shape, len(shapes[name]) + 1)
            found[f"{name} #{number}" if number > 1 else name].append(own)
    return found


def _summarise(signatures: Sequence[Sequence[_Row]], etrecords: Mapping[int, int]) -> RunOperators:
    values: dict[OperatorKey, list[_Row]] = defaultdict(list)
    for own in signatures:
        for key, row in _keyed(own):
            values[key].append(row)
    operators = {key: _operator(rows, etrecords) for key, rows in values.items()}
    return RunOperators(len({own[0]["dump_id"] for own in signatures}), operators)


def _keyed(rows: Sequence[_Row]) -> Iterator[tuple[OperatorKey, _Row]]:
    """The operators of a run; those of one name and id are numbered by instruction, from 1."""
    instructions: dict[tuple[str, str | None], set[int]] = defaultdict(set)
    for row in rows:
        name = row["event_name"], row["delegate_id"]
        instructions[name].add(_instruction(row))
    for row in rows:
        if row["kind"] not in _LEFT_OUT:
            name = row["event_name"], row["delegate_id"]
            before = sum(other < _instruction(row) for other in instructions[name])
            yield OperatorKey(*name, before + 1), row


def _instruction(row: _Row) -> int:
    """The instruction of an event, by which operators of one name are numbered."""
    id_ = row["instruction_id"]
    return _OUTSIDE if id_ is None else int(id_)


def _operator(rows: Sequence[_Row], etrecords: Mapping[int, int]) -> Operator:
    steady = [row["value"] for row in rows if row["value"] is not None]
    values = steady or [row["p50"] for row in rows if row["p50"] is not None]
    last = rows[-1]
    events = [
        EventKey(etrecords[row["dump_id"]], row["run_signature_id"], row["event_signature_id"])
        for row in rows
        if row["dump_id"] in etrecords
    ]
    return Operator(
        last["kind"],
        last["op_type"],
        last["instruction_id"],
        events[-1] if events else None,
        median(values) if values else None,
        last["unit"],
    )
