from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import datetime, timedelta

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.store_rows import LONG_AGO, StoreRows
from tracehouse.warehouse.engine.build_order import (
    BuildFacts,
    order_builds,
    read_build_order,
    update_build_order,
)

_2026 = 1_767_225_600_000_000  # in microseconds
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_NAMES = [f"b{number}" for number in range(8)]
_FACTS = st.builds(
    BuildFacts,
    name=st.sampled_from(_NAMES),
    branch=st.sampled_from([None, "main", "mine"]),
    role=st.sampled_from([None, None, "adhoc"]),
    parent=st.sampled_from([None, *_NAMES, "unknown"]),
    ordinal=st.none() | st.integers(0, 3),
    committed_at=st.none() | st.integers(_2026, _2026 + 5) | st.just(0),
    captured_at=st.none() | st.integers(_2026, _2026 + 5),
)
_BUILDS = st.lists(_FACTS, unique_by=lambda build: build.name)


def names(builds: Iterable[BuildFacts]) -> str:
    return " ".join(build.name for build in order_builds(builds))


def chain(last: int, late: int = 0, stated: Iterable[int] = range(99)) -> list[BuildFacts]:
    """Builds m1, m2, ... of a branch, of which some state their parents; one has a late date."""
    return [
        BuildFacts(
            f"m{number}",
            "main",
            parent=f"m{number - 1}" if number in stated else None,
            committed_at=_2026 + (1000 if number == late else 10 * number),
        )
        for number in range(1, last + 1)
    ]


@given(_BUILDS, st.randoms())
def test_every_build_comes_once_whatever_the_order_of_arrival(
    builds: list[BuildFacts], choice: random.Random
) -> None:
    ordered = order_builds(builds)
    assert sorted(ordered, key=str) == sorted(builds, key=str)
    assert order_builds(choice.sample(builds, len(builds))) == ordered


@given(_BUILDS)
def test_a_parent_comes_before_its_child_unless_they_are_in_a_circle(
    builds: list[BuildFacts],
) -> None:
    places = {build.name: place for place, build in enumerate(order_builds(builds))}
    known = {build.name: build for build in builds}
    parents: dict[str, str] = {}
    for build in builds:
        parent = known.get(build.parent or "")
        are_numbered = parent and None not in (build.ordinal, parent.ordinal)
        if parent and not (are_numbered and build.series == parent.series):
            parents[build.name] = parent.name
    for name, parent_name in parents.items():
        line = [name]
        while (above := parents.get(line[-1])) and above not in line:
            line.append(above)
        if above != name:
            assert places[parent_name] < places[name]


@given(_BUILDS)
def test_builds_without_parents_are_ordered_by_their_dates_and_ordinals(
    builds: list[BuildFacts],
) -> None:
    ordered = order_builds([build._replace(parent=None) for build in builds])
    assert ordered == sorted(ordered, key=lambda build: build.date)
    ordinals = [build.ordinal for build in ordered if build.ordinal is not None]
    assert ordinals == sorted(ordinals)
    assert all(build.ordinal is None for build in ordered[len(ordinals) :])


@pytest.mark.parametrize("late", range(1, 10))
@pytest.mark.parametrize("is_whole", [True, False])
def test_one_late_commit_date_does_not_reorder_the_branch(late: int, is_whole: bool) -> None:
    stated = range(99) if is_whole else [late + 1]
    assert names(chain(9, late, stated)) == "m1 m2 m3 m4 m5 m6 m7 m8 m9"


def test_the_dates_alone_order_builds_without_parents() -> None:
    assert names(chain(5, 2, [])) == "m1 m3 m4 m5 m2"


def test_an_early_commit_comes_after_its_ancestors() -> None:
    early = BuildFacts("m4", "main", parent="m3", committed_at=_2026)
    assert names([early if build.name == "m4" else build for build in chain(5)]) == "m1 m2 m3 m4 m5"


def test_for_a_commit_at_1970_its_recording_counts() -> None:
    builds = chain(5, stated=[])
    builds[3] = builds[3]._replace(committed_at=0, captured_at=_2026 + 42)
    assert names(builds) == "m1 m2 m3 m4 m5"


def test_a_trial_with_an_early_date_never_reorders_the_branch_that_it_was_made_from() -> None:
    trials = [
        BuildFacts("t1", "ann/try", parent="m4", committed_at=_2026 + 15),
        BuildFacts("t2", "ann/try", committed_at=_2026 + 16),
        BuildFacts("u1", "main", "adhoc", parent="m3", committed_at=_2026 + 5),
        BuildFacts("v1", "bob/try", parent="t1", committed_at=_2026 + 1),
    ]
    assert names([*trials, *chain(5, stated=[])]) == "m1 m2 m3 u1 m4 t1 v1 t2 m5"


