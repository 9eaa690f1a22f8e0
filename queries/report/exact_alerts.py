"""Changed measures without noise as alerts, confirmed immediately; and broken budgets of a team."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import NamedTuple

from tracehouse.queries.report.alerts import (
    Evidence,
    bisect_commands,
    explain_command,
    find_state,
    is_reported,
    night_alert,
)
from tracehouse.queries.report.content import BuildPoint, EnvironmentChange, Group, Member
from tracehouse.queries.report.facts import Environments, Family, measure_name
from tracehouse.queries.report.figures import measure_text
from tracehouse.queries.report.night import HeadNight, leave_out_muted
from tracehouse.queries.report.parts import Budget
from tracehouse.queries.report.sensitivity import Measurement
from tracehouse.queries.report.settings import BudgetLimit, Settings
from tracehouse.warehouse.catalogue.queries import expand_statement
from tracehouse.warehouse.queryable import Queryable
from tracehouse.warehouse.regressions.changes import ChangeGroup, LevelChange
from tracehouse.warehouse.regressions.exact_changes import MEMORY, ExactHistory, judge_exact
from tracehouse.warehouse.statistics.arrays import reaches

# Fields of a member that apply only to noise, time and operators.
_NO_NOISE = (
    *("pool", "delegate_id", "module_path", "delta_low", "delta_high"),
    *("p_adjusted", "base_ns", "head_ns", "cost_ns"),
)
_UNITS = {"delegated_share": "share"} | dict.fromkeys(
    ("operator_count", "operator_calls", "delegate_call_count", "delegate_calls"), "count"
)
_MOST_LISTED = 5


class ExactNight(NamedTuple):
    """Measures without noise as of a night."""

    history: ExactHistory
    groups: list[ChangeGroup]
    muted: dict[str, int]
    mute_reasons: dict[str, str]


def judge_measures(store: Queryable, night: HeadNight) -> ExactNight:
    """The measures without noise of a head and of earlier builds."""
    rows = store.sql(expand_statement("exact_values"), {"head": night.head})
    history = judge_exact(rows, night.head, night.rules.base_builds)

    def reason_of(number: int) -> str | None:
        names = {key: getattr(history.series[number], key) for key in ("device", "model")}
        event = history.series[number].measure
        return night.settings.mute_reason(**names, event=event, on=night.day)

    families = [each.family for each in history.series]
    return ExactNight(history, *leave_out_muted(history.groups, reason_of, families)[:3])


def without_exact(night: HeadNight, exact: ExactHistory) -> HeadNight:
    """A night without the changes of counters that are also exact measures."""
    changed = {(*each.family, each.measure) for each in map(exact.of, exact.changes)}

    def is_reported(change: LevelChange) -> bool:
        keys = night.fleet.name(change.series)
        names = "device", "model", "backend", "event_name"
        return keys["kind"] == "counter" and tuple(keys[name] for name in names) in changed

    groups = []
    for group in night.groups:
        changes = tuple(change for change in group.changes if not is_reported(change))
        groups += [group._replace(changes=changes)] if changes else []
    return replace(night, groups=groups)


def list_exact_alerts(
    night: HeadNight,
    exact: ExactNight,
    commits: Mapping[str, str | None],
    environments: Environments,
) -> list[Group]:
    """The alerts about measures without noise.

    That a program has other operators is told once, in its first build.
    """
    history = exact.history
    lately, last = len(history.builds) - night.rules.base_builds, len(history.builds) - 1
    return [
        _describe(night, history, group, commits, environments)
        for group in exact.groups
        if is_reported(group, find_state(night, group), lately)
        if group.first_bad == last or not _is_structure(group.operators)
    ]


def _is_structure(measures: Iterable[str]) -> bool:
    """Whether measures say what a program consists of; its time says what that costs."""
    return all(measure in _UNITS for measure in measures)


def exact_unit(measure: str) -> str:
    """The unit of a measure without noise."""
    return _UNITS.get(measure, "bytes")


def _describe(
    night: HeadNight,
    history: ExactHistory,
    group: ChangeGroup,
    commits: Mapping[str, str | None],
    environments: Environments,
) -> Group:
    builds = history.builds
    still = [change for change in group.changes if change.fixed is None] or group.changes
    measured = [(history.of(change).measure, _member(history, change)) for change in still]
    measured.sort(key=lambda pair: (group.operators.index(pair[0]), *_rank(pair[1])))
    members, measures = [member for _, member in measured], [name for name, _ in measured]
    around = [_environment(history, change, environments) for change in still]
    names = list(dict.fromkeys(measures))
    bad, good, first = builds[group.first_bad], builds[group.last_good], members[0]
    where = f" --device {quote(first.device or '')} --model {quote(first.model)}"
    commands = [
        explain_command(night.head, group.id),
        f"tracehouse query exact_changes --base {quote(good)} --head {quote(bad)}{where}",
        *bisect_commands(night.head, group.id, commits.get(bad), commits.get(good)),
    ]
    evidence = Evidence(names, members, [], [], [], around, None, measures[0], commands)
    alert = night_alert(night, group, builds, evidence)
    is_small = all(
        _is_structure([name]) or _is_small(member, name, night.settings)
        for name, member in measured
    )
    return alert.model_copy(update={"is_small": is_small})


def _is_small(member: Member, measure: str, settings: Settings) -> bool:
    """Whether a number of bytes changed by less than the smallest change that counts."""
    least = settings.min_change(device=member.device or "", model=member.model, event=measure)
    return member.unit == "bytes" and member.delta is not None and abs(member.delta) < least


def _rank(member: Member) -> tuple[object, ...]:
    """Sort key: the largest movement first."""
    moved = float("inf") if member.delta is None else abs(member.delta)
    names = (member.device, member.model, member.backend, member.event_name)
    return -moved, tuple(name or "" for name in names)


def _member(history: ExactHistory, change: LevelChange) -> Member:
    series = history.of(change)
    was, now = series.value(change.last_good), series.value(change.first_bad)
    counts = {point.build: point.dump_count for point in series.points}
    return Member.of(
        series._asdict(),
        run=series.run_name or "",
        event_name=measure_name(series.measure, series.run_name, series.allocator),
        ordinal=0,
        kind="exact",
        unit=exact_unit(series.measure),
        delta=now / was - 1 if was else None,
        **dict.fromkeys(_NO_NOISE),
        base_values=[was],
        head_values=[now],
        history=[
            BuildPoint(
                build=history.builds[point.build],
                dump_count=point.dump_count,
                median_ns=None,
                median=point.low if point.low == point.high else None,
            )
            for point in series.points
        ],
        rule=f"without noise: any difference counts; the same in all dumps of either build "
        f"({counts[change.first_bad]} and {counts[change.last_good]})",
    )


def _environment(
    history: ExactHistory, change: LevelChange, environments: Environments
) -> list[EnvironmentChange]:
    family = Family(*history.of(change).family)
    base, head = (
        environments.nights(family, history.builds[build])
        for build in (change.last_good, change.first_bad)
    )
    return environments.changes(family, base, head)


def judge_budgets(night: HeadNight, exact: ExactHistory) -> tuple[list[Budget], list[str]]:
    """The results of budgets for a head, broken ones first; and notes on unused budgets."""
    limits = night.settings.budgets
    if not limits:
        return [], []
    measured = [*night.findings.measured, *_exact_measures(exact)]
    judged: list[Budget] = []
    warnings = []
    for limit in limits:
        named = [each for each in measured if _fits(limit, each)]
        fitting = [each for each in named if limit.unit in (None, each.unit)]
        judged += [_judge(limit, each) for each in fitting]
        if not fitting:
            warnings.append(_warning(limit, named, measured))
    judged.sort(key=lambda row: not row.is_broken)
    return judged, warnings


def list_broken(budgets: Sequence[Budget]) -> list[str]:
    """The first broken budgets, one per line, and the number of others."""
    broken = [_text(budget) for budget in budgets if budget.is_broken]
    more = [f"over budget: {len(broken) - _MOST_LISTED:,} more"] * (len(broken) > _MOST_LISTED)
    return [*(f"over budget: {text}" for text in broken[:_MOST_LISTED]), *more]


def _text(budget: Budget) -> str:
    value, limit = (measure_text(x, budget.unit) for x in (budget.value, budget.limit))
    return f"{budget.measure} {value} on {budget.where}, {budget.bound} {limit}"


def _fits(limit: BudgetLimit, measured: Measurement) -> bool:
    return limit.measure == measured.measure and limit.fits(**measured.family._asdict())


def _judge(limit: BudgetLimit, measured: Measurement) -> Budget:
    bound, amount = limit.bound
    value = measured.high if bound == "at most" else measured.low
    return Budget(
        **measured.family._asdict(),
        measure=measured.name,
        unit=measured.unit,
        value=value,
        limit=amount.value,
        bound=bound,
        is_broken=not (
            reaches(amount.value, value) if bound == "at most" else reaches(value, amount.value)
        ),
    )


def _warning(
    limit: BudgetLimit, named: Sequence[Measurement], measured: Sequence[Measurement]
) -> str:
    what = f"the budget of {limit.measure} (device {limit.device}, model {limit.model})"
    if named:
        return f"{what} is in {limit.unit}, its values are in {named[0].unit}: it is not judged"
    known = ", ".join(sorted({each.measure for each in measured})) or "nothing"
    return f"{what} matches nothing in the head, which has {known}"


def _exact_measures(exact: ExactHistory) -> Iterator[Measurement]:
    """Measures without noise of the head; memory is that of all allocators together."""
    head = len(exact.builds) - 1
    memory: dict[tuple[Family, str | None], list[tuple[float, float]]] = defaultdict(list)
    for series in exact.series:
        family = Family(*series.family)
        for point in series.points:
            if point.build != head:
                continue
            if series.measure == MEMORY:
                memory[family, series.run_name].append((point.low, point.high))
            elif series.run_name is not None:
                yield Measurement(
                    family,
                    series.measure,
                    measure_name(series.measure, series.run_name, None),
                    exact_unit(series.measure),
                    point.low,
                    point.high,
                )
    for (family, run_name), ends in memory.items():
        low, high = (sum(side) for side in zip(*ends, strict=True))
        name = measure_name(MEMORY, run_name, None)
        yield Measurement(family, MEMORY, name, "bytes", low, high)
