"""The places where the builds of an alert are compared."""

from __future__ import annotations

from collections.abc import Mapping

from tracehouse.queries.explain.content import Place
from tracehouse.queries.report.content import Group, Member
from tracehouse.queries.report.night import list_builds
from tracehouse.warehouse.queryable import Queryable

MOST_PLACES = 4


def list_places(store: Queryable, group: Group) -> tuple[list[Place], int]:
    """The costliest place of each model of an alert, and the number of all its places."""
    order = {build: number for number, build in enumerate(list_builds(store))}
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
        base=max(before, key=order.__getitem__),
        head=min(since, key=order.__getitem__),
    )
