"""The alert of a group, and the places where its builds are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from queries.explain.content import Place
from queries.report.alerts import describe_groups
from queries.report.content import Group, Member
from queries.report.environment import Environments
from queries.report.exact_alerts import describe_measures, judge_measures, without_exact
from queries.report.facts import read_commits
from queries.report.members import changed_environment
from queries.report.night import find_group, judge_head
from queries.report.settings import Settings
from warehouse.queryable import Queryable

MOST_PLACES = 4
_BUILDS = "SELECT build FROM builds_in_order ORDER BY position"


def find_alert(
    store: Queryable, group_id: str, settings: Settings, *, head: str | None = None
) -> tuple[str, Group]:
    """The build that a report is of, and the alert of this id in it.

    Args:
        store: The store.
        group_id: The group, as reports name it.
        settings: Settings of the report.
        head: Build of the report; by default the last one.

    Raises:
        OptionError: The build or the group does not exist.
    """
    night = judge_head(store, head, settings)
    exact = judge_measures(store, night)
    night = without_exact(night, exact.history)
    everything = replace(night, groups=[*night.groups, *exact.groups])
    group = find_group(everything, group_id, "explain")
    commits, environments = read_commits(store), Environments(store)
    if group in exact.groups:
        (alert,) = describe_measures(night, exact, [group], commits, environments)
    else:
        around = partial(changed_environment, environments)
        (alert,) = describe_groups(night, [group], commits, around)
    return night.head, alert


def list_places(store: Queryable, group: Group) -> tuple[list[Place], int]:
    """The costliest place of each model of an alert, and the number of all its places."""
    names = store.sql(_BUILDS)["build"].to_pylist()
    order = {build: number for number, build in enumerate(names)}
    found: dict[tuple[str, str | None], Place] = {}
    seen = set()
    for member in (*group.members, *group.explains):
        seen.add((member.device, member.pool, member.model, member.backend))
        key = member.model, member.backend
        place = None if key in found else _place(member, group.first_bad, order)
        if place is not None:
            found[key] = place
    return list(found.values())[:MOST_PLACES], len(seen)


def members_at(group: Group, place: Place) -> list[Member]:
    """The members of an alert at a place: costliest first, then what they explain."""
    return [
        member
        for member in (*group.members, *group.explains)
        if (member.device, member.model, member.backend)
        == (place.device, place.model, place.backend)
        and (place.device is not None or member.pool == place.pool)
    ]


def _place(member: Member, first_bad: str, order: Mapping[str, int]) -> Place | None:
    """The place of a member, with the builds around the change that were recorded there."""
    builds = [point.build for point in member.history if point.dump_count and point.build in order]
    before = [build for build in builds if order[build] < order[first_bad]]
    since = [build for build in builds if order[build] >= order[first_bad]]
    if not before or not since:
        return None
    return Place(
        device=member.device,
        pool=member.pool if member.device is None else None,
        model=member.model,
        backend=member.backend,
        base=_last(before, order),
        head=min(since, key=order.__getitem__),
    )


def _last(builds: Sequence[str], order: Mapping[str, int]) -> str:
    return max(builds, key=order.__getitem__)
