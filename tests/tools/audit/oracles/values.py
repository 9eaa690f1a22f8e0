"""What each dump says of each operator, and what is made of it over builds, devices and sizes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

from tests.support.plain_rollups import grouped_median
from tests.tools.audit.events import Event
from tests.tools.audit.oracles.histories import with_changes
from tests.tools.audit.oracles.places import (
    Params,
    Row,
    builds_in_order,
    chosen,
    history_facts,
    is_named,
    of_device,
    series_of,
    tag_text,
)
from tests.tools.audit.recordings import WARM_UP_RUNS, Recording
from tests.tools.audit.statistics import middle, percentile, ratio, scaled

NOT_COMPARED = ("operator_call", "load", "delegate_phase")
ENOUGH = 20  # events after warm-up
OPERATOR = ("device", "model", "backend", "event_name", "delegate_id", "ordinal")


@dataclass(frozen=True, eq=False)
class Value:
    """What one dump says of one operator.

    Attributes:
        dump: The dump.
        series: Which run the operator is of, by a name that holds across builds.
        event: One of its events.
        ticks: Durations of them all, in order.
        steady: Those after warm-up.
        ordinal: Which of the instructions of its name and delegate id it is, from 1.
    """

    dump: Recording
    series: str
    event: Event
    ticks: tuple[int, ...]
    steady: tuple[int, ...]
    ordinal: int

    @property
    def kind(self) -> str:
        return self.event.kind

    @property
    def instruction(self) -> int | None:
        return self.event.instruction

    @property
    def rate(self) -> float | None:
        return self.dump.rate(self.kind)

    @property
    def step(self) -> int:
        return self.dump.step(self.kind)

    @property
    def steady_ticks(self) -> float | None:
        """The grouped median after warm-up, where enough is left."""
        return grouped_median(self.steady, self.step) if len(self.steady) >= ENOUGH else None

    @property
    def unit(self) -> str:
        return "ticks" if self.rate is None else "ns"

    @property
    def value(self) -> float | None:
        """In nanoseconds, in ticks of a clock of unknown rate."""
        return scaled(self.steady_ticks, self.rate or 1.0)

    @property
    def floor(self) -> float:
        """Least value that can be compared."""
        return 2.0 * self.step if self.rate is None else max(2 * self.step * self.rate, 1e3)

    @property
    def half_tick(self) -> float:
        """Half of what the clock counts by."""
        return self.step * (self.rate or 1.0) / 2

    @property
    def typical_ns(self) -> float | None:
        """The value, else the median of all events."""
        ticks = self.steady_ticks
        return scaled(percentile(self.ticks, 0.5) if ticks is None else ticks, self.rate)

    @property
    def operator(self) -> Row:
        """The columns that tell which operator it is."""
        key = (*of_device(self.dump), self.event.name, self.event.delegate, self.ordinal)
        return dict(zip(OPERATOR, key, strict=True)) | {"run": self.series}

    @property
    def key(self) -> tuple[Any, ...]:
        """The same as a key; the run is its last part."""
        return tuple(self.operator.values())


def values_of(dumps: Sequence[Recording]) -> list[Value]:
    """What all dumps say."""
    return list(_values_of(tuple(dumps)))


@cache
def _values_of(dumps: tuple[Recording, ...]) -> tuple[Value, ...]:
    found = []
    for dump in dumps:
        ordinals = _ordinals(dump)
        for (series, _), (event, samples) in _samples(dump).items():
            runs = sorted({run for run, _ in samples})
            after = set(runs[WARM_UP_RUNS:])
            found.append(
                Value(
                    dump,
                    series,
                    event,
                    tuple(ticks for _, ticks in samples),
                    tuple(ticks for run, ticks in samples if run in after),
                    ordinals[series, event.name, event.delegate].index(event.instruction) + 1,
                )
            )
    return tuple(found)


@cache
def _samples(dump: Recording) -> dict[Any, tuple[Event, list[tuple[int, int]]]]:
    samples: dict[Any, tuple[Event, list[tuple[int, int]]]] = {}
    for run in dump.runs:
        for event in run.events:
            if event.ticks is not None:
                key = series_of(dump, run), event.key
                samples.setdefault(key, (event, []))[1].append((run.index, event.ticks))
    return samples


def _ordinals(dump: Recording) -> dict[Any, list[int | None]]:
    """The instructions of each name and delegate id in each run, in order."""
    found: dict[Any, set[int | None]] = defaultdict(set)
    for (series, _), (event, _) in _samples(dump).items():
        found[series, event.name, event.delegate].add(event.instruction)
    return {key: sorted(ids, key=lambda i: (i is None, i or 0)) for key, ids in found.items()}


def _values_for(dumps: Sequence[Recording], params: Params) -> list[Value]:
    """Values of the operators and dumps that a question is about."""
    numbers = {dump.number for dump in chosen(dumps, params)}
    return [
        value
        for value in values_of(dumps)
        if value.dump.number in numbers
        and is_named(value.series, params.get("run"))
        and is_named(value.event.name, params.get("event"))
        and is_named(value.event.delegate, params.get("delegate_id"))
        and params.get("ordinal") in (None, value.ordinal)
        and params.get("instruction_id") in (None, value.event.instruction)
    ]


def compared_values(dumps: Sequence[Recording], params: Params) -> list[Value]:
    """Values that comparisons take."""
    return [
        value
        for value in _values_for(dumps, params)
        if value.kind not in NOT_COMPARED
        and value.value is not None
        and value.dump.fact("build", "role") is None
    ]


def dump_values(dumps: Sequence[Recording], params: Params) -> list[Row]:
    return [
        value.operator
        | {
            "kind": value.kind,
            "build": value.dump.build,
            "dump_id": value.dump.number,
            "unit": value.unit,
            "value": value.value,
            "floor": value.floor,
        }
        for value in compared_values(dumps, params)
    ]


def build_history(dumps: Sequence[Recording], params: Params) -> list[Row]:
    groups: dict[Any, list[Value]] = defaultdict(list)
    for value in _values_for(dumps, params):
        if value.typical_ns is not None:
            groups[value.key, value.dump.build].append(value)
    rows = []
    for build in builds_in_order(dumps):
        for (_, of_build), own in groups.items():
            if of_build == build:
                times = [value.typical_ns or 0.0 for value in own]
                rows.append(
                    own[0].operator
                    | history_facts(dumps, build)
                    | {
                        "build": build,
                        "dump_count": len(own),
                        "sample_count": sum(len(value.ticks) for value in own),
                        "p50_ns": middle(times),
                        "min_ns": min(times),
                        "max_ns": max(times),
                        "p10_ns": percentile(times, 0.1),
                        "p90_ns": percentile(times, 0.9),
                    }
                )
    return with_changes(rows, "p50_ns", (*OPERATOR, "run"))


def device_comparison(dumps: Sequence[Recording], params: Params) -> list[Row]:
    of_device_: dict[Any, list[Value]] = defaultdict(list)
    for value in _values_for(dumps, params):
        if value.typical_ns is None or (not params.get("event") and value.kind != "method"):
            continue
        what = (*value.dump.model, value.dump.build, *value.key[3:])
        of_device_[what, value.dump.device, value.dump.fact("device", "pool")].append(value)
    medians = {
        key: middle(value.typical_ns for value in own) or 0.0 for key, own in of_device_.items()
    }
    rows = []
    for (what, device, pool), own in of_device_.items():
        alike = {key: value for key, value in medians.items() if key[0] == what}
        mine = medians[what, device, pool]
        pool_ns = middle(value for key, value in alike.items() if key[2] == pool)
        socs = [soc for value in own if (soc := value.dump.fact("device", "soc"))]
        names = ("model", "backend", "build", "event_name", "delegate_id", "ordinal", "run")
        rows.append(
            dict(zip(names, what, strict=True))
            | {
                "device": device,
                "pool": pool,
                "soc": max(socs, default=None),
                "dump_count": len(own),
                "p50_ns": mine,
                "rank": 1 + sum(value < mine for value in alike.values()),
                "over_fastest": ratio(mine, min(alike.values())),
                "pool_ns": pool_ns,
                "over_pool": ratio(mine, pool_ns),
            }
        )
    return rows


def scaling(dumps: Sequence[Recording], params: Params) -> list[Row]:
    sizes: dict[Any, dict[float, list[Value]]] = defaultdict(lambda: defaultdict(list))
    for value in _values_for(dumps, params):
        size = _number(tag_text(value.dump, params["size_tag"]))
        if value.kind == "method" and size and size > 0 and value.typical_ns:
            dump = value.dump
            sizes[dump.device, dump.build, *dump.model, value.series][size].append(value)
    rows = []
    for (device, build, model, backend, run), by_size in sizes.items():
        medians = {size: middle(v.typical_ns for v in own) or 0.0 for size, own in by_size.items()}
        slopes = [
            math.log(medians[b] / medians[a]) / math.log(b / a)
            for a, b in combinations(sorted(medians), 2)
        ]
        for size, own in by_size.items():
            rows.append(
                {
                    "device": device,
                    "build": build,
                    "model": model,
                    "backend": backend,
                    "run": run,
                    "size": size,
                    "dump_count": len({value.dump.number for value in own}),
                    "p50_ns": medians[size],
                    "unit_ns": medians[size] / size,
                    "over_smallest": medians[size] / medians[min(medians)],
                    "exponent": middle(slopes),
                }
            )
    return rows


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
