"""What else differs between the dumps of a change: environment, memory, counters, values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import escape
from typing import Any

from tracehouse.queries.explain.content import Divergence, Fact, Place
from tracehouse.queries.report.exact_alerts import exact_unit
from tracehouse.queries.report.facts import measure_name
from tracehouse.queries.report.figures import (
    NONE,
    exact_text,
    measure_text,
    name_text,
    operator_text,
    place_text,
)
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.statistics.arrays import reaches

_NOTABLE = 0.03  # change of a counter, as a share

_Row = Mapping[str, Any]


def list_facts(store: Queryable, places: Sequence[Place]) -> list[Fact]:
    """Environment, memory and counters at the places, side by side; changes first.

    Of the other measures without noise, those that changed.
    """
    readers = (_environment, _memory, _exact, _counters)
    found = [fact for read in readers for fact in read(store, places)]
    return sorted(found, key=lambda fact: not fact.is_changed)


def list_divergences(store: Queryable, places: Sequence[Place]) -> list[Divergence]:
    """Where logged values begin to differ, at each place with dumps that logged some."""
    found = []
    for row in _rows_of_places(store, "numeric_divergence", places):
        ids = row["base_dump_id"], row["head_dump_id"]
        name = operator_text(row["event_name"] or "", row["delegate_id"], row["ordinal"] or 0)
        found.append(
            Divergence.of(
                row,
                where=_where(row),
                operator=name if row["verdict"] == "different" else None,
                command=f"tracehouse numeric-gap {ids[0]} {ids[1]} --first",
            )
        )
    return found


def _environment(store: Queryable, places: Sequence[Place]) -> Iterator[Fact]:
    for row in _rows_of_places(store, "environment_changes", places):
        if row["verdict"] != "unknown":
            yield Fact(
                where=_where(row),
                subject="environment",
                name=row["attribute"],
                base=name_text(row["base"]),
                head=name_text(row["head"]),
                is_changed=row["verdict"] == "changed",
            )


def _memory(store: Queryable, places: Sequence[Place]) -> Iterator[Fact]:
    for row in _rows_of_places(store, "memory_deltas", places):
        allocator = "all allocators" if row["is_total"] else name_text(row["allocator"])
        yield Fact(
            where=_where(row),
            subject="memory",
            name=f"{name_text(row['run_name'])}, {allocator}",
            base=_allocated(row, "base"),
            head=_allocated(row, "head"),
            is_changed=row["verdict"] == "changed",
        )


def _exact(store: Queryable, places: Sequence[Place]) -> Iterator[Fact]:
    for row in _rows_of_places(store, "exact_changes", places):
        if row["verdict"] == "changed" and row["measure"] != "allocated_bytes":  # see _memory
            yield Fact(
                where=_where(row),
                subject="exact measure",
                name=measure_name(row["measure"], row["run_name"], row["allocator"]),
                base=_exact_value(row, "base"),
                head=_exact_value(row, "head"),
                is_changed=True,
            )


def _exact_value(row: _Row, side: str) -> str:
    value = row[side]
    return NONE if value is None else measure_text(value, exact_unit(row["measure"]))


def _allocated(row: _Row, side: str) -> str:
    if row[f"{side}_count"] is None:
        return NONE
    count = exact_text(row[f"{side}_count"])
    return f"{measure_text(row[f'{side}_bytes'], 'bytes')} in {count} allocations"


def _counters(store: Queryable, places: Sequence[Place]) -> Iterator[Fact]:
    for place in places:
        builds = {"base": place.base, "head": place.head}
        rows = store.query(
            "counter_totals", **_filters([place]), build=[escape(one) for one in builds.values()]
        ).to_pylist()
        values: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
        for row in filter(_is_of(place), rows):
            name = f"{row['counter']} per {'run' if row['scope'] == 'run' else 'dump'}"
            values[_where(row), name, row["unit"]][row["build"]] = row["p50"]
        for (where, name, unit), by_build in values.items():
            base, head = (by_build.get(build) for build in builds.values())
            yield Fact(
                where=where,
                subject="counter",
                name=name_text(name),
                base=NONE if base is None else measure_text(base, unit),
                head=NONE if head is None else measure_text(head, unit),
                is_changed=base is None
                or head is None
                or not reaches(_NOTABLE * abs(base), abs(head - base)),
            )


def _where(row: _Row) -> str:
    return place_text(row["device"], row["model"], row["backend"])


def _rows_of_places(store: Queryable, name: str, places: Sequence[Place]) -> Iterator[_Row]:
    """The rows of a query, place by place; places with the same two builds share one answer."""
    by_builds: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in places:
        by_builds[place.base, place.head].append(place)
    for (base, head), own in by_builds.items():
        rows = store.query(name, base=base, head=head, **_filters(own)).to_pylist()
        for place in own:
            yield from filter(_is_of(place), rows)


def _filters(places: Sequence[Place]) -> dict[str, list[str]]:
    """Filters for the places, and perhaps more."""
    filters = {"model": sorted({escape(place.model) for place in places})}
    devices = {escape(place.device) for place in places if place.device is not None}
    pools = {escape(place.pool) for place in places if place.device is None and place.pool}
    if devices and not pools:
        filters["device"] = sorted(devices)
    elif pools and not devices:
        filters["pool"] = sorted(pools)
    return filters


def _is_of(place: Place) -> Callable[[_Row], bool]:
    """Whether a row is of a place; those of a whole pool are of any of its devices."""

    def is_of(row: _Row) -> bool:
        is_there = place.device is None or row["device"] == place.device
        return is_there and (row["model"], row["backend"]) == (place.model, place.backend)

    return is_of
