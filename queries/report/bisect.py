"""A step of `git bisect run`: whether a build has the change of a group."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.queries.report.exact_alerts import judge_measures
from tracehouse.queries.report.night import (
    HeadNight,
    find_build,
    find_group,
    judge_head,
    min_changes,
)
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.queries import expand_statement
from tracehouse.warehouse.regressions.changes import ChangeGroup, LevelChange, compare_builds
from tracehouse.warehouse.regressions.exact_changes import ExactHistory, judge_exact
from tracehouse.warehouse.regressions.parts import judge_part
from tracehouse.warehouse.statistics.arrays import Ints
from tracehouse.warehouse.store import Store

_HALF = 0.5  # share of the change: dumps that are surely on one side of it are good or bad
_BUILD_OF_COMMIT = """
SELECT b.name FROM builds AS b JOIN builds_in_order AS o ON o.build = b.name
WHERE starts_with($commit, b.commit) AND length(b.commit) >= 7 ORDER BY o.position DESC LIMIT 1
"""
_VALUES_OF_MODELS = (
    f"SELECT * FROM ({expand_statement('fleet_values')}) AS v "  # noqa: S608
    "WHERE list_contains($models, v.model)"
)


class BisectStep(NamedTuple):
    """The verdict of a build's dumps on a group, with the reason."""

    answer: Literal["good", "bad", "skip"]
    reason: str


def find_commit(store: Store, commit: str) -> str | None:
    """The last build of a source revision, which builds may abbreviate; None without one."""
    rows = store.sql(_BUILD_OF_COMMIT, {"commit": commit})
    return rows["name"][0].as_py() if len(rows) else None


def judge_step(
    store: Store, group_id: str, *, build: str, head: str | None, settings: Settings
) -> BisectStep:
    """Compare a build's dumps with the good base of a group, series by series.

    A measure without noise is bad if all dumps of the build are nearer to its new value. Another
    series is bad if its dumps are surely nearer to the new level than to the old (the 99 %
    interval of their shift lies beyond half of the change), and good if they are surely not. The
    majority of the bad and good series decides.

    Args:
        store: The store.
        group_id: The group, as the report of `head` names it.
        build: The build to judge; in or out of the lineage of `head`.
        head: Build of the report; by default the last one.
        settings: Settings of the report.

    Raises:
        OptionError: The group or build does not exist.
    """
    find_build(store, build, "--build")
    night = judge_head(store, head, settings)
    exact = judge_measures(store, night)
    for group in exact.groups:
        if group.id == group_id:
            return _decide(build, group, _judge_exact(store, exact.history, group, build))
    group = find_group(night.groups, group_id, night.head, "bisect-step")
    changes = list(group.changes)
    recorded = np.array([each.build == build for each in night.fleet.nights])
    if not recorded.any():
        night, changes = _add_build(store, night, changes, build)
        recorded = np.array([each.build == build for each in night.fleet.nights])
    answers = [_judge_series(night, change, np.flatnonzero(recorded)) for change in changes]
    return _decide(build, group, [answer for answer in answers if answer is not None])


def _judge_exact(store: Store, history: ExactHistory, group: ChangeGroup, build: str) -> list[str]:
    """The verdict of each measure without noise: bad if nearer to the new value."""
    own = history
    if build not in history.builds:
        rows = store.sql(expand_statement("exact_values"), {"head": build})
        own = judge_exact(rows.filter(pc.equal(rows["build"], build)), build, 1)
    number = own.builds.index(build)
    values = {
        each.key: point for each in own.series for point in each.points if point.build == number
    }
    answers = []
    for change in group.changes:
        series = history.of(change)
        point = values.get(series.key)
        if point is None:
            continue
        was, now = series.value(change.last_good), series.value(change.first_bad)
        shares = sorted((value - was) / (now - was) for value in (point.low, point.high))
        answers.append("bad" if shares[0] > _HALF else "good" if shares[1] < _HALF else "unsure")
    return answers


def _add_build(
    store: Store, night: HeadNight, changes: list[LevelChange], build: str
) -> tuple[HeadNight, list[LevelChange]]:
    """A night of the models of changes and a build outside its lineage; and the changes there."""
    keys = night.fleet.keys.take(pa.array([change.series for change in changes]))
    models = keys["model"].unique().to_pylist()
    rows, others = (
        store.sql(_VALUES_OF_MODELS, {"head": head, "models": models})
        for head in (night.head, build)
    )
    own = others.filter(pc.equal(others["build"], build))
    after = pa.array([-1] * len(own), own.schema.field("distance").type)
    own = own.set_column(own.schema.get_field_index("distance"), "distance", after)
    min_change = partial(min_changes, settings=night.settings)
    fleet, result = judge_part(pa.concat_tables([rows, own]), build, min_change, night.rules)
    numbers = {tuple(row.values()): n for n, row in enumerate(fleet.keys.to_pylist())}
    moved = [
        replace(change, series=numbers[tuple(row.values())])
        for change, row in zip(changes, keys.to_pylist(), strict=True)
    ]
    return replace(night, fleet=fleet, cells=result.cells), moved


def _judge_series(night: HeadNight, change: LevelChange, nights: Ints) -> str | None:
    """The verdict of some nights' dumps on a change; None for too few dumps."""
    counts = night.cells.dump_count[change.series, nights]
    if counts.sum() < night.rules.least_dumps:
        return None
    found = compare_builds(night.fleet.history, [(change, change.base, nights[counts > 0])])
    low, high = sorted((found.low[0] / change.shift, found.high[0] / change.shift))
    if low > _HALF:
        return "bad"
    return "good" if high < _HALF else "unsure"


def _decide(build: str, group: ChangeGroup, answers: list[str]) -> BisectStep:
    bad, good = answers.count("bad"), answers.count("good")
    what = f"the change of {' and '.join(group.operators)} in group {group.id}"
    if not answers:
        return BisectStep("skip", f"{build}: too few dumps of the series of {what}")
    counted = f"{bad} of {len(answers)} series have it, {good} do not"
    if bad == good:
        return BisectStep("skip", f"{build}: too close to call {what}: {counted}; record more")
    return BisectStep("bad" if bad > good else "good", f"{build}: {what}: {counted}")
