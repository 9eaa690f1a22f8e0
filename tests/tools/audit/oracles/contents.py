"""What there is: dumps, coverage, counters, the environment, what dumps lack."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tests.tools.audit.oracles.places import (
    Params,
    Row,
    Sides,
    build_facts,
    builds_in_order,
    chosen,
    device_named,
    grouped,
    is_named,
    named,
    of_device,
    two_builds,
)
from tests.tools.audit.recordings import Recording, Run, parse_time
from tests.tools.audit.statistics import middle, percentile


def _events(dump: Recording) -> int:
    return sum(len(run.events) for run in dump.runs)


def _flagged(dump: Recording) -> int:
    return sum(not event.is_valid for run in dump.runs for event in run.events)


def dumps(dumps: Sequence[Recording], params: Params) -> list[Row]:
    return [
        {
            "dump_id": dump.number,
            "device": dump.device,
            "pool": dump.fact("device", "pool"),
            "build": dump.build,
            "model": dump.model[0],
            "backend": dump.model[1],
            "quantization": dump.fact("model", "quantization"),
            "captured_at": dump.captured_at,
            "n_runs": len(dump.runs),
            "n_events": _events(dump),
            "n_flagged_events": _flagged(dump),
            "n_allocations": sum(len(run.allocations) for run in dump.runs),
            "n_debug_events": sum(len(run.values) for run in dump.runs),
            "tick_unit": dump.tick_unit,
            "byte_count": len(dump.data),
            "sha256": dump.sha256,
            "tags": json.dumps(
                dump.tags, sort_keys=True, separators=(",", ":"), ensure_ascii=False
            ),
        }
        for dump in chosen(dumps, params)
    ]


def coverage(dumps: Sequence[Recording], params: Params) -> list[Row]:
    groups: dict[Any, list[Recording]] = defaultdict(list)
    for dump in chosen(dumps, params):
        groups[dump.device, dump.fact("device", "pool"), *dump.model, dump.build].append(dump)
    names = ("device", "pool", "model", "backend", "build")
    return [
        dict(zip(names, key, strict=True))
        | {
            "dump_count": len(own),
            "run_count": sum(len(dump.runs) for dump in own),
            "event_count": sum(map(_events, own)),
            "first_captured_at": min(
                (d.captured_at for d in own if d.captured_at is not None), default=None
            ),
            "last_captured_at": max(
                (d.captured_at for d in own if d.captured_at is not None), default=None
            ),
            "build_ordinal": build_facts(dumps, key[-1])["ordinal"],
            "committed_at": build_facts(dumps, key[-1])["committed_at"],
        }
        for key, own in groups.items()
    ]


def coverage_gaps(dumps: Sequence[Recording], params: Params) -> list[Row]:
    fresh_since = parse_time(params.get("fresh_since"))
    builds = [
        build
        for build in builds_in_order(dumps)
        if build_facts(dumps, build)["role"] is None and is_named(build, params.get("build"))
    ]
    series: dict[Any, list[Recording]] = defaultdict(list)
    for dump in chosen(dumps, params):
        series[of_device(dump)].append(dump)
    rows = []
    for key, own in series.items():
        fresh = {
            d.build for d in own
            if fresh_since is None or (d.captured_at is not None and d.captured_at >= fresh_since)
        }  # fmt: skip
        last = max((builds.index(build) for build in fresh & {*builds}), default=None)
        facts = [build_facts(dumps, dump.build) for dump in own]
        branches = {each["branch"] for each in facts if each["role"] is None}
        for build in builds[-(params.get("last_n") or len(builds)) :]:
            if build not in fresh and build_facts(dumps, build)["branch"] in branches:
                rows.append(
                    device_named(key)
                    | {
                        "build": build,
                        "stale_count": sum(dump.build == build for dump in own),
                        "last_build": None if last is None else builds[last],
                        "builds_since": None if last is None else len(builds) - 1 - last,
                        "last_captured_at": max(
                            (d.captured_at for d in own if d.captured_at), default=None
                        ),
                        "is_expected": False,  # no question of the audit expects anything
                    }
                )
    return rows


def data_quality(dumps: Sequence[Recording], params: Params) -> list[Row]:
    groups: dict[Any, list[Recording]] = defaultdict(list)
    for dump in chosen(dumps, params):
        groups[(*of_device(dump), dump.build)].append(dump)
    rows = []
    for key, own in groups.items():
        for problem, has in _PROBLEMS.items():
            bad = [dump for dump in own if has(dump, build_facts(dumps, dump.build))]
            if bad:
                rows.append(
                    device_named(key[:3])
                    | {
                        "build": key[3],
                        "problem": problem,
                        "dump_count": len(bad),
                        "of_count": len(own),
                        "dump_share": len(bad) / len(own),
                        "example": min(dump.sha256 for dump in bad),
                    }
                )
    return rows


def _is_failed(run: Run) -> bool:
    """Whether it ran something besides loading, and is not complete."""
    steps = run.of_kind("method", "operator_call", "kernel", "delegate_call")
    is_load = bool(run.of_kind("load")) and not steps
    return bool(run.events) and not is_load and not run.is_complete


def _most_alike(dump: Recording) -> int:
    counts: dict[Any, int] = defaultdict(int)
    for run in dump.complete_runs:
        counts[run.signature] += 1
    return max(counts.values(), default=0)


def _is_unclassified(dump: Recording) -> bool:
    """Whether events that nothing classifies take more than 5 % of its complete runs."""
    events = [event for run in dump.complete_runs for event in run.of_kind("other")]
    executed = sum(run.ticks("method") for run in dump.complete_runs)
    return 20 * sum(event.ticks or 0 for event in events) > executed


def _is_conflicting(dump: Recording, build: Row) -> bool:
    """Whether it says something else of its build than what is known of that."""
    names = ("commit", "branch", "ordinal", "parent", "role")
    return any(dump.fact("build", name) not in (None, build[name]) for name in names)


def _is_implausible(time: datetime | None) -> bool:
    """Whether a time is before 2020; all shipped dumps are ingested after they were recorded."""
    return time is not None and time.year < 2020


def _times(dump: Recording) -> tuple[str | None, str | None]:
    return dump.fact("captured_at"), dump.fact("build", "committed_at")


def _has_no_zone(text: str | None) -> bool:
    return text is not None and "T" in text and not text.endswith("Z") and text[-6] not in "+-"


_ENVIRONMENT = ("firmware", "governor", "threads", "temperature_c")
_PROBLEMS = {
    "no events": lambda d, _: _events(d) == 0,
    "flagged events": lambda d, _: _flagged(d) > 0,
    "incomplete runs": lambda d, _: any(map(_is_failed, d.runs)),
    "few runs": lambda d, _: _most_alike(d) < 25,
    "unknown clock rate": lambda d, _: None in (d.ns_per_tick, d.delegate_ns_per_tick),
    "no capture time": lambda d, _: d.captured_at is None,
    "implausible time": lambda d, b: any(map(_is_implausible, (d.captured_at, b["committed_at"]))),
    "time without zone": lambda d, _: any(map(_has_no_zone, _times(d))),
    "unordered build": lambda _, b: b["ordinal"] is None and b["committed_at"] is None,
    "unknown environment": lambda d, _: all(d.fact("run", n) is None for n in _ENVIRONMENT),
    "conflicting build": lambda d, b: _is_conflicting(d, b),
    "no ETRecord": lambda d, _: d.etrecord is None,
    "unclassified time": lambda d, _: _is_unclassified(d),
}


def counter_totals(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        stated: dict[Any, list[tuple[Recording, float, int]]] = defaultdict(list)
        for dump in own:
            for counter in dump.fact("counters") or ():
                for scope, name, value, inferences in _counted(dump, counter):
                    key = counter["name"], counter.get("unit", "count"), scope, name
                    stated[key].append((dump, value, inferences))
        names = ("counter", "unit", "scope", "run_name")
        for key, found in stated.items():
            rows.append(named(place) | dict(zip(names, key, strict=True)) | _totalled(found))
    return rows


def _counted(dump: Recording, counter: Any) -> list[tuple[str, str | None, float, int]]:
    if counter.get("value") is not None:
        return [("dump", None, counter["value"], len(dump.complete_runs))]
    found = []
    for index, value in enumerate(counter["values"]):
        if value is not None:
            run = dump.runs[index] if index < len(dump.runs) else None
            is_inference = run is not None and run.is_complete
            found.append(("run", run.name if run else None, value, int(is_inference)))
    return found


def _totalled(found: list[tuple[Recording, float, int]]) -> Row:
    values = [value for _, value, _ in found]
    inferences = sum(count for *_, count in found)
    of_inferences = [value for _, value, count in found if count]
    shares = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p99": 0.99}
    return {
        "dump_count": len({dump.number for dump, *_ in found}),
        "value_count": len(values),
        "total": sum(values),
        "min": min(values),
        "max": max(values),
        **{name: percentile(values, share) for name, share in shares.items()},
        "inference_count": inferences,
        "per_inference": sum(of_inferences) / inferences if inferences else None,
    }


def environment_changes(dumps: Sequence[Recording], params: Params) -> list[Row]:
    return [
        where | {"attribute": name} | _environment(sides, path)
        for where, sides in two_builds(dumps, params)
        for name, path in _ATTRIBUTES.items()
    ]


_ATTRIBUTES = {
    "os": ("device", "os"),
    "os_version": ("device", "os_version"),
    "firmware": ("run", "firmware"),
    "governor": ("run", "governor"),
    "threads": ("run", "threads"),
    "temperature": ("run", "temperature_c"),
}


def _environment(sides: Sides, path: tuple[str, ...]) -> Row:
    base, head = ([v for d in side if (v := d.fact(*path)) is not None] for side in sides)
    is_heat = path[-1] == "temperature_c"
    row = {
        "base_count": len(base), "head_count": len(head),
        "base": _heat(base) if is_heat else _listed(base),
        "head": _heat(head) if is_heat else _listed(head),
    }  # fmt: skip
    if not base or not head:
        return row | {"verdict": "unknown"}
    if is_heat:
        apart = abs((middle(base) or 0.0) - (middle(head) or 0.0))
        return row | {"verdict": "changed" if apart >= 5 else "unchanged"}
    verdict = "changed" if {*base} != {*head} else "varies" if len({*base}) > 1 else "unchanged"
    return row | {"verdict": verdict}


def _heat(values: list[Any]) -> str | None:
    half = middle(values)
    return None if half is None else str(int(half + 0.5))


def _listed(values: list[Any]) -> str | None:
    texts = sorted({str(value) for value in values})
    if len(texts) < 3:
        return ", ".join(texts) or None
    return f"{texts[0]}, ..., {texts[-1]}"
