"""Changes of a level, and one group per cause. Pure.

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
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self

import numpy as np

from tracehouse.warehouse.regressions.fleet import SeriesHistory, gather_values
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.two_samples import SampleComparison, compare_samples

NEIGHBOURS = 2  # builds from the first change of a cause to its last one
_ID_LETTERS = 12


class SeriesVerdict(StrEnum):
    """Verdicts on a series of two builds, changes first; see the query `regression_deltas`.

    Attributes:
        words: The verdict in people's words.
        detail: Explanation for a new, removed or moved operator, with the builds' names.
        is_judged: Whether the series could have shown a change.
    """

    words: str
    detail: str
    is_judged: bool

    REGRESSION = "regression", "slower"
    IMPROVEMENT = "improvement", "faster"
    NEW_OP = "new_op", "added", "not in {base}", False
    REMOVED_OP = "removed_op", "removed", "in {base}, not in {head}", False
    MOVED = "moved", "moved elsewhere", "its time moved to other operators; the total is unchanged"
    MODE_MIX = (
        "mode_mix",
        "at another speed",
        "the share of slow processes changed",
    )
    UNCHANGED = "unchanged", "unchanged"
    EXPLAINED_BY_RUN_SHIFT = "explained_by_run_shift", "moved with all others"
    INCONCLUSIVE = "inconclusive", "cannot tell"
    BELOW_RESOLUTION = "below_resolution", "too fast to judge", "", False
    NEEDS_MORE_DUMPS = "needs_more_dumps", "too few dumps", "", False

    @property
    def is_change(self) -> bool:
        """Whether the series changed."""
        return self in (SeriesVerdict.REGRESSION, SeriesVerdict.IMPROVEMENT) or bool(self.detail)

    def __new__(cls, name: str, words: str = "", detail: str = "", is_judged: bool = True) -> Self:
        """Create a member from its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.words, member.detail, member.is_judged = words, detail, is_judged
        return member


@dataclass(eq=False)
class LevelChange:
    """A change of a series to another level.

    Attributes:
        series: Number of the series.
        direction: 1 for slower, -1 for faster.
        suspected: Build of the first hit.
        first_bad: First build at the new level.
        last_good: Last build of the base with dumps before `first_bad`.
        base: Builds of the old level, at most as many as in a base.
        is_loud: Whether the first hit was reported before it was confirmed.
        is_residual: Whether values without the states of the device decide.
        is_relative: Whether the values are relative to a reference build, otherwise.
        witness_error: Error of a build by values relative to a reference build; infinite if it was
            not recorded with the build and with the base.
        own_reaction: Factor of the state that is subtracted from those values.
        shift: Size of the change, a logarithm.
        errors: Errors of 1, 2, ... consecutive builds, as known at the suspicion.
        night_spread: Usual distance of builds from the base in any mode.
        state_error: Squared error added by a state at distance 1 from the base's state.
        state_spread: How far the states of the base's builds are apart.
        p_adjusted: p of the night of the suspicion, after Benjamini-Hochberg.
        confirmed: Build that confirmed the change; None while it is suspected.
        fixed: First build back at the old level; None if there is no such build.
        back: Consecutive nights back at the old level.
        pool: Series of the pool that shows the change, if the series by itself does not.
        pool_shift: Size of the pool's change, if any.
    """

    series: int
    direction: int
    suspected: int
    first_bad: int
    last_good: int
    base: Ints
    is_loud: bool
    is_residual: bool
    own_reaction: float
    shift: float
    errors: list[float]
    state_error: float
    p_adjusted: float
    confirmed: int | None = None
    fixed: int | None = None
    back: list[int] = field(default_factory=list)
    pool: int | None = None
    pool_shift: float = 0.0
    is_relative: bool = False
    witness_error: float = math.inf
    night_spread: float = 0.0
    state_spread: float = 0.0

    @property
    def reaction(self) -> float:
        """Factor of the state that is subtracted from the values; 0 if raw values decide."""
        return self.own_reaction * self.is_residual

    def list_nights(self, dump_count: Ints) -> Ints:
        """The nights at the new level; `dump_count` has the series' dumps in each night."""
        end = len(dump_count) if self.fixed is None else self.fixed
        nights = np.arange(self.first_bad, end)
        there: Ints = nights[dump_count[nights] > 0]
        return there


def compare_builds(
    history: SeriesHistory, pairs: Sequence[tuple[LevelChange, Ints, Ints]]
) -> SampleComparison:
    """Compare builds of changed series with other builds, by raw or residual values.

    Each change in `pairs` has the builds of the base and of the head.
    """
    series = np.array([change.series for change, _, _ in pairs], np.int64)
    reaction = np.array([change.reaction for change, _, _ in pairs])
    return compare_levels(
        history, series, reaction, [base for _, base, _ in pairs], [head for _, _, head in pairs]
    )


def compare_levels(
    history: SeriesHistory,
    series: Ints,
    reaction: Floats,
    base: Sequence[Ints],
    head: Sequence[Ints],
) -> SampleComparison:
    """Compare builds of series with other builds, by values less a reaction to the states."""
    samples = []
    for builds in (base, head):
        chosen = np.zeros((len(series), history.build_count), bool)
        row = np.repeat(np.arange(len(series)), [len(each) for each in builds])
        chosen[row, np.concatenate([np.empty(0, np.int64), *builds])] = True
        samples.append(gather_values(history, series, chosen, reaction))
    return compare_samples(*samples)


def share_of_change(level: Floats, change: LevelChange, night: int) -> float:
    """Position of a night between the levels of a change: 0 is the old level, 1 the new one.

    `level` is that of the series in each build, by the values that decide the change.
    """
    return float((level[night] - np.median(level[change.base])) / change.shift)


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
