"""One alert per cause: changes of many series in groups. Pure.

Changes belong together if they have the same direction and operator type, and begin at the same
build or at neighbouring builds, because changes of noisy series are found a night or two later.
Operator types that begin to change at the same build of the same model have one cause, too: a wider
layer makes several types slower, on every backend.

A delegate call contains operators, a method delegate calls, and a cold start methods. Each belongs
to the groups of what it contains that explain its change, or otherwise forms its own group, also
where its program gained or lost operators.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from tracehouse.warehouse.regressions.verdicts import LevelChange

NEIGHBOURS = 2  # builds from the first change of a cause to its last one
_ID_LETTERS = 12


class SeriesPlace(NamedTuple):
    """The place of a change.

    Attributes:
        family: Number of its model on its device.
        model: Name of the model.
        operator: Operator type, or name of what is no operator.
        level: 0 for an operator, and more for each level of what contains it.
    """

    family: int
    model: str
    operator: str
    level: int


class ChangeGroup(NamedTuple):
    """Changes that probably have one cause.

    Attributes:
        id: Operator type, direction and night of the first member. The id is stable when members
            join; if two groups merge, the older id stays; see also `keep_decided`.
        operators: Operator types that changed, that of the first member first.
        direction: 1 for slower, -1 for faster.
        first_bad: First night of the build at which most members begin.
        last_good: Last earlier night that most members have.
        changes: Changes of operators, in order of their series.
        explains: Changes of containers that moved with the operators.
    """

    id: str
    operators: tuple[str, ...]
    direction: int
    first_bad: int
    last_good: int
    changes: tuple[LevelChange, ...]
    explains: tuple[LevelChange, ...]


TypeIn = Callable[[int, str], str]  # type of a series' operator in the program of a build


def group_changes(
    changes: Sequence[LevelChange],
    places: Sequence[SeriesPlace],
    builds: Sequence[str],
    type_in: TypeIn | None = None,
) -> list[ChangeGroup]:
    """Changes grouped by cause, by first bad build, operator types and direction.

    `builds` names the build of each night. An id is made from the operator's type in the build that
    was reported first, which stays the same if a later build renames the operator; by default, all
    builds name it as its place does.
    """
    name_type = type_in or (lambda series, _: places[series].operator)
    number = number_builds(builds)
    clusters: list[list[LevelChange]] = []
    explained: dict[int, list[LevelChange]] = defaultdict(list)
    for level in sorted({places[change.series].level for change in changes}):
        alone = []
        for change in changes:
            if places[change.series].level != level:
                continue
            causes = _explaining(change, clusters, places, number) if level else []
            for cause in causes:
                explained[cause].append(change)
            if not causes:
                alone.append(change)
        clusters += _cluster(alone, places, number)
    groups = [
        _make_group(cluster, explained[cause], places, builds, name_type)
        for cause, cluster in enumerate(clusters)
    ]
    groups.sort(key=lambda group: (group.first_bad, group.operators, group.direction))
    return number_repeated_ids(groups)


def number_builds(builds: Sequence[str]) -> list[int]:
    """The number of each night's build; `builds` names them night by night.

    >>> number_builds(["b1", "b2", "b2", "b3"])
    [0, 1, 1, 2]
    """
    numbers = {build: number for number, build in enumerate(dict.fromkeys(builds))}
    return [numbers[build] for build in builds]


def first_reported_in(change: LevelChange) -> int:
    """The build whose report mentioned a change first."""
    if change.is_loud or change.confirmed is None:
        return change.suspected
    return change.confirmed


def _cluster(
    changes: Sequence[LevelChange], places: Sequence[SeriesPlace], number: Sequence[int]
) -> list[list[LevelChange]]:
    """The changes of one cause, each in order of its first bad build."""
    by_key: dict[tuple[str, int], list[LevelChange]] = defaultdict(list)
    for change in changes:
        place = places[change.series]
        by_key[place.operator, change.direction].append(change)
    clusters: list[list[LevelChange]] = []
    for key in sorted(by_key):
        ordered = sorted(by_key[key], key=lambda change: (change.first_bad, change.series))
        cluster = [ordered[0]]
        for change in ordered[1:]:
            if number[change.first_bad] - number[cluster[0].first_bad] > NEIGHBOURS:
                clusters.append(cluster)
                cluster = []
            cluster.append(change)
        clusters.append(cluster)
    return _join(clusters, places, number)


def _join(
    clusters: Sequence[list[LevelChange]], places: Sequence[SeriesPlace], number: Sequence[int]
) -> list[list[LevelChange]]:
    """Clusters joined if they begin at the same build and share a model, directly or by a chain."""
    joined: list[tuple[set[tuple[str, int, int]], list[LevelChange]]] = []
    for cluster in clusters:
        first_bad = number[_first_bad(cluster, number)]
        keys = {(places[each.series].model, each.direction, first_bad) for each in cluster}
        own = [each for each in joined if not keys.isdisjoint(each[0])]
        joined = [each for each in joined if keys.isdisjoint(each[0])]
        merged = [*(change for _, changes in own for change in changes), *cluster]
        joined.append((keys.union(*(known for known, _ in own)), merged))
    return [cluster for _, cluster in joined]


def _first_bad(cluster: Sequence[LevelChange], number: Sequence[int]) -> int:
    """The first night of the build at which most of a cluster begins; the earliest if several."""
    begins = Counter(number[change.first_bad] for change in cluster)
    most = max(begins, key=lambda build: (begins[build], -build))
    return min(change.first_bad for change in cluster if number[change.first_bad] == most)


def _explaining(
    change: LevelChange,
    clusters: Sequence[list[LevelChange]],
    places: Sequence[SeriesPlace],
    number: Sequence[int],
) -> list[int]:
    family = places[change.series].family
    return [
        cause
        for cause, cluster in enumerate(clusters)
        if any(
            places[other.series].family == family
            and other.direction == change.direction
            and abs(number[other.first_bad] - number[change.first_bad]) <= NEIGHBOURS
            for other in cluster
        )
    ]


def _make_group(
    cluster: Sequence[LevelChange],
    explained: Sequence[LevelChange],
    places: Sequence[SeriesPlace],
    builds: Sequence[str],
    type_in: TypeIn,
) -> ChangeGroup:
    number = number_builds(builds)
    first_bad = _first_bad(cluster, number)
    before = Counter(
        change.last_good for change in cluster if number[change.first_bad] == number[first_bad]
    )
    earliest = min(
        cluster, key=lambda each: (first_reported_in(each), places[each.series].operator)
    )
    operator = places[earliest.series].operator
    others = {places[change.series].operator for change in cluster} - {operator}
    reported = builds[first_reported_in(earliest)]
    return ChangeGroup(
        id=_name_group(type_in(earliest.series, reported), earliest.direction, reported),
        operators=(operator, *sorted(others)),
        direction=earliest.direction,
        first_bad=first_bad,
        last_good=max(before, key=lambda build: (before[build], build)),
        changes=tuple(sorted(cluster, key=lambda change: change.series)),
        explains=tuple(sorted(explained, key=lambda change: change.series)),
    )


def keep_decided(
    groups: Sequence[ChangeGroup],
    builds: Sequence[str],
    decided: Collection[str],
    type_in: TypeIn | None = None,
) -> list[ChangeGroup]:
    """The groups, under the ids that decisions name.

    If a night is filled in later, a change is found in an earlier build than the one that first
    reported it, under another id. A decision about that id still counts.
    """
    taken = {group.id for group in groups}
    kept = []
    for group in groups:
        if not decided or group.id in decided:
            kept.append(group)
            continue
        earlier = (
            name
            for build in builds[group.first_bad :]
            for operator in _types_in(group, build, type_in)
            if (name := _name_group(operator, group.direction, build)) in decided
        )
        found = next((name for name in earlier if name not in taken), None)
        if found is not None:
            taken.add(found)
        kept.append(group._replace(id=found or group.id))
    return kept


def _types_in(group: ChangeGroup, build: str, type_in: TypeIn | None) -> Iterable[str]:
    if type_in is None:
        return group.operators
    return dict.fromkeys(type_in(change.series, build) for change in group.changes)


def _name_group(operator: str, direction: int, build: str) -> str:
    return hash_id(operator, str(direction), build)


def hash_id(*parts: str) -> str:
    """The id of a group by what tells it apart."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_ID_LETTERS]


def number_repeated_ids(groups: Sequence[ChangeGroup]) -> list[ChangeGroup]:
    """The groups, with numbered ids where several would have the same."""
    seen: Counter[str] = Counter()
    numbered = []
    for group in groups:
        seen[group.id] += 1
        number = seen[group.id]
        numbered.append(group if number == 1 else group._replace(id=f"{group.id}-{number}"))
    return numbered
