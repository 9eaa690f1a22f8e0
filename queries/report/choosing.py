"""The groups of a night that somebody decides about at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from queries.report.night import HeadNight, OptionError, find_group
from warehouse.errors import suggest
from warehouse.regressions.groups import ChangeGroup


class GroupFilter(NamedTuple):
    """Which groups are meant; every part that is given must hold.

    Attributes:
        model: Globs of models: the group has an operator of one that fits.
        device: Globs of devices, likewise.
        since: Build that it began in or after.
    """

    model: Sequence[str] = ()
    device: Sequence[str] = ()
    since: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether any part is."""
        return bool(self.model or self.device or self.since)


def choose_groups(night: HeadNight, ids: Sequence[str], filter_: GroupFilter) -> list[str]:
    """Ids of the groups that are named, or of all regressions of the night that a filter leaves.

    Raises:
        OptionError: There is no such group or build, or the filter leaves none.
    """
    for group_id in ids:
        if group_id not in night.decisions:
            find_group(night, group_id, "accept")
    if not filter_.is_given:
        return list(dict.fromkeys(ids))
    first = _night_of(night, filter_.since)
    left = [
        group.id
        for group in night.groups
        if group.direction > 0
        and (not ids or group.id in ids)
        and group.first_bad >= first
        and _fits(night, group, "model", filter_.model)
        and _fits(night, group, "device", filter_.device)
    ]
    if not left:
        raise OptionError("accept", "GROUP", f"the report of {night.head} has no such regression")
    return left


def _night_of(night: HeadNight, build: str | None) -> int:
    if build is None:
        return 0
    builds = [each.build for each in night.fleet.nights]
    if build not in builds:
        problem = f"the report of {night.head} goes by no build '{build}'{suggest(build, builds)}"
        raise OptionError("accept", "--since", problem)
    return builds.index(build)


def _fits(night: HeadNight, group: ChangeGroup, key: str, globs: Collection[str]) -> bool:
    names = {night.fleet.name(change.series)[key] for change in group.changes}
    return not globs or any(fnmatchcase(name or "", glob) for name in names for glob in globs)
