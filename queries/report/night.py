"""A build judged against earlier ones, with all results for a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from tracehouse.ingest.schemas.attributes import compose
from tracehouse.queries.report.content import Group
from tracehouse.queries.report.facts import Family
from tracehouse.queries.report.findings import Findings, find_in_part, join_findings
from tracehouse.queries.report.outline import OPERATORS
from tracehouse.queries.report.sensitivity import PartNight
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.errors import ParameterError, suggest
from tracehouse.warehouse.queryable import Queryable, Streamable
from tracehouse.warehouse.regressions.changes import (
    ChangeGroup,
    SeriesPlace,
    TypeIn,
    group_changes,
    keep_decided,
)
from tracehouse.warehouse.regressions.fleet import Cells, Fleet
from tracehouse.warehouse.regressions.judging import Judge, judge_here, list_heads
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.parts import (
    ChangedSeries,
    PartResult,
    join_changed,
    keep_changed,
)
from tracehouse.warehouse.regressions.series_values import FAMILY, LEVELS, number_rows
from tracehouse.warehouse.statistics.arrays import Floats

SERIES = ("device", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
_BUILDS = "SELECT build FROM builds_in_order ORDER BY position"
_BRANCHES = "SELECT DISTINCT branch FROM builds WHERE branch IS NOT NULL ORDER BY branch"
_LAST_DAY = """SELECT CAST(last_captured_at AS DATE) AS day
FROM builds_in_order WHERE build = $head"""
_ETRECORDS = "SELECT etrecord_id FROM etrecords LIMIT 1"
_DUMPS = """SELECT device, model, backend, count(*) AS dumps FROM named_dumps
WHERE build = $head GROUP BY device, model, backend"""
_DECISIONS = """SELECT group_id, state, reason FROM group_decisions
WHERE build IS NULL AND ($until IS NULL OR decided_at < $until) ORDER BY decided_at"""


_Group = TypeVar("_Group", ChangeGroup, Group)
_BATCH_ROWS = 10_000


class OptionError(ParameterError):
    """An option of a report command names something that does not exist."""

    def __init__(self, command: str, option: str, problem: str) -> None:
        super().__init__(command, option, problem)
        self.args = (f"{option}: {problem}",)


@dataclass(frozen=True)
class GroupDecision:
    """A user's decision about a group (acknowledged, accepted or reopened), with the reason."""

    state: str
    reason: str


@dataclass(frozen=True)
class HeadNight:
    """A head judged as of its night.

    Attributes:
        head: Id of the build.
        fleet: The series that changed, with their values in the head and in earlier builds.
        cells: Summaries of their cells.
        findings: Findings about all series.
        dumps: Number of the head's dumps, by family.
        groups: The changes in groups, without muted ones unless all of a group are.
        muted: Number of muted changes, by reason.
        mute_reasons: Why a group is muted as a whole, by its id.
        muted_operators: Number of the head's operators in muted changes of groups that have others.
        modules: Module that a changed operator of the head runs, by device, model, backend, run,
            event name, delegate id and ordinal; of those with an ETRecord.
        decisions: The last decision about each group, by id, before a later build arrived.
        until: Arrival of the next build; None if the head is the last.
        day: The day of the head's last recording; None if unknown.
        settings: The team's settings.
        rules: The thresholds.
    """

    head: str
    fleet: Fleet
    cells: Cells
    findings: Findings
    dumps: dict[Family, int]
    groups: list[ChangeGroup]
    muted: dict[str, int]
    mute_reasons: dict[str, str]
    muted_operators: int
    modules: dict[tuple[object, ...], str]
    decisions: dict[str, GroupDecision]
    until: datetime | None
    day: date | None
    settings: Settings
    rules: Rules