def test_builds_without_ordinals_follow_unless_a_numbered_one_was_made_from_them() -> None:
    builds = [
        BuildFacts("a", ordinal=1),
        BuildFacts("b", parent="a", captured_at=2),
        BuildFacts("c", parent="b", captured_at=3),
        BuildFacts("d", ordinal=4, parent="c"),
        BuildFacts("e", ordinal=5),
        BuildFacts("f", captured_at=1),
    ]
    assert names(builds) == "a b c d e f"
    apart = [build._replace(parent=None) for build in builds]
    assert names(apart) == "a d e f b c"


def test_ordinals_of_one_branch_overrule_parents() -> None:
    assert names(
        [BuildFacts("a", "x", parent="b", ordinal=1), BuildFacts("b", "x", ordinal=2)]
    ) == ("a b")
    builds = [BuildFacts("a", "x", parent="b", ordinal=1), BuildFacts("b", "y", ordinal=2)]
    assert names(builds) == "b a"


def test_builds_that_are_each_others_ancestors_by_mistake_have_an_order() -> None:
    circle = [BuildFacts("a", parent="c"), BuildFacts("b", parent="a"), BuildFacts("c", parent="b")]
    assert names([*circle, BuildFacts("d", parent="a"), BuildFacts("e", parent="e")]) == "a b c d e"


def test_a_long_line_of_parents_and_many_forks_are_ordered_in_no_time() -> None:
    for branch in ("main", "x{}"):
        builds = [
            BuildFacts(f"b{n:05}", branch.format(n), parent=f"b{n + 1:05}") for n in range(20_000)
        ]
        assert order_builds(builds) == builds[::-1]


def _ordered(connection: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    text = "SELECT build, captured_at, device_count FROM builds_in_order ORDER BY position"
    rows = connection.sql(text).to_arrow_table().to_pylist()
    return [tuple(row.values()) for row in rows]


def recorded(*dumps: tuple[str, str, datetime | None], late: timedelta = 9 * _DAY) -> StoreRows:
    """Dumps of (build, device, time of recording), all ingested later."""
    store = StoreRows()
    for build, device, at in dumps:
        store.add_dump(build=build, device=device, captured_at=at, ingested_at=LONG_AGO + late)
    return store


def test_the_time_of_a_build_is_the_median_of_its_devices_whatever_their_number_of_dumps() -> None:
    store = recorded(
        *[("b", "x", LONG_AGO + n * _HOUR) for n in (0, 1, 6, 7, 9)],
        ("b", "y", LONG_AGO + 8 * _HOUR),
        ("b", "z", LONG_AGO + 5 * _HOUR),
        *[("a", "x", LONG_AGO + 7 * _HOUR)] * 9,
    )
    assert _ordered(store.connect()) == [
        ("b", LONG_AGO + 6 * _HOUR, 3),
        ("a", LONG_AGO + 7 * _HOUR, 1),
    ]


def test_a_device_is_one_device_in_all_its_states() -> None:
    store = StoreRows()
    for version in ("14", "15"):
        store.add_dump(build="b", device="phone", os_version=version)
    ((_, _, count),) = _ordered(store.connect())
    assert count == 1


@pytest.mark.parametrize("days", [-20_000, 20_000])
def test_an_implausible_clock_does_not_count(days: int) -> None:
    store = recorded(
        ("b", "x", LONG_AGO + days * _DAY),
        ("b", "y", LONG_AGO + 2 * _DAY),
        ("c", "x", LONG_AGO + _DAY),
        ("a", "x", LONG_AGO + 3 * _DAY),
    )
    assert [row[0] for row in _ordered(store.connect())] == ["c", "b", "a"]


def test_a_build_of_two_devices_has_the_later_of_their_times() -> None:
    store = recorded(
        ("b", "x", LONG_AGO - 700 * _DAY), ("b", "y", LONG_AGO + _DAY), ("c", "x", LONG_AGO)
    )
    assert _ordered(store.connect())[1] == ("b", LONG_AGO + _DAY, 2)


def test_builds_without_any_clock_come_last_by_name() -> None:
    store = recorded(("b", "x", None), ("a", "x", LONG_AGO - 20_000 * _DAY), ("c", "x", LONG_AGO))
    assert _ordered(store.connect()) == [("c", LONG_AGO, 1), ("a", None, 0), ("b", None, 0)]


def test_the_build_order_is_updated_only_for_changed_builds() -> None:
    connection = recorded(("a", "x", LONG_AGO), ("b", "x", LONG_AGO + _DAY)).connect()
    text = "UPDATE dumps SET captured_at = captured_at + INTERVAL 2 DAY WHERE build_id = ?"
    connection.execute(text, [1])
    update_build_order(connection, {2})
    assert [row[0] for row in _ordered(connection)] == ["a", "b"]
    update_build_order(connection, {1})
    assert [row[0] for row in _ordered(connection)] == ["b", "a"]
    connection.execute("DELETE FROM builds WHERE build_id = 1")
    update_build_order(connection, set())
    stored = connection.sql("SELECT * FROM build_order").to_arrow_table()
    assert stored.to_pylist() == read_build_order(connection).to_pylist()
    assert stored["build_id"].to_pylist() == [2]
