"""The report of one build against another: the query `comparison`, with its dumps."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from tracehouse.queries.report.alerts import (
    Evidence,
    compare_commands,
    is_refilled_call,
    make_alert,
    order_alerts,
)
from tracehouse.queries.report.breakdowns import PairBreakdowns
from tracehouse.queries.report.comparable import (
    CONTAINERS,
    describe_coverage,
    find_obstacle,
    missing_data,
    note_clocks,
    note_order,
    pair_sensitivity,
    place_of_row,
)
from tracehouse.queries.report.content import (
    BuildPoint,
    Direction,
    Group,
    Member,
    OperatorChange,
    Report,
    RunShift,
)
from tracehouse.queries.report.facts import (
    Environments,
    Family,
    add_expected,
    choose_commits,
    list_notes,
    read_commits,
    read_facts,
)
from tracehouse.queries.report.figures import delta_text
from tracehouse.queries.report.night import find_head, last_day
from tracehouse.queries.report.outline import (
    find_verdict,
    is_unexplained_call,
    sort_groups,
    tally_operators,
)
from tracehouse.queries.report.parts import Row
from tracehouse.queries.report.sentences import pair_sentence
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.verdicts import State
from tracehouse.warehouse.regressions.changes import SeriesVerdict
from tracehouse.warehouse.regressions.judging import compare_builds
from tracehouse.warehouse.statistics.arrays import log_change
from tracehouse.warehouse.statistics.two_samples import LEAST_DUMPS
from tracehouse.warehouse.store import Store

Key = tuple[object, ...]


class Cause(NamedTuple):
    """What rows of an alert have in common: direction, operator type, and why they are muted."""

    direction: Direction
    operator: str
    muted: str | None


_DUMPS = """SELECT device, model, backend, count(*) FILTER (build = $base) AS base,
count(*) FILTER (build = $head) AS head FROM named_dumps
WHERE build IN ($base, $head) GROUP BY ALL ORDER BY ALL"""
_TYPES = """SELECT DISTINCT event_name, delegate_id, kind, op_type FROM named_event_signatures
WHERE op_type IS NOT NULL"""


def compare_report(store: Store, settings: Settings, *, base: str, head: str | None) -> Report:
    """The report of a build, by default the last one, against another.

    Every verdict is final: there is no later night to confirm it.

    Raises:
        ParameterError: The store has no such build, or both are the same.
    """
    head = find_head(store, head, settings)
    chosen = settings.nightly
    least = min([chosen.min_change, *(each.min_change for each in settings.thresholds)])
    compared = compare_builds(store, base=base, head=head, q=chosen.q, min_change=least)
    own = [
        row | {"verdict": _verdict(row, settings)}
        for row in compared.to_pylist()
        if row["level"] in {"operator", *CONTAINERS}
    ]
    relative = {row["device"] for row in own if row["reference"]}
    environments = Environments(store)
    day = last_day(store, head)
    types = _read_types(store)
    found, muted = _list_changes(own, types, settings, day)
    breakdowns = PairBreakdowns(store, own, base=base, head=head)
    described = (
        _describe(key, members, own, settings, environments, breakdowns, base=base, head=head)
        for key, members in found.items()
    )
    groups = order_alerts(group for group in described if not is_refilled_call(store, group))
    sensitivity = pair_sensitivity(own, settings, day)
    facts = read_facts(store, base=base, head=head)
    tally = tally_operators(own)
    counts = Counter(row["verdict"] for row in own) + Counter(muted)
    dumps = store.sql(_DUMPS, {"base": base, "head": head}).to_pylist()
    missing = add_expected(store, missing_data(dumps, base), settings, head)
    order = note_order(store, base=base, head=head)
    notes = [
        *note_clocks(own, base=base),
        *list_notes(missing, facts.reference_drift, relative),
    ]
    obstacle = find_obstacle(store, own, base=base, head=head)
    return Report(
        kind="compare",
        head=head,
        base=[base],
        recorded_on=day,
        commits=choose_commits(read_commits(store), [base, head], groups),
        repo_url=settings.report.repo_url,
        verdict=find_verdict(sort_groups(groups), sensitivity, missing),
        summary=f"{obstacle}." if obstacle else pair_sentence(tally, own),
        tally=list(tally.tally.parts),
        notes=[order, *notes] if order else notes,
        point_notes=[],
        groups=groups,
        run_shifts=_run_shifts(own, chosen.min_change),
        operator_changes=_operator_changes(own, base=base, head=head),
        budgets=[],
        coverage=describe_coverage(dumps, tally, sensitivity, missing, obstacle),
        sensitivity=sensitivity,
        **facts._asdict(),
        verdict_counts=dict(sorted(counts.items())),
        rules={"q": chosen.q, "min_change": chosen.min_change, "least_dumps": LEAST_DUMPS},
    )


def _read_types(store: Store) -> dict[Key, str]:
    """The type of each operator of the store, by event name, delegate id and kind."""
    rows = store.sql(_TYPES).to_pylist()
    return {(row["event_name"], row["delegate_id"], row["kind"]): row["op_type"] for row in rows}


def _list_changes(
    rows: Iterable[Row], types: Mapping[Key, str], settings: Settings, day: date | None
) -> tuple[dict[Cause, list[Row]], dict[str, int]]:
    """Changed rows by cause, and the number of muted rows by reason."""
    found: dict[Cause, list[Row]] = defaultdict(list)
    muted: Counter[str] = Counter()
    for row in _list_causes(rows):
        place = place_of_row(row)
        reason = settings.mute_reason(**place, on=day)
        if reason is not None:
            muted[f"muted: {reason}"] += 1
        key = (row["event_name"], row["delegate_id"], row["kind"])
        operator = types.get(key, row["event_name"])
        found[Cause(row["verdict"], operator, reason)].append(row)
    return found, muted


def _list_causes(rows: Iterable[Row]) -> list[Row]:
    """Changed operators, and changed delegate calls and methods that none of these explains."""
    changed = [row for row in rows if row["verdict"] in ("regression", "improvement")]
    causes = [row for row in changed if row["level"] == "operator" or is_unexplained_call(row)]
    for level in ("delegate", "method"):
        explained = {_method_of(row) for row in causes}
        causes += [
            row for row in changed if row["level"] == level and _method_of(row) not in explained
        ]
    return causes


def _method_of(row: Row) -> tuple[object, ...]:
    """The method of a changed row, and the direction of the change."""
    return *Family.of(row), row["run"], row["verdict"]


def _list_edits(
    rows: Iterable[Row], methods: Collection[tuple[object, ...]], *, base: str, head: str
) -> list[OperatorChange]:
    """The operators that methods gained or lost."""
    return [
        _operator_change(row, base=base, head=head)
        for row in rows
        if row["verdict"] in ("new_op", "removed_op") and (*Family.of(row), row["run"]) in methods
    ]


def _verdict(row: Row, settings: Settings) -> str:
    """The verdict with the smallest relevant change of the series."""
    verdict, low, high = str(row["verdict"]), row["delta_low"], row["delta_high"]
    if verdict not in ("regression", "improvement", "inconclusive") or None in (low, high):
        return verdict
    least = float(log_change(settings.min_change(**place_of_row(row))))
    if verdict != "inconclusive" and abs(math.log1p(row["delta"])) >= least:
        return verdict
    return "unchanged" if max(math.log1p(high), -math.log1p(low)) <= least else "inconclusive"


def _describe(  # noqa: PLR0913 - all that a group is made of
    cause: Cause,
    members: Sequence[Row],
    rows: Sequence[Row],
    settings: Settings,
    environments: Environments,
    breakdowns: PairBreakdowns,
    *,
    base: str,
    head: str,
) -> Group:
    direction, operator, muted = cause
    families = {Family.of(row) for row in members}
    around = [
        environments.changes(
            family, environments.nights(family, base), environments.nights(family, head)
        )
        for family in sorted(families, key=repr)
    ]
    own = {id(row) for row in members}
    explains = [
        row
        for row in rows
        if row["level"] in CONTAINERS
        and row["verdict"] == direction
        and id(row) not in own
        and not is_unexplained_call(row)
        and Family.of(row) in families
    ]
    containers = [*explains, *(row for row in members if row["level"] in CONTAINERS)]
    edited = {(*Family.of(row), row["run"]) for row in containers}
    changed = [_member(row, base=base, head=head) for row in members]
    changed.sort(
        key=lambda member: (-abs(member.cost_ns or 0.0), member.device or "", member.model)
    )
    identity = "\0".join(filter(None, [operator, direction, base, head, muted]))
    first = changed[0]
    commands = compare_commands(first, head, base)
    method_ns = _method_ns(rows, first)
    return make_alert(
        Evidence(
            [operator],
            changed,
            [_member(row, base=base, head=head) for row in explains],
            _list_edits(rows, edited, base=base, head=head),
            breakdowns.of([*members, *explains]),
            around,
            method_ns,
            first.event_name,
            commands,
        ),
        settings,
        id=hashlib.sha256(identity.encode()).hexdigest()[:12],
        state=State.CONFIRMED if muted is None else State.MUTED,
        direction=direction,
        first_bad=head,
        last_good=base,
        dumps_needed=0,
        reason=muted,
        fixed_in=None,
    )


def _method_ns(rows: Iterable[Row], member: Member) -> float | None:
    """The time of a member's method in the base; None if unknown."""
    place = *Family.of(dict(member)), member.run
    here = (row for row in rows if (*Family.of(row), row["run"]) == place)
    return next((row["base_ns"] for row in here if row["level"] == "method"), None)