def judge_head(
    store: Streamable, head: str | None, settings: Settings, judge: Judge | None = None
) -> HeadNight:
    """Judge a build of a store, by default the last one of the report's branch, as of its night.

    Raises:
        OptionError: The store has no such build, or no builds.
    """
    head = find_head(store, head, settings)
    rules, day = nightly_rules(settings), last_day(store, head)
    counted = store.sql(_DUMPS, {"head": head}).to_pylist()
    dumps = {Family.of(row): int(row["dumps"]) for row in counted}
    view = partial(_view_part, head=head, settings=settings, day=day, dumps=dumps)
    judge = judge or partial(judge_here, store)
    parts = judge(head, partial(min_changes, settings=settings), rules, view)
    changed = join_changed([part for part, _ in parts])
    findings = join_findings([part for _, part in parts], dumps, rules)
    fleet = changed.fleet
    places = list_places(fleet)
    family = [place.family for place in places]
    builds = [night.build for night in fleet.nights]
    type_in = _find_types(store, fleet)
    groups = group_changes(changed.changes, places, builds, type_in)

    def reason_of(series: int) -> str | None:
        keys = fleet.name(series)
        names = {"device": keys["device"], "model": keys["model"], "event": keys["event_name"]}
        return settings.mute_reason(**names, on=day)

    until = store.sql(read_statement("known_until"), {"head": head})["until"][0].as_py()
    decided = store.sql(_DECISIONS, {"until": until}).to_pylist()
    decisions = {row["group_id"]: GroupDecision(row["state"], row["reason"]) for row in decided}
    groups = keep_decided(groups, builds, decisions, type_in)
    unmuted = leave_out_muted(groups, reason_of, family)
    modules = _read_modules(store, head, fleet)
    return HeadNight(
        head=head,
        fleet=fleet,
        cells=changed.cells,
        findings=findings,
        dumps=dumps,
        groups=unmuted.groups,
        muted=unmuted.counts,
        mute_reasons=unmuted.reasons,
        muted_operators=sum(
            Family.of(keys) in dumps and keys["kind"] in OPERATORS
            for keys in map(fleet.name, set(unmuted.left_out))
        ),
        modules=modules,
        decisions=decisions,
        until=until,
        day=day,
        settings=settings,
        rules=rules,
    )


def nightly_rules(settings: Settings) -> Rules:
    """The thresholds of a nightly report."""
    chosen = settings.nightly
    return Rules(base_builds=chosen.base_builds, q=chosen.q, noise_multiple=chosen.noise_multiple)


def _view_part(
    part: PartResult, *, head: str, settings: Settings, day: date | None, dumps: dict[Family, int]
) -> tuple[ChangedSeries, Findings]:
    """The changed series of a part, and the findings about all of its series."""
    night = PartNight(head, *part, settings, nightly_rules(settings), day)
    return keep_changed(part), find_in_part(night, dumps)


def _read_modules(store: Queryable, head: str, fleet: Fleet) -> dict[tuple[object, ...], str]:
    """The module of each changed series that an ETRecord places in one."""
    if not len(fleet.keys) or not len(store.sql(_ETRECORDS)):
        return {}
    named = store.sql(read_statement("modules_of_build"), {"head": head})
    changed = set(zip(*(fleet.keys[name].to_pylist() for name in SERIES), strict=True))
    return {
        key: row["module_path"]
        for batch in named.to_batches(max_chunksize=_BATCH_ROWS)
        for row in batch.to_pylist()
        if (key := tuple(row[name] for name in SERIES)) in changed
    }


def _find_types(store: Queryable, fleet: Fleet) -> TypeIn:
    """The type of each changed series' operator by build: some builds may name it otherwise."""
    former: dict[tuple[object, ...], str] = {}
    if len(fleet.keys):
        for row in store.sql(read_statement("former_types")).to_pylist():
            former[row["build"], *(row[name] for name in SERIES[1:])] = row["op_type"]

    def type_in(series: int, build: str) -> str:
        keys = fleet.name(series) if former else {}
        own = (build, *(keys.get(name) for name in SERIES[1:]))
        return former.get(own, fleet.operators[series])

    return type_in


def list_builds(store: Queryable) -> list[str]:
    """All builds of a store, in order."""
    return [str(build) for build in store.sql(_BUILDS)["build"].to_pylist()]


