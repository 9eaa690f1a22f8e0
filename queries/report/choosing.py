"""Selection of the groups of a night for a decision."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from tracehouse.ingest.schemas.attributes import compose
from tracehouse.queries.report.content import Group, Report
from tracehouse.queries.report.night import OptionError, find_group
from tracehouse.warehouse.errors import suggest


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
