"""Selection of the groups of a night for a decision."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from queries.report.exact_alerts import ExactNight
from queries.report.night import HeadNight, OptionError
from warehouse.errors import suggest
from warehouse.regressions.groups import ChangeGroup


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


class _Candidate(NamedTuple):
    """A group, its place among the builds, and its devices and models."""

    id: str
    is_regression: bool
    first_bad: int
    models: set[str]
    devices: set[str | None]


def choose_groups(
    night: HeadNight, exact: ExactNight, ids: Sequence[str], filter_: GroupFilter
) -> list[str]:
    """Ids of the named groups, or of all regressions of the night that pass a filter.

    Args:
        night: The night, with its groups of operators.
        exact: The measures without noise, with their groups.
        ids: Named groups.
        filter_: Filter of the other groups.

    Raises:
        OptionError: A group or build does not exist, or no group passes the filter.
    """
    builds = exact.history.builds
    known = list(_candidates(night, exact))
    all_ids = {group.id for group in known} | night.decisions.keys()
    for group_id in ids:
        if group_id not in all_ids:
            problem = f"has no group '{group_id}'{suggest(group_id, sorted(all_ids))}"
            raise OptionError("accept", "GROUP", f"the report of {night.head} {problem}")
    if not filter_.is_given:
        return list(dict.fromkeys(ids))
    first = _number_of(night, builds, filter_.since)
    left = [
        group.id
        for group in known
        if group.is_regression
        and (not ids or group.id in ids)
        and group.first_bad >= first
        and _fits(group.models, filter_.model)
        and _fits(group.devices, filter_.device)
    ]
    if not left:
        raise OptionError("accept", "GROUP", f"the report of {night.head} has no such regression")
    return left


def _candidates(night: HeadNight, exact: ExactNight) -> Iterator[_Candidate]:
    """The groups of operators and those of measures without noise."""
    builds = exact.history.builds
    for group in night.groups:
        first = builds.index(night.fleet.nights[group.first_bad].build)
        names = [night.fleet.name(change.series) for change in group.changes]
        yield _candidate(group, first, [(name["model"], name["device"]) for name in names])
    for group in exact.groups:
        series = map(exact.history.of, group.changes)
        yield _candidate(group, group.first_bad, [(each.model, each.device) for each in series])


def _candidate(
    group: ChangeGroup, first_bad: int, places: Sequence[tuple[str, str | None]]
) -> _Candidate:
    models, devices = zip(*places, strict=True)
    return _Candidate(group.id, group.direction > 0, first_bad, set(models), set(devices))


def _number_of(night: HeadNight, builds: Sequence[str], build: str | None) -> int:
    if build is None:
        return 0
    if build not in builds:
        problem = (
            f"the report of {night.head} does not know the build '{build}'{suggest(build, builds)}"
        )
        raise OptionError("accept", "--since", problem)
    return builds.index(build)


def _fits(names: Collection[str | None], globs: Collection[str]) -> bool:
    return not globs or any(fnmatchcase(name or "", glob) for name in names for glob in globs)
