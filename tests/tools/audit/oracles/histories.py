"""The framework's tax and each type of operator over the builds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tests.tools.audit.events import Event, operator_type
from tests.tools.audit.oracles.places import (
    Params,
    Row,
    builds_in_order,
    chosen,
    history_facts,
    of_device,
    series_of,
)
from tests.tools.audit.oracles.times import METHOD, complete, run_parts, taxed
from tests.tools.audit.recordings import Recording, Run
from tests.tools.audit.statistics import ratio, share, whole_sum

SERIES = ("device", "model", "backend", "run")
Runs = list[tuple[Recording, Run]]


def _series(dumps: Sequence[Recording], params: Params) -> Iterator[tuple[Any, Runs]]:
    """The complete runs of each series in each build, in the order of the builds."""
    groups: dict[Any, Runs] = defaultdict(list)
    for dump, run in complete(chosen(dumps, params), params):
        groups[*of_device(dump), series_of(dump, run), dump.build].append((dump, run))
    for build in builds_in_order(dumps):
        yield from ((key, own) for key, own in groups.items() if key[-1] == build)


def tax_history(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = [_history_row(dumps, key, own) for key, own in _series(dumps, params)]
    return with_changes(rows, "tax_ns", SERIES)


def _history_row(dumps: Sequence[Recording], key: Any, own: Runs) -> Row:
    row = taxed("total", METHOD, [run_parts(run) for _, run in own])
    names = ("execute_ns", "kernel_ns", "delegate_ns", "tax_ns", "tax_share", "run_count")
    where = dict(zip((*SERIES, "build"), key, strict=True))
    counts = {"dump_count": len({dump.number for dump, _ in own})}
    return where | history_facts(dumps, key[-1]) | counts | {name: row[name] for name in names}


def with_changes(rows: list[Row], column: str, series: tuple[str, ...]) -> list[Row]:
    """Rows in order of their builds, each with its change against the one before in its series."""
    before: dict[Any, float | None] = {}
    for row in rows:
        key = tuple(row[name] for name in series)
        share = ratio(row[column], before.get(key))
        row["change"] = None if share is None else share - 1
        before[key] = row[column]
    return rows


def op_type_history(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = [row for key, own in _series(dumps, params) for row in _typed(dumps, key, own)]
    return with_changes(rows, "run_ns", (*SERIES, "op_type", "kind"))


def _typed(dumps: Sequence[Recording], key: Any, runs: Runs) -> list[Row]:
    types: dict[Any, list[Event]] = defaultdict(list)
    for _, run in runs:
        for event in run.of_kind("kernel", "delegate_call", "delegate_op"):
            types[operator_type(event), event.kind].append(event)
    executed = whole_sum(run_parts(run)[0] for _, run in runs)
    where = dict(zip((*SERIES, "build"), key, strict=True))
    rows = []
    for (op_type, kind), events in types.items():
        total = whole_sum(event.ns for event in events)
        rows.append(
            where | history_facts(dumps, key[-1]) | {
                "op_type": op_type,
                "kind": kind,
                "dump_count": len({dump.number for dump, _ in runs}),
                "run_count": len(runs),
                "operator_count": len({(e.chain, e.instruction, e.delegate) for e in events}),
                "run_calls": len(events) / len(runs),
                "run_ns": ratio(total, len(runs)),
                "time_share": share(total, executed),
            }
        )  # fmt: skip
    return rows
