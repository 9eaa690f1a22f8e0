"""One dump as the Inspector or a time axis shows it, and a program's delegates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.tools.audit.events import Event, delegate_of, operator_type
from tests.tools.audit.oracles.places import Params, Row, grouped, named
from tests.tools.audit.recordings import Recording, Run
from tests.tools.audit.statistics import (
    difference,
    percentile,
    ratio,
    rest,
    scaled,
    share,
    whole_sum,
)


def event_blocks(dumps: Sequence[Recording], params: Params) -> list[Row]:
    dump = next(one for one in dumps if one.number == params["dump"])
    blocks: dict[Any, list[Run]] = defaultdict(list)
    for run in dump.runs:
        if run.signature is not None:
            blocks[run.signature].append(run)
    rows = []
    for number, (block, runs) in enumerate(blocks.items()):
        for place, signature in enumerate(block.events):
            own = [e for run in runs for e in run.events if e.signature == signature and e.is_valid]
            rows.append(
                {
                    "block_index": number,
                    "block_name": block.name,
                    "bundled_input_index": block.bundled_input_index,
                    "event_index": place,
                    "event_name": delegate_of(signature) or signature.debug_name or signature.name,
                    "instruction_id": signature.instruction_id,
                    "delegate_id": delegate_of(signature),
                    "is_delegated_op": delegate_of(signature) is not None,
                    "sample_count": len(own),
                }
                | _described([event.ns for event in own])
            )
    return rows


def _described(times: list[float | None]) -> Row:
    known = [time for time in times if time is not None]
    shares = {"p10_ns": 0.1, "p50_ns": 0.5, "p90_ns": 0.9}
    if not known:
        return dict.fromkeys([*shares, "avg_ns", "min_ns", "max_ns"])
    return {name: percentile(known, share) for name, share in shares.items()} | {
        "avg_ns": sum(known) / len(known),
        "min_ns": min(known),
        "max_ns": max(known),
    }


def run_timeline(dumps: Sequence[Recording], params: Params) -> list[Row]:
    dump = next(one for one in dumps if one.number == params["dump"])
    run = dump.runs[params["run"]] if "run" in params else _typical(dump)
    is_one_clock = dump.delegate_ns_per_tick == dump.ns_per_tick
    return [
        {
            "run_index": run.index,
            "run_name": run.name,
            "event_name": event.name,
            "delegate_id": event.delegate,
            "instruction_id": event.instruction,
            "kind": event.kind,
            "start_ns": scaled(offset, dump.ns_per_tick)
            if is_one_clock or event.kind != "delegate_op"
            else None,
            "duration_ns": event.ns,
            "is_flagged": not event.is_valid,
        }
        for event, offset in zip(run.events, _offsets(run), strict=True)
    ]


def _offsets(run: Run) -> list[int]:
    """Starts after the first start of the run; a 32-bit clock may have wrapped in between."""
    starts = [event.start for event in run.events]
    if max(starts) < 2**32 and max(starts) - min(starts) >= 2**31:
        starts = [start + 2**32 if start < 2**31 else start for start in starts]
    return [start - min(starts) for start in starts]


def _typical(dump: Recording) -> Run:
    """The run of the middle length; the shorter of two."""
    lengths = []
    for run in dump.runs:
        if run.events:
            ends = [
                offset + (event.ticks or 0)
                for event, offset in zip(run.events, _offsets(run), strict=True)
                if event.is_valid and event.kind != "delegate_op"
            ]
            lengths.append((max(ends, default=0), run.index))
    return dump.runs[sorted(lengths)[(len(lengths) - 1) // 2][1]]


def _steps(own: list[Recording]) -> dict[Any, dict[Any, list[Event]]]:
    """By run signature, the events of kernels and calls, by chain, instruction and name."""
    found: dict[Any, dict[Any, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for dump in own:
        for run in dump.complete_runs:
            for event in run.of_kind("kernel", "delegate_call"):
                key = event.chain, _last_if_none(event.instruction), event.name
                found[run.signature][key].append(event)
    return found


def _last_if_none(instruction: int | None) -> float:
    return float("inf") if instruction is None else instruction


def delegate_transitions(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        for signature, steps in _steps(own).items():
            runs = [r for d in own for r in d.complete_runs if r.signature == signature]
            found = _crossings([steps[key] for key in sorted(steps)], runs)
            crossings = sum(row["run_crossings"] for row in found)
            rows += [named(place) | row | {"program_crossings": crossings} for row in found]
    return rows


def _crossings(steps: list[list[Event]], runs: list[Run]) -> list[Row]:
    rows = []
    methods = [e for run in runs for e in run.of_kind("method")]
    for place, events in enumerate(steps):
        if events[0].kind != "delegate_call":
            continue
        before = steps[place - 1][0] if place else None
        after = steps[place + 1][0] if place + 1 < len(steps) else None
        inside = [
            e for run in runs for e in run.of_kind("delegate_op")
            if e.instruction == events[0].instruction
        ]  # fmt: skip
        total, inner = whole_sum(e.ns for e in events), whole_sum(e.ns for e in inside)
        boundaries = (before is not None) + (after is not None and after.kind == "kernel")
        outside = rest(total, inner)
        rows.append(
            {
                "chain_index": events[0].chain,
                "instruction_id": events[0].instruction,
                "event_name": events[0].name,
                "step_before": before.name if before else None,
                "step_after": after.name if after else None,
                "run_calls": len(events) / len(methods),
                "run_crossings": boundaries * len(events) / len(methods),
                "call_ns": ratio(total, len(events)),
                "operator_ns": ratio(difference(total, outside), len(events)),
                "crossing_ns": ratio(outside, len(events)),
                "crossing_share": share(outside, whole_sum(e.ns for e in methods)),
            }
        )
    return rows


def delegation_coverage(dumps: Sequence[Recording], params: Params) -> list[Row]:
    """Without ETRecords, which alone tell the backend of a delegate."""
    rows = []
    for place, own in grouped(dumps, params).items():
        runs = [run for dump in own for run in dump.complete_runs]
        types = _delegated_types(runs)
        operators = sum(row["operator_count"] for row in types)
        executed = whole_sum(e.ns for run in runs for e in run.of_kind("method"))
        untimed = sum(bool(d.complete_runs) and d.ns_per_tick is None for d in own)
        for row in types:
            total = row.pop("total_ns")
            rows.append(
                named(place)
                | row
                | {
                    "delegate_backend": None,
                    "run_nodes": None,
                    "node_share": None,
                    "untimed_count": untimed,
                    "operator_share": row["operator_count"] / operators,
                    "run_calls": row["run_calls"] / len(runs),
                    "run_ns": ratio(total, len(runs)),
                    "time_share": share(total, executed),
                }
            )
    return rows


def _delegated_types(runs: list[Run]) -> list[Row]:
    types: dict[tuple[bool, str], list[Event]] = defaultdict(list)
    inside: dict[Any, set[str | None]] = defaultdict(set)
    for run in runs:
        for event in run.events:
            if event.kind in ("kernel", "delegate_call"):
                types[event.kind != "kernel", operator_type(event)].append(event)
            if event.kind == "delegate_op":
                inside[event.chain, event.instruction].add(event.delegate)
    rows = []
    for (is_delegated, op_type), events in types.items():
        calls = {(e.chain, e.instruction, None if is_delegated else e.name) for e in events}
        count = sum(max(1, len(inside[key[:2]])) for key in calls) if is_delegated else len(calls)
        rows.append(
            {
                "is_delegated": is_delegated,
                "op_type": op_type,
                "call_count": len(calls),
                "operator_count": count,
                "run_calls": len(events),
                "total_ns": whole_sum(e.ns for e in events),
            }
        )
    return rows