def find_head(store: Queryable, name: str | None, settings: Settings) -> str:
    """The build of this name; by default the last one of the nightly series.

    Raises:
        OptionError: The store has no such build, or no build of the report's branch.
    """
    if name is not None:
        return find_build(store, name, "--head")
    branch = settings.report.branch
    heads = list_heads(store, branch)
    if not heads and branch is not None:
        known = suggest(branch, store.sql(_BRANCHES)["branch"].to_pylist())
        problem = f"no build in the store is of the branch '{branch}'{known}"
        raise OptionError("report", "--branch", problem)
    if not heads:
        raise OptionError("report", "--head", "the store has no builds yet: ingest dumps first")
    return heads[-1]


def find_build(store: Queryable, name: str, option: str) -> str:
    """The build of this name.

    Raises:
        OptionError: The store has no such build; `option` is named in the error.
    """
    names, name = list_builds(store), compose(name)
    if name not in names:
        problem = f"'{name}' is not in the store{suggest(name, names)}"
        raise OptionError("report", option, problem)
    return name


def last_day(store: Queryable, head: str) -> date | None:
    """The day of the last recording of a build; None if unknown."""
    rows = store.sql(_LAST_DAY, {"head": head}).to_pylist()
    return rows[0]["day"] if rows else None


def find_group(groups: Sequence[_Group], group_id: str, head: str, command: str) -> _Group:
    """The group of this id among those of a report.

    Raises:
        OptionError: The group does not exist.
    """
    for group in groups:
        if group.id == group_id:
            return group
    known = suggest(group_id, sorted(group.id for group in groups))
    raise OptionError(command, "GROUP", f"the report of {head} has no group '{group_id}'{known}")


def list_places(fleet: Fleet) -> list[SeriesPlace]:
    """The place of each series of a fleet."""
    families = number_rows(fleet.keys.select(FAMILY))[0].tolist()
    kinds = fleet.keys["kind"].to_pylist()
    models = fleet.keys["model"].to_pylist()
    return [
        SeriesPlace(family, model, operator, LEVELS.get(kind, 0))
        for family, model, operator, kind in zip(
            families, models, fleet.operators, kinds, strict=True
        )
    ]


def min_changes(keys: pa.Table, settings: Settings) -> Floats:
    """The smallest relevant change of each series by its keys, from the settings."""
    if not settings.thresholds:
        return np.full(len(keys), settings.nightly.min_change)
    names = (keys[name].to_pylist() for name in ("device", "model", "event_name"))
    return np.array(
        [
            settings.min_change(device=device or "", model=model, event=event)
            for device, model, event in zip(*names, strict=True)
        ]
    )


class Unmuted(NamedTuple):
    """Groups without muted changes.

    Attributes:
        groups: The groups; those of which all changes are muted are whole.
        counts: Number of muted changes, by reason.
        reasons: Why a group is muted as a whole, by its id.
        left_out: The series of muted changes of groups that have others.
    """

    groups: list[ChangeGroup]
    counts: dict[str, int]
    reasons: dict[str, str]
    left_out: list[int]


def leave_out_muted(
    groups: Sequence[ChangeGroup], reason_of: Callable[[int], str | None], family: Sequence[object]
) -> Unmuted:
    """The groups without muted changes and what only these explain."""
    kept, muted, whole, left_out = [], Counter[str](), {}, list[int]()
    for group in groups:
        reasons = [reason_of(change.series) for change in group.changes]
        muted.update(filter(None, reasons))
        changes = [c for c, reason in zip(group.changes, reasons, strict=True) if reason is None]
        if not changes:
            whole[group.id] = reasons[0] or ""
            kept.append(group)
            continue
        left_out += {c.series for c in group.changes} - {c.series for c in changes}
        where = {family[change.series] for change in changes}
        explains = [
            change
            for change in group.explains
            if family[change.series] in where and reason_of(change.series) is None
        ]
        kept.append(group._replace(changes=tuple(changes), explains=tuple(explains)))
    return Unmuted(kept, dict(muted), whole, left_out)