def _member(row: Row, *, base: str, head: str) -> Member:
    was, now = row["base_values"], row["head_values"]
    is_time = row["base_ns"] is not None
    parts = [
        f"{row['head_count']} dumps against {row['base_count']}",
        f"p = {row['p_adjusted']:.2g} among its model's operators",
        *([f"relative to the reference build {row['reference']}"] if row["reference"] else []),
        *_state_parts(row),
        *([row["note"]] if row["note"] else []),
    ]
    return Member.of(
        row,
        unit="ns" if is_time else "ticks",
        base_values=was,
        head_values=now,
        history=[
            BuildPoint(build=base, dump_count=len(was), median_ns=row["base_ns"]),
            BuildPoint(build=head, dump_count=len(now), median_ns=row["head_ns"]),
        ]
        if is_time
        else [],
        speeds=None
        if row["base_slow"] is None
        else (row["base_slow"], row["base_count"], row["head_slow"], row["head_count"]),
        rule="; ".join(parts),
    )


def _state_parts(row: Row) -> list[str]:
    if row["state_delta"] is None:
        return []
    return [f"without the state of the device, which moved by {delta_text(row['state_delta'])}"]


def _run_shifts(rows: Iterable[Row], least: float) -> list[RunShift]:
    """The shift of each device's state, if removed from the values."""
    return [
        RunShift.of(
            row, shift=row["state_delta"], limit=least, is_notable=abs(row["state_delta"]) >= least
        )
        for row in rows
        if row["level"] == "method" and row["state_delta"] is not None
    ]


def _operator_changes(rows: Iterable[Row], *, base: str, head: str) -> list[OperatorChange]:
    return [
        _operator_change(row, base=base, head=head)
        for row in rows
        if SeriesVerdict(row["verdict"]).detail
    ]


def _operator_change(row: Row, *, base: str, head: str) -> OperatorChange:
    detail = SeriesVerdict(row["verdict"]).detail.format(base=base, head=head)
    return OperatorChange.of(row, change=row["verdict"], cost_ns=_cost(row), detail=detail)


def _cost(row: Row) -> float | None:
    if row["verdict"] == "new_op":
        return row["head_ns"]  # type: ignore[no-any-return]
    if row["verdict"] == "removed_op":
        return None if row["base_ns"] is None else -row["base_ns"]
    return row["cost_ns"]  # type: ignore[no-any-return]
