"""The rollups of ingest, computed from rows of tables one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

WARM_UP_RUNS = 5
PARTS = {"execute_ticks": "method", "kernel_ticks": "kernel", "delegate_ticks": "delegate_call"}
GROUPED = ("dump_id", "run_signature_id", "event_signature_id")
TOTALLED = (*GROUPED, "chain_index")


def plain_rollups(tables):
    """The tables of `tracehouse.ingest.schemas.rollups` by name, from the rows of all others."""
    runs = list(complete_runs(tables["events"], tables["event_signatures"]))
    n_runs = {row["dump_id"]: row["n_runs"] for row in tables["dumps"]}
    long = [row for row in tables["events"] if n_runs[row["dump_id"]] >= 200]
    return {
        "event_stats": list(event_stats(tables["events"], clock_steps(tables))),
        "event_histograms": list(event_histograms(long)),
        "run_totals": [run_totals(*run) for run in runs],
        "event_totals": list(event_totals(row for _, events in runs for _, row in events)),
    }


def clock_steps(tables):
    """Ticks in a step of the clock of (dump, event signature), if more than one."""
    steps = {}
    for dump in tables["dumps"]:
        for row in tables["event_signatures"]:
            if row.get("unit") is None:
                clock = "delegate_" if row["kind"] == "delegate_op" else ""
                key = (dump["dump_id"], row["event_signature_id"])
                steps[key] = dump.get(f"{clock}resolution_ticks", 1)
    return steps


def grouped_median(ticks: Sequence[int], step: int) -> float:
    """Median of values that a clock rounded to its steps.

    If both middle values are equal, the median lies as far into that value's step as there are
    values below it; otherwise it is between them.
    """
    ordered = sorted(ticks)
    middle, upper = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if middle != upper:
        return (middle + upper) / 2
    below = sum(one < middle for one in ordered)
    share = (len(ordered) / 2 - below) / ordered.count(middle)
    return max(middle - step / 2 + step * share, 0.0)


def event_stats(events, steps):
    groups = {}
    for row in events:
        if row["flags"] <= 1:
            key = tuple(row[name] for name in GROUPED)
            groups.setdefault(key, []).append((row["run_index"], row["duration_ticks"]))
    for key, samples in groups.items():
        dump_id, _, signature = key
        known = dict(zip(GROUPED, key, strict=True))
        yield known | _stats_of(tuple(samples), steps.get((dump_id, signature), 1))


@cache
def _stats_of(samples, step):
    """Statistics of samples, cached because each test's runs are equal."""
    runs = sorted({run for run, _ in samples})
    ticks = np.array([duration for _, duration in samples])
    steady = [d for run, d in samples if run in runs[WARM_UP_RUNS:]]
    shares = dict(
        zip(
            ("p10_ticks", "p50_ticks", "p90_ticks", "p95_ticks", "p99_ticks"),
            np.percentile(ticks, [10, 50, 90, 95, 99]).tolist(),
            strict=True,
        )
    )
    return {
        "sample_count": len(ticks),
        "zero_count": int((ticks == 0).sum()),
        "min_ticks": int(ticks.min()),
        "max_ticks": int(ticks.max()),
        "sum_ticks": float(ticks.sum()),
        **shares,
        "steady_count": len(steady),
        "steady_p50_ticks": float(np.median(steady)) if steady else None,
        "steady_grouped_ticks": grouped_median(steady, step) if steady else None,
    }


def event_histograms(events):
    counts = Counter(
        (*(row[name] for name in GROUPED), bucket(row["duration_ticks"]))
        for row in events
        if row["flags"] <= 1
    )
    for (*key, number), count in sorted(counts.items()):
        yield {
            **dict(zip(GROUPED, key, strict=True)),
            "bucket": number,
            "event_count": count,
        }


def bucket(ticks):
    return math.ceil(math.log(ticks) / math.log(1.01 / 0.99)) if ticks else -1


def complete_runs(events, signatures):
    """The runs (dump, run) that have a Method::execute and no flagged event, with (kind, event)."""
    kinds = {row["event_signature_id"]: row["kind"] for row in signatures}
    runs = {}
    for row in events:
        event = (kinds[row["event_signature_id"]], row)
        runs.setdefault((row["dump_id"], row["run_index"]), []).append(event)
    for run, own in runs.items():
        is_executed = any(kind == "method" for kind, _ in own)
        if is_executed and all(row["flags"] <= 1 for _, row in own):
            yield run, own


def run_totals(run, events):
    sums = {
        column: float(sum(row["duration_ticks"] for kind, row in events if kind == part))
        for column, part in PARTS.items()
    }
    signature = next(row["run_signature_id"] for kind, row in events if kind == "method")
    return {"dump_id": run[0], "run_index": run[1], "run_signature_id": signature, **sums}


def event_totals(events):
    totals = {}
    for row in events:
        key = tuple(row[name] for name in TOTALLED)
        totals.setdefault(key, []).append(row["duration_ticks"])
    for key, ticks in totals.items():
        sums = {"event_count": len(ticks), "total_ticks": float(sum(ticks))}
        yield dict(zip(TOTALLED, key, strict=True)) | sums
