"""The nightly report: changes up to a build, as of its night.

A night is judged once and stored, until its data or settings change. `serve` judges one in a
process of its own, so that the owner of the store goes on with other work.
"""

from __future__ import annotations

import base64
import socket
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from tracehouse.ingest.schemas.attributes import compose
from tracehouse.queries.report.alerts import (
    is_refilled_call,
    list_alerts,
    name_hidden_operators,
    order_alerts,
)
from tracehouse.queries.report.breakdowns import NightBreakdowns, changed_environment
from tracehouse.queries.report.content import Coverage, Group, Missing, Report
from tracehouse.queries.report.exact_alerts import (
    judge_budgets,
    judge_measures,
    list_broken,
    list_exact_alerts,
    without_exact,
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
from tracehouse.queries.report.night import (
    HeadNight,
    OptionError,
    find_group,
    find_head,
    judge_head,
)
from tracehouse.queries.report.outline import find_verdict, sort_groups, tally_night
from tracehouse.queries.report.parts import choose_notes, read_notes
from tracehouse.queries.report.sentences import nightly_sentence
from tracehouse.queries.report.settings import Settings, read_settings
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.children.messages import GONE, send
from tracehouse.warehouse.children.process import disable_core_dumps, lower_priority, tie_to_owner
from tracehouse.warehouse.errors import QueryError, WarehouseError, suggest
from tracehouse.warehouse.queryable import Queryable, Streamable
from tracehouse.warehouse.regressions.judging import Judge
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

_REPORT_VERSION = 8
_STORED = """SELECT report FROM judged_nights
WHERE build = $build AND settings = $settings AND inputs = $inputs"""
_LAST = """SELECT n.build, n.settings, n.inputs, n.judged_at, n.report FROM judged_nights AS n
JOIN builds_in_order AS b ON b.build = n.build
WHERE n.build = $head
    OR $head IS NULL AND b.build_role IS NULL AND ($branch IS NULL OR b.branch = $branch)
ORDER BY b.position DESC, n.judged_at DESC LIMIT 1"""


def nightly_report(
    store: Streamable, settings: Settings, *, head: str | None = None, judge: Judge | None = None
) -> Report:
    """The report of a build, by default of the last one; later builds do not count.

    Raises:
        OptionError: The store has no such build, or no builds.
    """
    night = judge_head(store, head, settings, judge)
    commits = read_commits(store)
    exact = judge_measures(store, night)
    night = replace(
        without_exact(night, exact.history), mute_reasons=night.mute_reasons | exact.mute_reasons
    )
    environments = Environments(store)
    around = partial(changed_environment, environments)
    groups = order_alerts(
        [
            *(
                name_hidden_operators(store, group, settings.nightly.min_change)
                for group in list_alerts(night, commits, around, NightBreakdowns(store, night).of)
                if not is_refilled_call(store, group)
            ),
            *list_exact_alerts(night, exact, commits, environments),
        ]
    )
    parts, found = sort_groups(groups), night.findings
    opened = [*parts.failures, *parts.environment, *parts.suspects, *parts.small]
    builds = [each.build for each in night.fleet.nights]
    bad = {group.first_bad for group in opened}
    base = found.base(builds, night.rules.base_builds, bad)
    facts = read_facts(store, base=base[0] if base else None, head=night.head, until=night.until)
    muted = Counter(night.muted) + Counter(exact.muted)
    counts = {**found.verdict_counts, **{f"muted: {k}": n for k, n in muted.items()}}
    sensitivity, shifts = found.sensitivity, found.run_shifts
    missing = add_expected(store, found.missing, settings, night.head)
    coverage = _coverage(night, missing)
    budgets, unfit = judge_budgets(night, exact.history)
    verdict = find_verdict(parts, sensitivity, missing, budgets)
    report = Report(
        kind="nightly",
        head=night.head,
        base=base,
        recorded_on=night.day,
        commits=choose_commits(commits, [night.head, *base], groups),
        repo_url=settings.report.repo_url,
        verdict=verdict,
        summary="",
        tally=tally_night(found.verdict_counts, groups, night.head, muted=night.muted_operators),
        notes=[
            *list_broken(budgets),
            *unfit,
            *list_notes(missing, facts.reference_drift, found.relative_devices),
        ],
        point_notes=[],
        groups=groups,
        run_shifts=shifts,
        operator_changes=found.operator_changes,
        budgets=budgets,
        coverage=coverage,
        sensitivity=sensitivity,
        **facts._asdict(),
        verdict_counts=dict(sorted(counts.items())),
        rules={**night.rules._asdict(), "min_change": settings.nightly.min_change},
    )
    return report.model_copy(update={"summary": nightly_sentence(report)})


def _coverage(night: HeadNight, missing: list[Missing]) -> Coverage:
    """The recordings of the head, and missing ones."""
    found = night.findings
    return Coverage(
        device_count=len({family.device for family in found.families}),
        model_count=len({(family.model, family.backend) for family in found.families}),
        dump_count=sum(night.dumps.values()),
        series_count=found.series_count,
        judged_count=sum(row.judged_count for row in found.sensitivity),
        missing=missing,
        too_few=[
            f"{Family.of(dict(row))}: {row.missing}"
            for row in found.sensitivity
            if row.missing is not None and not row.is_muted
        ],
    )


class NightKey(NamedTuple):
    """Everything that a nightly report depends on.

    Attributes:
        build: Id of the judged build.
        settings: Hash of the team's settings and of the rules.
        inputs: Hash of the data.
    """

    build: str
    settings: str
    inputs: str

    @classmethod
    def of(cls, store: Queryable, settings: Settings, head: str | None) -> NightKey:
        """The key of the report of a build, by default the last, from a store's current content.

        Raises:
            OptionError: The store has no such build, or no builds.
        """
        build = find_head(store, head, settings)
        until = store.sql(read_statement("known_until"), {"head": build})["until"][0].as_py()
        rows = store.sql(read_statement("night_inputs"), {"head": build, "until": until})
        numbers = settings.model_dump(exclude={"report": {"branch"}})  # the key has the build
        rules = f"{version('tracehouse')} {_REPORT_VERSION} {numbers}"
        return cls(build, _hash(rules), _hash(str(rows.to_pylist())))


class Night(NamedTuple):
    """A nightly report, and whether the store has it already."""

    key: NightKey
    report: Report
    is_stored: bool

    def packed(self) -> JudgedNight:
        """The night as the store keeps it."""
        return pack_night(self.key, self.report)


class LastNight(NamedTuple):
    """The newest stored night."""

    key: NightKey
    report: Report
    judged_at: datetime


def read_night(store: Streamable, settings: Settings, head: str | None) -> Night:
    """The report of a build, by default the last, from the store or made now.

    Raises:
        OptionError: The store has no such build, or no builds.
    """
    key = NightKey.of(store, settings, head)
    if found := find_report(store, key):
        return Night(key, found, is_stored=True)
    made = nightly_report(store, settings, head=key.build)
    return Night(key, with_notes(made, store), is_stored=False)


def find_report(store: Queryable, key: NightKey) -> Report | None:
    """The stored report of a night; None if the store has none."""
    found = store.sql(_STORED, key._asdict())["report"].to_pylist()
    return with_notes(unpack_report(found[0]), store) if found else None


def last_night(store: Queryable, settings: Settings, head: str | None = None) -> LastNight | None:
    """The night of a build, by default the newest judged one of the report's branch.

    Its data may have changed since. None if there is none, or another version judged it.
    """
    found = store.sql(
        _LAST, {"branch": settings.report.branch, "head": head and compose(head)}
    ).to_pylist()
    if not found:
        return None
    key = NightKey(*(found[0][name] for name in NightKey._fields))
    try:
        report = with_notes(unpack_report(found[0]["report"]), store)
        return LastNight(key, report, found[0]["judged_at"])
    except ValidationError:
        return None


def key_of(night: JudgedNight) -> NightKey:
    """The key of a night as the store keeps it."""
    return NightKey(night.build, night.settings, night.inputs)


def pack_night(key: NightKey, report: Report) -> JudgedNight:
    """A report as the store keeps it: without notes, which change afterwards."""
    bare = report.model_copy(update={"point_notes": []})
    packed = zlib.compress(bare.model_dump_json().encode())
    return JudgedNight(*key, report.verdict, report.summary, packed)


def with_notes(report: Report, store: Queryable) -> Report:
    """The report with the notes on points of its groups' series."""
    notes = read_notes(store)
    if not notes:
        return report
    series = [vars(one) for group in report.groups for one in (*group.members, *group.explains)]
    return report.model_copy(update={"point_notes": choose_notes(notes, series)})


@lru_cache(maxsize=2)  # pages ask for it again and again
def unpack_report(packed: bytes) -> Report:
    """The report of a stored night."""
    return Report.model_validate_json(zlib.decompress(packed))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class GroupFilter(NamedTuple):
    """A filter of groups; every given part must match.

    Attributes:
        model: Globs of models, of which the group has an operator.
        device: Globs of devices, of which the group has an operator.
        since: Build in or after which the group began.
    """

    model: Sequence[str] = ()
    device: Sequence[str] = ()
    since: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether any part is given."""
        return bool(self.model or self.device or self.since)


def choose_groups(
    report: Report,
    builds: Sequence[str],
    ids: Sequence[str],
    filter_: GroupFilter,
    decided: Collection[str] = (),
) -> list[str]:
    """Ids of the named groups, or of all regressions of a report that pass a filter.

    Groups of `decided` have an earlier decision, and may be too old for the report.

    Raises:
        OptionError: A group or build does not exist, or no group passes the filter.
    """
    for group_id in filter(lambda each: each not in decided, ids):
        find_group(report.groups, group_id, report.head, "accept")
    if not filter_.is_given:
        return list(dict.fromkeys(ids))
    since = filter_.since and compose(filter_.since)
    if since is not None and since not in builds:
        problem = (
            f"the report of {report.head} does not know the build '{since}'{suggest(since, builds)}"
        )
        raise OptionError("accept", "--since", problem)
    later = builds if since is None else builds[builds.index(since) :]
    left = [
        group.id
        for group in report.groups
        if group.direction == "regression"
        and (not ids or group.id in ids)
        and group.first_bad in later
        and _fits(group, "model", filter_.model)
        and _fits(group, "device", filter_.device)
    ]
    if not left:
        raise OptionError("accept", "GROUP", f"the report of {report.head} has no such regression")
    return left


def _fits(group: Group, name: str, globs: Collection[str]) -> bool:
    names = {getattr(member, name) or "" for member in group.members}
    spelt = list(map(compose, globs))
    return not globs or any(fnmatchcase(each, glob) for each in names for glob in spelt)


def serve(channel: int, store: str, config: str, build: str) -> None:
    """Judge a build's night in the newest snapshot of a store that another process writes.

    The message is a JudgedNight, or has a `problem`.
    """
    tie_to_owner()
    disable_core_dumps()
    lower_priority()
    with socket.socket(fileno=channel) as owner, suppress(*GONE):
        try:
            send(owner, _judge(Path(store), Path(config) if config else None, build))
        except (QueryError, WarehouseError, MemoryError) as error:
            send(owner, {"problem": str(error) or "not enough memory"})


def _judge(store: Path, config: Path | None, build: str) -> dict[str, str]:
    settings = read_settings(config)
    with Store.open(store, read_only=True) as warehouse:
        key = NightKey.of(warehouse, settings, build)
        night = pack_night(key, nightly_report(warehouse, settings, head=build))
    return {**night._asdict(), "report": base64.b64encode(night.report).decode()}
