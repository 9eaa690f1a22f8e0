"""The report of one build against another: the query `comparison`, with the dumps it rests on."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from ingest.signatures import operator_type
from queries.report.alerts import compare_commands, make_headline
from queries.report.content import (
    BuildPoint,
    Coverage,
    Direction,
    Group,
    Member,
    Missing,
    OperatorChange,
    Report,
    Sensitivity,
)
from queries.report.environment import Environments, Family, may_explain
from queries.report.facts import read_facts
from queries.report.figures import count_text, operator_text
from queries.report.night import SERIES, last_day
from queries.report.outline import find_verdict, sort_groups
from queries.report.sensitivity import SeriesLimits, describe_sensitivity
from queries.report.settings import Settings
from queries.report.sight import Sight
from warehouse.store import Warehouse

Row = Mapping[str, Any]
Key = tuple[object, ...]

_OPERATOR = ("event_name", "delegate_id", "ordinal", "run")
_FAMILY = ("device", "model", "backend")
_CONTAINERS = ("method", "delegate")
_FEWEST_DUMPS = 8
_NOT_JUDGED = {"new_op", "removed_op", "needs_more_dumps", "below_resolution"}
_DUMPS = """SELECT device, model, backend, count(*) FILTER (build = $base) AS base,
count(*) FILTER (build = $head) AS head FROM named_dumps
WHERE build IN ($base, $head) GROUP BY ALL ORDER BY ALL"""


def compare_report(store: Warehouse, settings: Settings, *, base: str, head: str) -> Report:
    """The report of a build against another.

    Every verdict is final: no other night will confirm it. It is one of the code only if the builds
    were recorded interleaved.

    Raises:
        ParameterError: The store has no such build, or both are the same.
    """
    chosen = settings.nightly
    least = min([chosen.min_change, *(each.min_change for each in settings.thresholds)])
    found_rows = store.query("comparison", base=base, head=head, q=chosen.q, min_change=least)
    own = [
        row | {"verdict": _verdict(row, settings)}
        for row in found_rows.to_pylist()
        if row["level"] in {"operator", *_CONTAINERS}
    ]
    values, environments = _read_values(store, base, head), Environments(store)
    found, muted = _list_changes(own, settings, last_day(store, head))
    groups = [
        _describe(key, members, own, values, settings, environments, base=base, head=head)
        for key, members in sorted(found.items())
    ]
    groups.sort(
        key=lambda group: (
            group.direction == "improvement",
            -abs(group.headline.cost_ns or 0.0),
            group.id,
        )
    )
    sensitivity = _sensitivity(own, settings, last_day(store, head))
    facts = read_facts(store, base=base, head=head)
    counts = Counter(row["verdict"] for row in own) + Counter(muted)
    dumps = store.sql(_DUMPS, {"base": base, "head": head}).to_pylist()
    parts, seen = sort_groups(groups), Sight.of(sensitivity)
    blind = f", blind on {seen.share(seen.blind)}, {seen.limits}" if seen.blind else ""
    return Report(
        kind="compare",
        head=head,
        base=[base],
        verdict=find_verdict(parts, sensitivity),
        summary=f"{head} against {base}: {_count_operators(groups)}, series: {len(own):,}{blind}",
        groups=groups,
        run_shifts=[],
        operator_changes=_operator_changes(own, base=base, head=head),
        exact_changes=facts.exact_changes,
        framework_tax=facts.framework_tax,
        coverage=_coverage(dumps, own, base, sensitivity),
        sensitivity=sensitivity,
        quality=facts.quality,
        refused=facts.refused,
        verdict_counts=dict(sorted(counts.items())),
        rules={"q": chosen.q, "min_change": chosen.min_change, "least_dumps": _FEWEST_DUMPS},
    )


def _count_operators(groups: Sequence[Group]) -> str:
    """How many operators got slower and faster: the unit of `tracehouse compare`."""
    counts: Counter[str] = Counter()
    for group in groups:
        counts[group.direction] += len(group.members)
    return f"operators slower: {counts['regression']}, faster: {counts['improvement']}"


def _list_changes(
    rows: Iterable[Row], settings: Settings, day: date | None
) -> tuple[dict[tuple[Direction, str], list[Row]], dict[str, int]]:
    """Rows that changed by direction and operator type, and how many are muted by reason."""
    found: dict[tuple[Direction, str], list[Row]] = defaultdict(list)
    muted: Counter[str] = Counter()
    for row in rows:
        if row["verdict"] not in ("regression", "improvement") or row["level"] in _CONTAINERS:
            continue
        place = _place(row)
        mute = settings.mute(**place, on=day)
        if mute is not None:
            muted[f"muted: {mute.reason}"] += 1
        else:
            operator = operator_type(row["event_name"], row["delegate_id"], row["kind"])
            found[row["verdict"], operator].append(row)
    return found, muted


def _verdict(row: Row, settings: Settings) -> str:
    """The verdict where the smallest change that counts is that of the series."""
    verdict, low, high = str(row["verdict"]), row["delta_low"], row["delta_high"]
    if verdict not in ("regression", "improvement", "inconclusive") or None in (low, high):
        return verdict
    least = math.log1p(settings.min_change(**_place(row)))
    if verdict != "inconclusive" and abs(math.log1p(row["delta"])) >= least:
        return verdict
    return "unchanged" if max(math.log1p(high), -math.log1p(low)) <= least else "inconclusive"


def _place(row: Row) -> dict[str, str]:
    return {"device": row["device"], "model": row["model"], "event": row["event_name"]}


def _read_values(store: Warehouse, base: str, head: str) -> dict[Key, dict[str, list[float]]]:
    """Values of the dumps of each series, by build."""
    values: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in store.query("dump_values", build=[base, head]).to_pylist():
        values[tuple(row[name] for name in SERIES)][row["build"]].append(row["value"])
    return values


def _describe(  # noqa: PLR0913 - all that a group is made of
    key: tuple[Direction, str],
    members: Sequence[Row],
    rows: Sequence[Row],
    values: Mapping[Key, Mapping[str, list[float]]],
    settings: Settings,
    environments: Environments,
    *,
    base: str,
    head: str,
) -> Group:
    direction, operator = key
    families = {Family(*(row[name] for name in _FAMILY)) for row in members}
    around = {
        family: environments.changes(
            family, environments.nights(family, base), environments.nights(family, head)
        )
        for family in sorted(families, key=str)
    }
    explains = [
        _member(row, values, base=base, head=head)
        for row in rows
        if row["level"] in _CONTAINERS
        and row["verdict"] == direction
        and Family(*(row[name] for name in _FAMILY)) in families
    ]
    told = [_member(row, values, base=base, head=head) for row in members]
    told.sort(key=lambda member: (-abs(member.cost_ns or 0.0), member.device or "", member.model))
    identity = "\0".join([operator, direction, base, head])
    first = told[0]
    return Group(
        id=hashlib.sha256(identity.encode()).hexdigest()[:12],
        state="confirmed",
        direction=direction,
        first_bad=head,
        last_good=base,
        headline=make_headline(operator, told, explains),
        members=told,
        explains=explains,
        dumps_needed=0,
        reason=None,
        owner=settings.owner(device=first.device or "", model=first.model, event=first.event_name),
        fixed_in=None,
        environment=[change for changes in around.values() for change in changes],
        is_of_environment=all(any(map(may_explain, changes)) for changes in around.values()),
        commands=compare_commands(first, head, base),
    )


def _member(
    row: Row, values: Mapping[Key, Mapping[str, list[float]]], *, base: str, head: str
) -> Member:
    by_build = values.get(tuple(row[name] for name in SERIES), {})
    was, now = by_build.get(base, []), by_build.get(head, [])
    names = (*SERIES, "pool", "kind", "module_path", "delta", "delta_low", "delta_high")
    is_time = row["base_ns"] is not None
    parts = [
        f"{row['head_count']} dumps against {row['base_count']}",
        f"p = {row['p_adjusted']:.2g} among its model's operators",
        *([row["note"]] if row["note"] else []),
    ]
    return Member(
        **{name: row[name] for name in names},
        p_adjusted=row["p_adjusted"],
        base_ns=row["base_ns"],
        head_ns=row["head_ns"],
        cost_ns=row["cost_ns"],
        base_values=sorted(was),  # stores and lakes number dumps differently
        head_values=sorted(now),
        history=[
            BuildPoint(build=base, dump_count=len(was), median_ns=row["base_ns"]),
            BuildPoint(build=head, dump_count=len(now), median_ns=row["head_ns"]),
        ]
        if is_time
        else [],
        rule="; ".join(parts),
    )


def _operator_changes(rows: Iterable[Row], *, base: str, head: str) -> list[OperatorChange]:
    details = {
        "new_op": f"{base} has it not",
        "removed_op": f"{head} has it not",
        "moved": "its time went elsewhere, the whole is as it was",
        "mode_mix": "another share of the processes ran it slowly",
    }
    return [
        OperatorChange(
            change=row["verdict"],
            **{name: row[name] for name in SERIES},
            cost_ns=_cost(row),
            detail=details[row["verdict"]],
        )
        for row in rows
        if row["verdict"] in details
    ]


def _cost(row: Row) -> float | None:
    if row["verdict"] == "new_op":
        return row["head_ns"]  # type: ignore[no-any-return]
    if row["verdict"] == "removed_op":
        return None if row["base_ns"] is None else -row["base_ns"]
    return row["cost_ns"]  # type: ignore[no-any-return]


def _sensitivity(rows: Sequence[Row], settings: Settings, day: date | None) -> list[Sensitivity]:
    """How small a change the two builds would have shown, by model; what is muted is left out."""
    families: dict[Family, list[Row]] = defaultdict(list)
    for row in rows:
        if row["head_count"] and settings.mute(**_place(row), on=day) is None:
            families[Family(*(row[name] for name in _FAMILY))].append(row)
    return [
        describe_sensitivity(
            family,
            SeriesLimits(
                [operator_text(*(row[name] for name in _OPERATOR)) for row in own],
                np.array([_smallest_change(row, settings) for row in own]),
                np.array([row["head_ns"] or 1.0 for row in own]),
                np.zeros(len(own), bool),
                np.array([row["level"] in _CONTAINERS for row in own]),
            ),
            _missing(own),
        )
        for family, own in families.items()
    ]


def _smallest_change(row: Row, settings: Settings) -> float:
    """The smallest change of a series that would have been told; infinite if it was not judged."""
    shown = row["minimum_detectable"]
    if row["verdict"] in _NOT_JUDGED or shown is None:
        return math.inf
    return max(settings.min_change(**_place(row)), float(shown))


def _missing(rows: Sequence[Row]) -> str:
    """What it takes to judge a model."""
    needed = max((row["dumps_needed"] or 0 for row in rows), default=0)
    counts = (min(row["base_count"], row["head_count"]) for row in rows)
    there = max(counts, default=0)
    return f"{count_text(there, 'dump')} of each build, {there + needed:,} wanted"


def _coverage(
    dumps: Sequence[Row], rows: Sequence[Row], base: str, sensitivity: Sequence[Sensitivity]
) -> Coverage:
    there = [row for row in dumps if row["head"]]
    return Coverage(
        device_count=len({row["device"] for row in there}),
        model_count=len({(row["model"], row["backend"]) for row in there}),
        dump_count=sum(row["head"] for row in there),
        series_count=sum(bool(row["head_count"]) for row in rows),
        judged_count=sum(row.judged_count for row in sensitivity),
        missing=[
            Missing(
                device=row["device"], model=row["model"], backend=row["backend"], last_build=base
            )
            for row in dumps
            if not row["head"]
        ],
        too_few=[
            f"{' '.join(filter(None, (row['device'], row['model'], row['backend'])))}: "
            f"{row['head']} dumps, {_FEWEST_DUMPS} wanted"
            for row in there
            if row["base"] and row["head"] < _FEWEST_DUMPS
        ],
    )
