"""Runs: how steady, how fast from the start, which are slow, how tokens follow a prompt."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from tests.support.plain_comparison import exact_p
from tests.tools.audit.events import Event
from tests.tools.audit.oracles.places import (
    Params,
    Row,
    chosen,
    grouped,
    is_named,
    named,
    of_device,
    series_of,
)
from tests.tools.audit.oracles.wandering import LEAST, across_builds, drift
from tests.tools.audit.recordings import WARM_UP_RUNS, Recording, Run
from tests.tools.audit.statistics import middle, more_by, ratio, scaled, spread, whole_sum


def alike(dump: Recording) -> dict[Any, list[Run]]:
    """Complete runs of a dump by run signature, in order."""
    found: dict[Any, list[Run]] = defaultdict(list)
    for run in dump.complete_runs:
        found[run.signature].append(run)
    return found


def stability(dumps: Sequence[Recording], params: Params) -> list[Row]:
    groups: dict[Any, list[tuple[Recording, list[float]]]] = defaultdict(list)
    for dump in chosen(dumps, params):
        for runs in alike(dump).values():
            if not is_named(series_of(dump, runs[0]), params.get("run")):
                continue
            steady = [
                run.ticks("method") * (dump.ns_per_tick or 1.0) for run in runs[WARM_UP_RUNS:]
            ]
            if len(steady) >= 20:
                key = (*of_device(dump), dump.build, series_of(dump, runs[0]))
                groups[key].append((dump, steady))
    names = ("device", "model", "backend", "build", "run")
    values = {key: median(median(times) for _, times in own) for key, own in groups.items()}
    builds = across_builds(dumps, values)
    return [
        dict(zip(names, key, strict=True)) | _steadiness(own) | builds[key]
        for key, own in groups.items()
    ]


def _steadiness(own: list[tuple[Recording, list[float]]]) -> Row:
    values = [median(times) for _, times in own]
    known = [value for (dump, _), value in zip(own, values, strict=True) if dump.ns_per_tick]
    figures = spread(values)
    within = [spread(times) for _, times in own]
    row: Row = {
        "dump_count": len(own),
        "run_count": sum(len(times) for _, times in own),
        "p50_ns": middle(known),
        "score": _score(figures),
        **figures,
        **{f"run_{name}": middle(one[name] for one in within) for name in within[0]},
        "dump_drift": drift([values[i] for i in _in_time(own)], LEAST),
        "drift": middle(drift(times) for _, times in own),
        "minimum_detectable": _least_seen([math.log(max(value, 1.0)) for value in values]),
    }
    return row | _levels(own, values)


def _score(figures: dict[str, float | None]) -> float | None:
    cv, most, tail = figures["cv"], figures["max_over_min"], figures["p99_over_p50"]
    if cv is None:
        return None
    return (
        0.5 * max(0.0, 100 - 1000 * cv)
        + 0.25 * max(0.0, 100 - 50 * ((most or 1.0) - 1))
        + 0.25 * max(0.0, 100 - 100 * ((tail or 1.0) - 1))
    )


def _least_seen(logs: list[float]) -> float | None:
    """Upper end of the 99 % interval against as many dumps of the same kind."""
    n = len(logs)
    if n > 30:
        share = 0.5 + 2.575829 * math.sqrt((2 * n + 1) / 12) / n
    else:
        rare = [u for u in range(n * n) if exact_p(u, n, n) <= 0.01]
        if not rare:
            return None
        share = 1 - (max(rare) + 0.5) / (n * n)
    differences = sorted(b - a for i, a in enumerate(logs) for j, b in enumerate(logs) if i != j)
    place = next((k for k in range(1, len(differences) + 1) if k >= share * n * (n - 1)), None)
    return None if place is None else math.expm1(differences[place - 1])


def _levels(own: list[tuple[Recording, list[float]]], values: list[float]) -> Row:
    ordered = sorted(math.log(max(value, 1.0)) for value in values)
    n = len(ordered)
    gaps = [
        (ordered[k] - ordered[k - 1], ordered[k])
        for k in range(1, n)
        if min(k, n - k) > math.ceil(0.08 * n)
    ]
    widest = max((gap for gap, _ in gaps), default=0.0)
    if not gaps or widest <= 0.08 or widest <= 8 * median(gap for gap, _ in gaps):
        return {"level_gap": None, "level_steps": 0}
    edge = min(y for gap, y in gaps if gap == widest)
    slow = [math.log(max(values[i], 1.0)) >= edge for i in _in_time(own)]
    steps = sum(before != after for before, after in pairwise(slow))
    return {"level_gap": math.expm1(widest), "level_steps": steps}


def _in_time(own: list[tuple[Recording, list[float]]]) -> list[int]:
    return sorted(range(len(own)), key=lambda i: when(own[i][0]))


def when(dump: Recording) -> tuple[bool, float, int]:
    """Place of a dump in the order of time."""
    at = dump.captured_at
    return at is None, at.timestamp() if at else 0.0, dump.number


def cold_start(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        starts = [start for dump in own if (start := _start(dump)) is not None]
        if starts:
            names = ("load_ns", "init_ns", "first_ns", "steady_ns", "cold_ns", "first_over_steady")
            rows.append(
                named(place)
                | {"dump_count": len(starts), "load_count": sum(s["load_count"] for s in starts)}
                | {name: middle(start[name] for start in starts) for name in names}
            )
    return rows


def _start(dump: Recording) -> Row | None:
    loads = [e for run in dump.runs for e in run.of_kind("load") if e.is_valid]
    runs = dump.complete_runs
    if not loads and not runs:
        return None
    load, init = (
        whole_sum(e.ns for e in loads if e.name == name)
        for name in ("Program::load_method", "Method::init")
    )
    inits = sum(e.name == "Method::init" for e in loads)
    first, steady = _first_runs(dump, max(inits, 1))
    first_ns = scaled(first, dump.ns_per_tick)
    loading = init if load is None else load
    return {
        "load_count": inits,
        "load_ns": load,
        "init_ns": init,
        "first_ns": first_ns,
        "steady_ns": scaled(steady, dump.ns_per_tick),
        "cold_ns": None if loading is None or first_ns is None else loading + first_ns,
        "first_over_steady": ratio(first, steady),
    }


def _first_runs(dump: Recording, methods: int) -> tuple[float | None, float | None]:
    """Ticks of the first run of each method, and of runs like it after warm-up, added up."""
    firsts: dict[str, Run] = {}
    for run in dump.complete_runs:
        firsts.setdefault(series_of(dump, run), run)
    own = list(firsts.values())[:methods]
    steady = []
    for run in own:
        same = alike(dump)[run.signature][WARM_UP_RUNS:]
        steady.append(median(r.ticks("method") for r in same) if len(same) >= 5 else None)
    return whole_sum(float(run.ticks("method")) for run in own), whole_sum(steady)


def warmup(dumps: Sequence[Recording], params: Params) -> list[Row]:
    tolerance, rows = params.get("tolerance", 0.05), []
    for place, own in grouped(dumps, params).items():
        by_signature: dict[Any, list[tuple[Recording, list[int]]]] = defaultdict(list)
        for dump in own:
            for signature, runs in alike(dump).items():
                if len(runs) >= 20:
                    by_signature[signature].append((dump, [run.ticks("method") for run in runs]))
        for signature, found in by_signature.items():
            starts = [_warm(ticks, dump.ns_per_tick, tolerance) for dump, ticks in found]
            names = ("warmup_runs", "first_ns", "steady_ns", "lost_ns", "first_over_steady")
            rows.append(
                named(place)
                | {
                    "run_name": signature.name,
                    "dump_count": len(found),
                    "run_count": sum(len(ticks) for _, ticks in found),
                    "most_runs": max(int(start["warmup_runs"]) for start in starts),
                }
                | {name: middle(start[name] for start in starts) for name in names}
            )
    return rows


def _warm(ticks: list[int], rate: float | None, tolerance: float) -> Row:
    n = len(ticks)
    steady = median(value for place, value in enumerate(ticks, start=1) if 2 * place > n)
    limit = more_by(steady, tolerance)
    warm = next(
        (k for k in range(n - 2) if ticks[k] <= limit and sorted(ticks[k : k + 3])[1] <= limit), n
    )
    return {
        "warmup_runs": warm,
        "first_ns": scaled(ticks[0], rate),
        "steady_ns": scaled(steady, rate),
        "lost_ns": scaled(sum(value - steady for value in ticks[:warm]), rate),
        "first_over_steady": ratio(ticks[0], steady),
    }


def outlier_runs(dumps: Sequence[Recording], params: Params) -> list[Row]:
    least, rows = params.get("min_excess", 0.5), []
    for place, own in grouped(dumps, params).items():
        for dump in own:
            for runs in alike(dump).values():
                steady = runs[WARM_UP_RUNS:]
                if len(steady) >= 20:
                    rows += [named(place) | row for row in _slow(dump, runs, steady, least)]
    return rows


def _slow(dump: Recording, runs: list[Run], steady: list[Run], least: float) -> list[Row]:
    def parts(run: Run) -> dict[str, float]:
        kernel, delegate = run.ticks("kernel"), run.ticks("delegate_call")
        whole = run.ticks("method")
        return {"method": whole, "kernel": kernel, "delegate": delegate,
                "tax": whole - kernel - delegate}  # fmt: skip

    medians = {name: median(parts(run)[name] for run in steady) for name in parts(steady[0])}
    rate, rows = dump.ns_per_tick, []
    for run in steady:
        mine, usual = parts(run), medians["method"]
        if mine["method"] <= usual or mine["method"] < more_by(usual, least):
            continue
        excess = {name: mine[name] - medians[name] for name in mine}
        rows.append(
            {
                "dump_id": dump.number,
                "run_index": run.index,
                "run_name": run.name,
                "excess": (mine["method"] - usual) / usual if usual else None,
                "execute_ns": scaled(mine["method"], rate),
                "p50_ns": scaled(usual, rate),
                **{f"{name}_excess_ns": scaled(excess[name], rate)
                   for name in ("kernel", "delegate", "tax")},
                **_culprit(dump, runs, run, excess),
            }
        )  # fmt: skip
    return rows


def _culprit(dump: Recording, runs: list[Run], run: Run, excess: dict[str, float]) -> Row:
    """What exceeds its own median most, without what it calls, in ticks of the run's clock."""
    usual: dict[Any, list[int]] = defaultdict(list)
    for one in runs:
        for event in one.events:
            usual[event.key].append(event.ticks or 0)
    spent: dict[Any, list[Event]] = defaultdict(list)
    for event in run.of_kind("kernel", "delegate_call", "delegate_op"):
        spent[event.key].append(event)
    over: dict[Any, float] = {}
    for key, events in spent.items():
        rate = ratio(dump.rate(key[3]), dump.ns_per_tick) if key[3] == "delegate_op" else 1.0
        ticks = sum(event.ticks or 0 for event in events) - len(events) * median(usual[key])
        if rate is not None:
            over[key] = ticks * rate
    blame = {key: _own_excess(key, over) for key in over}
    blame["Method::execute", None, None, "method"] = excess["tax"]
    key = max(blame, key=lambda k: blame[k])
    if blame[key] <= 0:
        names = ("culprit", "instruction_id", "delegate_id", "culprit_excess_ns", "culprit_share")
        return dict.fromkeys(names)
    return {
        "culprit": key[0],
        "instruction_id": key[1],
        "delegate_id": key[2],
        "culprit_excess_ns": scaled(blame[key], dump.ns_per_tick),
        "culprit_share": ratio(blame[key], excess["method"]),
    }


def _own_excess(key: Any, over: dict[Any, float]) -> float:
    if key[3] != "delegate_call":
        return over[key]
    inner = [v for k, v in over.items() if k[3] == "delegate_op" and k[1] == key[1]]
    return over[key] - sum(inner)
