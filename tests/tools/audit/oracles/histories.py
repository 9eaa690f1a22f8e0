"""The framework's tax and each type of operator over the builds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.tools.audit.events import Event, operator_type
from tests.tools.audit.oracles.places import (
    Asked,
    Row,
    builds_in_order,
    chosen,
    history_facts,
    of_device,
)
from tests.tools.audit.oracles.times import METHOD, complete, run_parts, taxed
from tests.tools.audit.recordings import Recording
from tests.tools.audit.statistics import ratio, whole_sum


def tax_history(dumps: Sequence[Recording], asked: Asked) -> list[Row]:
    groups: dict[Any, list[Recording]] = defaultdict(list)
    for dump in chosen(dumps, asked):
        if dump.complete_runs:
            groups[(*of_device(dump), dump.build)].append(dump)
    rows = []
    for build in builds_in_order(dumps):
        for key, own in groups.items():
            if key[3] == build:
                rows.append(_history_row(dumps, key, own))
    return with_changes(rows, "tax_ns", ("device", "model", "backend"))


def _history_row(dumps: Sequence[Recording], key: Any, own: list[Recording]) -> Row:
    parts = [run_parts(run) for _, run in complete(own)]
    row = taxed("total", METHOD, parts)
    names = ("execute_ns", "kernel_ns", "delegate_ns", "tax_ns", "tax_share", "run_count")
    where = dict(zip(("device", "model", "backend", "build"), key, strict=True))
    counts = {"dump_count": len(own)}
    return where | history_facts(dumps, key[3]) | counts | {name: row[name] for name in names}


def with_changes(rows: list[Row], column: str, series: tuple[str, ...]) -> list[Row]:
    """Rows in order of their builds, each with its change against the one before in its series."""
    before: dict[Any, float | None] = {}
    for row in rows:
        key = tuple(row[name] for name in series)
        share = ratio(row[column], before.get(key))
        row["change"] = None if share is None else share - 1
        before[key] = row[column]
    return rows


def op_type_history(dumps: Sequence[Recording], asked: Asked) -> list[Row]:
    groups: dict[Any, list[Recording]] = defaultdict(list)
    for dump in chosen(dumps, asked):
        if dump.complete_runs:
            groups[(*of_device(dump), dump.build)].append(dump)
    rows = []
    for build in builds_in_order(dumps):
        for key, own in groups.items():
            if key[3] == build:
                rows += _typed(dumps, key, own)
    return with_changes(rows, "run_ns", ("device", "model", "backend", "op_type", "kind"))


def _typed(dumps: Sequence[Recording], key: Any, own: list[Recording]) -> list[Row]:
    runs = complete(own)
    types: dict[Any, list[Event]] = defaultdict(list)
    for _, run in runs:
        for event in run.of_kind("kernel", "delegate_call", "delegate_op"):
            types[operator_type(event), event.kind].append(event)
    executed = whole_sum(run_parts(run)[0] for _, run in runs)
    where = dict(zip(("device", "model", "backend", "build"), key, strict=True))
    rows = []
    for (op_type, kind), events in types.items():
        total = whole_sum(event.ns for event in events)
        rows.append(
            where | history_facts(dumps, key[3]) | {
                "op_type": op_type,
                "kind": kind,
                "dump_count": len(own),
                "run_count": len(runs),
                "operator_count": len({(e.chain, e.instruction, e.delegate) for e in events}),
                "run_calls": len(events) / len(runs),
                "run_ns": ratio(total, len(runs)),
                "time_share": ratio(total, executed),
            }
        )  # fmt: skip
    return rows
