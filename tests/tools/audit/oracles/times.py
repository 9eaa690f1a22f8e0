"""Where time goes: percentiles, hotspots, the framework's tax, tails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tests.tools.audit.events import Event
from tests.tools.audit.oracles.places import (
    Params,
    Row,
    event_named,
    grouped,
    named,
    runs_of,
    series_of,
)
from tests.tools.audit.recordings import Recording, Run
from tests.tools.audit.statistics import (
    difference,
    percentile,
    ratio,
    rest,
    share,
    whole_middle,
    whole_sum,
)

PARTS = ("method", "kernel", "delegate_call", "delegate_op")
SHARES = {"p10_ns": 0.1, "p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99}


def percentiles(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        samples: dict[Any, Any] = {}
        for dump in own:
            for run in runs_of(dump, params):
                for event in run.events:
                    if event.ns is not None:
                        key = series_of(dump, run), event.key
                        samples.setdefault(key, (event, []))[1].append(event.ns)
        for (run_name, _), (event, times) in samples.items():
            row = named(place) | {"run": run_name} | event_named(event)
            rows.append(row | _described(times))
    return rows


def _described(times: list[float]) -> Row:
    return {name: percentile(times, share) for name, share in SHARES.items()} | {
        "sample_count": len(times),
        "avg_ns": sum(times) / len(times),
        "min_ns": min(times),
        "max_ns": max(times),
        "missing_count": 0,
    }


def complete(own: Iterable[Recording], params: Params) -> list[tuple[Recording, Run]]:
    """The complete runs that the filter of runs leaves, with their dumps."""
    return [(dump, run) for dump in own for run in runs_of(dump, params) if run.is_complete]


def operator_hotspots(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        listed = _hotspots(complete(own, params))
        for rank, row in enumerate(listed[: params.get("top_n")], start=1):
            rows.append(named(place) | row | {"rank": rank})
    return rows


def _hotspots(runs: list[tuple[Recording, Run]]) -> list[Row]:
    calls: dict[Any, list[Event]] = defaultdict(list)
    untimed: dict[Any, set[int]] = defaultdict(set)
    for dump, run in runs:
        for event in run.of_kind(*PARTS):
            key = (*event.key, series_of(dump, run))
            calls[key].append(event)
            if event.ns is None:
                untimed[key].add(dump.number)
    totals = {key: whole_sum(event.ns for event in own) for key, own in calls.items()}
    method = whole_sum(total for key, total in totals.items() if key[3] == "method")
    listed = []
    for key, own in calls.items():
        self_ns = _self_time(key, totals)
        of_ns = None if _is_contrary(key, totals) or share(totals[key], method) is None else method
        row = event_named(own[0]) | {
            "run": key[4],
            "untimed_count": len(untimed[key]),
            "call_count": len(own),
            "total_ns": totals[key],
            "self_ns": self_ns,
            "mean_ns": ratio(totals[key], len(own)),
            "time_share": ratio(totals[key], of_ns),
            "self_share": ratio(self_ns, of_ns),
        }
        listed.append(row)
    return sorted(listed, key=_by_self_time)


def _self_time(key: Any, totals: dict[Any, float | None]) -> float | None:
    _, instruction, _, kind, run = key
    alike = {k: total for k, total in totals.items() if k[4] == run}
    if kind == "method":
        inner = [total for k, total in alike.items() if k[3] in ("kernel", "delegate_call")]
    elif kind == "delegate_call":
        inner = [t for k, t in alike.items() if k[3] == "delegate_op" and k[1] == instruction]
    else:
        return totals[key]
    return rest(totals[key], whole_sum([0.0, *inner]))


def _is_contrary(key: Any, totals: dict[Any, float | None]) -> bool:
    """Whether it is an operator of a delegate whose operators take longer than its call."""
    calls = [
        other
        for other in totals
        if (other[1], other[3], other[4]) == (key[1], "delegate_call", key[4])
    ]
    if key[3] != "delegate_op" or not calls:
        return False
    inner = [t for k, t in totals.items() if (k[1], k[3], k[4]) == (key[1], key[3], key[4])]
    left = difference(whole_sum(totals[call] for call in calls), whole_sum(inner))
    return left is not None and left < 0


def _by_self_time(row: Row) -> tuple[Any, ...]:
    self_ns, instruction = row["self_ns"], row["instruction_id"]
    return (
        self_ns is None, -(self_ns or 0), instruction is None, instruction or 0,
        row["event_name"], row["delegate_id"] is None, row["delegate_id"] or "", row["kind"],
        row["run"],
    )  # fmt: skip


def framework_tax(dumps: Sequence[Recording], params: Params) -> list[Row]:
    scope, rows = params.get("scope", "total"), []
    is_by_backend = params.get("group_by") == "backend"
    backends: dict[Any, list[Recording]] = defaultdict(list)
    for place, own in grouped(dumps, params).items():
        runs = complete(own, params)
        found: list[Row] = []
        backends[place[4]] += own
        if scope in ("total", "all") and not is_by_backend:
            found += _taxed_total(runs)
        if scope in ("run", "all"):
            for dump, run in runs:
                where = METHOD | {"dump_id": dump.number, "run_index": run.index}
                found.append(taxed("run", where, [run_parts(run)]) | _untimed([dump]))
        if scope in ("operator", "all"):
            found += _taxed_calls(runs, "operator")
        if scope in ("delegate", "all"):
            found += _taxed_calls(runs, "delegate")
        rows += [named(place) | row for row in found]
    for backend, own in backends.items() if is_by_backend and scope in ("total", "all") else ():
        place = named((None, None, None, None, backend, backend))
        rows += [place | row for row in _taxed_total(complete(own, params))]
    return rows


def _taxed_total(runs: list[tuple[Recording, Run]]) -> list[Row]:
    if not runs:
        return []
    row = taxed("total", METHOD, [run_parts(run) for _, run in runs])
    return [row | _untimed(dump for dump, _ in runs)]


def _untimed(dumps: Iterable[Recording]) -> Row:
    return {"untimed_count": len({one.number for one in dumps if one.ns_per_tick is None})}


METHOD = {"event_name": "Method::execute", "instruction_id": None}
Parts = tuple[float | None, float | None, float | None, int]


def run_parts(run: Run) -> Parts:
    return (
        whole_sum(event.ns for event in run.of_kind("method")),
        whole_sum([0.0, *(event.ns for event in run.of_kind("kernel"))])
        if _is_timed(run)
        else None,
        whole_sum([0.0, *(event.ns for event in run.of_kind("delegate_call"))])
        if _is_timed(run)
        else None,
        1,
    )


def _is_timed(run: Run) -> bool:
    return all(event.ns is not None for event in run.of_kind("method"))


def taxed(scope: str, where: Row, parts: list[Parts]) -> Row:
    execute, kernel, delegate = (whole_sum(part[place] for part in parts) for place in range(3))
    count = sum(part[3] for part in parts)
    tax = whole_sum(
        rest(one[0], whole_sum([one[1] if scope != "delegate" else 0.0,
                                one[2] if scope != "operator" else 0.0]))
        for one in parts
    )  # fmt: skip
    return {"dump_id": None, "run_index": None} | where | {
        "scope": scope,
        "run_count": count,
        "execute_ns": ratio(execute, count),
        "kernel_ns": None if scope == "delegate" else ratio(kernel, count),
        "delegate_ns": None if scope == "operator" else ratio(delegate, count),
        "tax_ns": ratio(tax, count),
        "tax_share": ratio(tax, execute),
    }  # fmt: skip


def _taxed_calls(runs: list[tuple[Recording, Run]], scope: str) -> list[Row]:
    """Calls beside what they were for, of one dump, run signature and instruction each."""
    outer, inner = _CALLS[scope]
    together: dict[Any, list[Event]] = defaultdict(list)
    for dump, run in runs:
        for event in run.of_kind(outer, inner):
            chain = event.chain if scope == "operator" else None
            together[dump.number, run.signature, chain, event.instruction].append(event)
    rows: dict[Any, list[Parts]] = defaultdict(list)
    of_dumps: dict[Any, list[Recording]] = defaultdict(list)
    by_number = {dump.number: dump for dump, _ in runs}
    for (number, *_, instruction), events in together.items():
        calls = [event for event in events if event.kind == outer]
        inside = [event for event in events if event.kind == inner]
        if not calls or (scope == "operator" and not inside):
            continue
        times = whole_sum(e.ns for e in calls), whole_sum(e.ns for e in inside)
        if scope == "operator" and len(inside) < len(calls):
            times = times[0], None
        name = max(event.name for event in (inside if scope == "operator" else calls))
        part = (times[0], times[1] if scope == "operator" else None,
                times[1] if scope == "delegate" else None, len(calls))  # fmt: skip
        rows[name, instruction].append(part)
        of_dumps[name, instruction].append(by_number[number])
    return [
        taxed(scope, {"event_name": name, "instruction_id": instruction}, parts)
        | _untimed(of_dumps[name, instruction])
        for (name, instruction), parts in rows.items()
    ]


_CALLS = {
    "operator": ("operator_call", "kernel"),
    "delegate": ("delegate_call", "delegate_op"),
}


def operator_variance(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        tails = _tails(own, params)
        if place[0] and all(row["untimed_count"] == row["dump_count"] for row, _ in tails):
            tails = _tails(own, params, in_cycles=True)
        whole = whole_sum([0.0, *(tail for _, tail in tails)])
        tails.sort(key=lambda pair: _by_self_time(pair[0] | {"self_ns": _near(pair[1])}))
        for rank, (row, tail) in enumerate(tails[: params.get("top_n")], start=1):
            rows.append(named(place) | row | {"rank": rank, "tail_share": ratio(tail, whole)})
    return rows


def _near(tail: float | None) -> float | None:
    """So that tails which differ in the last digits are ordered by name."""
    return None if tail is None else round(tail, 6)


def _tails(
    own: list[Recording], params: Params, *, in_cycles: bool = False
) -> list[tuple[Row, float | None]]:
    found: dict[Any, dict[Any, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for dump in own:
        inside = {e.instruction for run in dump.runs for e in run.of_kind("delegate_op")
                  if e.is_valid}  # fmt: skip
        for run in runs_of(dump, params):
            for event in run.of_kind("kernel", "delegate_call", "delegate_op"):
                if event.is_valid and not (
                    event.kind == "delegate_call" and event.instruction in inside
                ):
                    found[series_of(dump, run), event.key][dump.number].append(event)
    return [
        _tail(list(by_dump.values()), run, in_cycles=in_cycles)
        for (run, _), by_dump in found.items()
    ]


def _tail(by_dump: list[list[Event]], run: str, *, in_cycles: bool) -> tuple[Row, float | None]:
    times = [[e.ns for e in events if e.ns is not None] for events in by_dump]
    p50, p99 = ([percentile(t, share) if t else None for t in times] for share in (0.5, 0.99))
    tails = [difference(high, low) for high, low in zip(p99, p50, strict=True)]
    untimed = sum(not known for known in times)
    shares = [ratio(high, low) for high, low in zip(p99, p50, strict=True)]
    row = event_named(by_dump[0][0]) | {
        "run": run,
        "dump_count": len(by_dump),
        "sample_count": sum(map(len, by_dump)),
        "p50_ns": whole_middle(p50, untimed),
        "p99_ns": whole_middle(p99, untimed),
        "tail_ns": whole_middle(tails, untimed),
        "p99_over_p50": whole_middle(shares, untimed),
        "untimed_count": untimed,
    }
    if in_cycles:
        cycles = [[e.ticks or 0 for e in events] for events in by_dump]
        tails = [percentile(t, 0.99) - percentile(t, 0.5) for t in cycles]
    elif untimed:
        return row, None
    weighed = [t * len(e) for t, e in zip(tails, by_dump, strict=True) if t is not None]
    return row, whole_sum(weighed)
