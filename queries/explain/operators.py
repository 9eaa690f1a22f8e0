"""The operators of the runs at each place, under the names that both builds have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tracehouse.queries.explain.content import Place
from tracehouse.queries.report.figures import operator_text
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.queryable import Queryable

SIDES = ("base", "head")

_Row = Mapping[str, Any]


class OperatorKey(NamedTuple):
    """The name of an operator of a run, as builds have it in common."""

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
        name: Its name in its own program; its delegate id where it has none.
        instruction_id: Its instruction in the build.
        event: Its event in the newest dump with an ETRecord; None without one.
    """

    kind: str
    name: str
    instruction_id: int | None
    event: EventKey | None


RunOperators = Mapping[OperatorKey, Operator]  # of the runs of one name, in the order of its events
Sides = Mapping[str, RunOperators]


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
        by_run: dict[str, list[_Row]] = defaultdict(list)
        for row in listed:
            by_run[row["run"]].append(row)
        for run, rows_of_run in by_run.items():
            runs[run][side] = _list_operators(rows_of_run, known)
    return PlaceOperators(etrecords, runs)


def _list_operators(rows: Sequence[_Row], etrecords: Mapping[int, int]) -> RunOperators:
    """The operators of a run, as the newest dump has them, and its newest with an ETRecord."""
    found: dict[OperatorKey, Operator] = {}
    for row in rows:
        key = OperatorKey(row["event_name"], row["delegate_id"], row["ordinal"])
        record = etrecords.get(row["dump_id"])
        ids = row["run_signature_id"], row["event_signature_id"]
        event = found[key].event if key in found else None
        if record is not None:
            event = EventKey(record, *ids)
        found[key] = Operator(row["kind"], row["own_name"] or "", row["instruction_id"], event)
    return found
