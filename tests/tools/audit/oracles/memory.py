"""What runs allocate: by allocator, by instruction, and in two builds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tests.tools.audit.oracles.places import (
    Params,
    Row,
    Sides,
    grouped,
    named,
    series_of,
    two_builds,
)
from tests.tools.audit.recordings import Allocation, Recording, Run
from tests.tools.audit.statistics import ratio

Where = tuple[Any, ...]


def _bytes(sizes: Iterable[int]) -> int:
    """Their sum, as far as an answer can hold it."""
    return min(sum(sizes), 2**63 - 1)


def _logging(own: Sequence[Recording]) -> dict[str | None, list[Run]]:
    """Runs by name, in dumps that log allocations."""
    runs: dict[str | None, list[Run]] = defaultdict(list)
    for dump in own:
        if any(run.allocations for run in dump.runs):
            for run in dump.runs:
                runs[run.name].append(run)
    return runs


def memory_totals(dumps: Sequence[Recording], params: Params) -> list[Row]:
    is_whole, rows = params.get("scope") == "total", []
    for place, own in grouped(dumps, params).items():
        of_dump = {run: dump for dump in own for run in dump.runs}
        for name, runs in _logging(own).items():
            for allocator in {
                None if is_whole else a.allocator for r in runs for a in r.allocations
            }:
                logged = [
                    [a for a in run.allocations if is_whole or a.allocator == allocator]
                    for run in runs
                ]
                if any(logged):
                    counts = {"run_name": name, "allocator": allocator,
                              "dump_count": len({of_dump[run] for run in runs}),
                              "run_count": len(runs)}  # fmt: skip
                    rows.append(named(place) | counts | _summed(logged))
    return rows


def _summed(logged: list[list[Allocation]]) -> Row:
    sums = [_bytes(a.size for a in own) for own in logged]
    return {
        "allocation_count": sum(map(len, logged)),
        "total_bytes": sum(sums) / len(sums),
        "least_bytes": min(sums),
        "peak_bytes": max(sums),
        "largest_bytes": _bytes([max(a.size for own in logged for a in own)]),
    }


def memory_by_instruction(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        for name, runs in _logging(own).items():
            found: dict[Where, dict[Run, list[int]]] = defaultdict(lambda: defaultdict(list))
            for run in runs:
                for allocation in run.allocations:
                    where = (allocation.allocator, *_allocating(run, allocation.place))
                    found[where][run].append(allocation.size)
            for (allocator, instruction, event), sizes in found.items():
                rows.append(
                    named(place)
                    | {
                        "run_name": name,
                        "allocator": allocator,
                        "instruction_id": instruction,
                        "event_name": event,
                        "run_count": len(runs),
                        "allocation_count": sum(map(len, sizes.values())),
                        "total_bytes": sum(map(_bytes, sizes.values())) / len(runs),
                        "peak_bytes": max(map(_bytes, sizes.values())),
                        "largest_bytes": _bytes([max(map(max, sizes.values()))]),
                    }
                )
    return rows


def _allocating(run: Run, place: int) -> tuple[int | None, str | None]:
    """Instruction and name of the event that ends next in the file, be it in the same entry."""
    after = next((event for event in run.events if event.place >= place), None)
    if after is None:
        return None, None
    step = [
        event.name
        for event in run.of_kind("kernel", "delegate_call")
        if (event.chain, event.instruction) == (after.chain, after.instruction)
        and (after.kind == "delegate_op" or event.occurrence == after.occurrence)
    ]
    return after.instruction if after.chain >= 0 else None, max(step, default=after.name)


def memory_deltas(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for device, sides in two_builds(dumps, params):
        for name in {run.name for side in sides for dump in side for run in dump.runs}:
            rows += [device | _memory_row(sides, name, one) for one in _allocators(sides, name)]
    return rows


def _allocators(sides: Sides, name: str | None) -> list[tuple[bool, str | None]]:
    runs = [run for side in sides for dump in side for run in dump.runs if run.name == name]
    found: set[str | None] = {a.allocator for run in runs for a in run.allocations}
    return [(True, None), *((False, one) for one in found)] if found else []


def _memory_row(sides: Sides, name: str | None, where: tuple[bool, str | None]) -> Row:
    is_total, allocator = where
    base, head = (_side(side, name, is_total, allocator) for side in sides)
    is_known = base["bytes"] is not None and head["bytes"] is not None
    grown = head["bytes"] - base["bytes"] if is_known else None
    return {
        "run_name": name,
        "is_total": is_total,
        "allocator": allocator,
        **{f"base_{key}": base[key] for key in ("run_count", "count", "bytes", "least_bytes")},
        **{f"head_{key}": head[key] for key in ("run_count", "count", "bytes", "least_bytes")},
        "delta_bytes": grown,
        "delta": None if grown is None else ratio(grown, base["bytes"]),
        "verdict": _verdict(base, head) if is_known else "unknown",
    }


def _side(side: Sequence[Recording], name: str | None, is_total: bool, allocator: Any) -> Row:
    """The figures of a build; nothing of runs that no dump has that logs allocations."""
    of_dumps = [
        [
            [a.size for a in run.allocations if is_total or a.allocator == allocator]
            for run in dump.runs
            if run.name == name
        ]
        for dump in side
        if any(run.allocations for run in dump.runs)
    ]
    of_dumps = [runs for runs in of_dumps if runs]
    if not of_dumps:
        return dict.fromkeys(("run_count", "count", "bytes", "least_bytes", "varies"))
    extremes = {(min(map(_bytes, runs)), max(map(_bytes, runs))) for runs in of_dumps}
    runs = [run for own in of_dumps for run in own]
    return {
        "run_count": len(runs),
        "count": sum(map(len, runs)) / len(runs),
        "bytes": max(map(_bytes, runs)),
        "least_bytes": min(map(_bytes, runs)),
        "varies": len(extremes) > 1,
    }


def _verdict(base: Row, head: Row) -> str:
    if base["varies"] or head["varies"]:
        return "varies"
    same = all(base[key] == head[key] for key in ("bytes", "least_bytes", "count"))
    return "unchanged" if same else "changed"


def exact_changes(dumps: Sequence[Recording], params: Params) -> list[Row]:
    return [where | row for where, sides in two_builds(dumps, params) for row in _exact(sides)]


def _exact(sides: Sides) -> list[Row]:
    logged = {
        (run.name, a.allocator)
        for side in sides for dump in side for run in dump.runs for a in run.allocations
    }  # fmt: skip
    measured = [[_measures(dump, logged) for dump in side] for side in sides]
    run_counts = {len(dump.runs) for side in sides for dump in side}
    rows = []
    for measure in {key for side in measured for own in side for key in own}:
        if measure[0] == "dump_bytes" and len(run_counts) > 1:
            continue
        known = [[own[measure] for own in side if measure in own] for side in measured]
        if all(known):
            rows.append(dict(zip(("measure", "run_name", "allocator"), measure, strict=True))
                        | _both(known))  # fmt: skip
    return rows


def _both(known: list[list[list[float]]]) -> Row:
    (base, base_high), (head, head_high) = (
        (min(low for low, _ in side), max(high for _, high in side)) for side in known
    )
    varies = base < base_high or head < head_high
    return {
        "base_count": len(known[0]), "head_count": len(known[1]),
        "base": base, "base_high": base_high, "head": head, "head_high": head_high,
        "verdict": "varies" if varies else "unchanged" if base == head else "changed",
    }  # fmt: skip


def _measures(
    dump: Recording, logged: set[tuple[str | None, str | None]]
) -> dict[tuple[str, str | None, str | None], list[float]]:
    """The lowest and highest value of each measure of a dump.

    It allocated nothing of what others logged, names of runs and allocators, if it logs any.
    """
    found: dict[Any, list[float]] = {}
    for measure, value in (("runs_per_dump", len(dump.runs)), ("dump_bytes", len(dump.data))):
        found[measure, None, None] = [float(value)] * 2
    for name, value in _stated_bytes(dump):
        found[name, None, None] = [value] * 2
    series: dict[str, list[Run]] = defaultdict(list)
    for run in dump.complete_runs:
        series[series_of(dump, run)].append(run)
    for name, runs in series.items():
        for measure, share in _program(runs).items():
            found[measure, name, None] = [float(share)] * 2
    logging = dump.runs if any(run.allocations for run in dump.runs) else ()
    for name, allocator in logged:
        sums = [
            _bytes(a.size for a in run.allocations if a.allocator == allocator)
            for run in logging
            if run.name == name
        ]
        if sums:
            found["allocated_bytes", name, allocator] = [float(min(sums)), float(max(sums))]
    return found


def _stated_bytes(dump: Recording) -> Iterator[tuple[str, float]]:
    for counter in dump.manifest.get("counters") or ():
        if "value" in counter and counter.get("unit", "").lower() in ("b", "byte", "bytes"):
            yield counter["name"], float(counter["value"])


def _program(runs: list[Run]) -> dict[str, float]:
    events = [event for run in runs for event in run.events]
    methods = sum(event.kind == "method" for event in events)
    steps = ("operator_call", "kernel", "delegate_call")
    if not methods or not any(event.kind in steps for event in events):
        return {}
    kernels = {(e.chain, e.instruction, e.name) for e in events if e.kind == "kernel"}
    calls = {(e.chain, e.instruction, e.name) for e in events if e.kind == "delegate_call"}
    ops = {(e.chain, e.instruction, e.delegate) for e in events if e.kind == "delegate_op"}
    inside = 0
    for place in {key[:2] for key in calls | ops}:
        inside += max(sum(key[:2] == place for key in some) for some in (calls, ops))
    found: dict[str, float] = {
        "operator_count": len(kernels),
        "delegate_call_count": len(calls),
        "operator_calls": sum(e.kind == "kernel" for e in events) / methods,
        "delegate_calls": sum(e.kind == "delegate_call" for e in events) / methods,
    }
    if kernels or inside:
        found["delegated_share"] = inside / (len(kernels) + inside)
    return found
