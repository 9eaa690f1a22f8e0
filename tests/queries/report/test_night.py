from __future__ import annotations

from datetime import date

import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tests.support.reports import group, member
from tracehouse import Warehouse
from tracehouse.queries.report.night import (
    find_build,
    find_group,
    find_head,
    judge_head,
    list_places,
)
from tracehouse.queries.report.settings import Mute, Settings, Threshold
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.regressions.judging import list_heads


def operators(night):
    return [(group.operators[0], group.direction) for group in night.groups]


def test_the_last_build_is_judged_by_default(nightly):
    night = judge_head(nightly, None, Settings())
    assert night.head == "b11"
    assert [each.build for each in night.fleet.nights] == [f"b{number}" for number in range(12)]
    assert operators(night) == [("convolution", 1), ("relu", -1), ("add", 1)]


def test_later_builds_do_not_count(judged):
    night = judged("b9")
    assert [each.build for each in night.fleet.nights] == [f"b{number}" for number in range(10)]
    assert operators(night) == [("convolution", 1)]


def test_an_unknown_build_is_refused_with_similar_names(nightly):
    with pytest.raises(
        ParameterError, match=r"^--head: 'b111' is not in the store; did you mean b11"
    ):
        judge_head(nightly, "b111", Settings())


def test_a_store_without_builds_says_so(tmp_path):
    with (
        Warehouse.open(tmp_path / "s", create=True) as store,
        pytest.raises(ParameterError, match="no builds yet"),
    ):
        find_head(store, None, Settings())


def test_a_reference_build_is_never_the_last(tmp_path):
    pin = {"build": {"id": "pin", "ordinal": 99, "role": "reference"}, "run": {"session": "s"}}
    dumps = [*record_build(1, count=1), *record_build(2, count=1, **pin)]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        assert find_head(store, None, Settings()) == "b1"
        assert find_head(store, "pin", Settings()) == "pin"
        assert find_build(store, "pin", "--build") == "pin"


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """Two nights of main, and three trials: of a branch, of a role, and of nothing."""
    builds = [("b1", "main", None), ("b2", "main", None), ("try", "mine", None)]
    builds += [("adhoc", "main", "adhoc"), ("plain", None, None)]
    dumps = [
        dump
        for number, (name, branch, role) in enumerate(builds)
        for dump in record_build(
            number, count=1, build={"id": name, "ordinal": number, "branch": branch, "role": role}
        )
    ]
    path = ingest_all(tmp_path_factory.mktemp("trials") / "s", dumps)
    with Warehouse.open(path, read_only=True) as store:
        yield store


def test_a_build_of_another_branch_or_role_is_a_head_only_if_named(trials):
    main = Settings().of_branch("main")
    assert list_heads(trials, None) == ["b1", "b2", "try", "plain"]
    assert list_heads(trials, "main") == ["b1", "b2"]
    assert find_head(trials, None, main) == "b2"
    assert find_head(trials, None, main.of_branch("mine")) == "try"
    assert find_head(trials, None, Settings().of_branch(None)) == "plain"
    assert find_head(trials, "try", main) == "try"
    night = judge_head(trials, None, main)
    assert [each.build for each in night.fleet.nights] == ["b1", "b2"]


def test_a_branch_without_builds_is_reported_with_similar_names(trials):
    problem = "^--branch: no build in the store is of the branch 'main2'; did you mean main"
    with pytest.raises(ParameterError, match=problem):
        find_head(trials, None, Settings().of_branch("main2"))


def test_muted_changes_leave_the_groups_and_are_counted(nightly):
    mute = Mute(event="*convolution*", device="phone", reason="known", until=date(2026, 1, 10))
    settings = Settings(muted=[mute])
    night = judge_head(nightly, "b9", settings)  # recorded on the tenth
    assert (night.muted, night.muted_operators) == ({"known": 1}, 1)
    (group,) = night.groups  # that the phone's method is slower too needs no other cause
    devices = night.fleet.keys["device"].to_pylist()
    told = [*group.changes, *group.explains]
    assert {devices[change.series] for change in told} == {"tablet"}
    assert judge_head(nightly, "b10", settings).muted == {}


@pytest.mark.slow
def test_muting_a_part_of_a_group_leaves_it_its_id(nightly):
    ids = {
        judge_head(nightly, "b9", Settings(muted=muted)).groups[0].id
        for muted in ([], [Mute(device="phone", reason="x")], [Mute(device="tablet", reason="x")])
    }
    assert len(ids) == 1


@pytest.mark.slow
def test_thresholds_are_of_the_series_they_name(nightly):
    deaf = Settings(thresholds=[Threshold(device="tablet", min_change=0.5)])
    night = judge_head(nightly, "b9", deaf)
    devices = night.fleet.keys["device"].to_pylist()
    (group,) = night.groups
    assert {devices[change.series] for change in group.changes} == {"phone"}


@pytest.mark.slow
def test_the_rules_are_those_of_the_settings(nightly):
    chosen = {"base_builds": 4, "q": 0.02, "noise_multiple": 5.0}
    settings = Settings.model_validate({"nightly": chosen})
    rules = judge_head(nightly, "b9", settings).rules
    assert (rules.base_builds, rules.q, rules.noise_multiple) == (4, 0.02, 5.0)


def test_methods_and_delegate_calls_are_containers(judged):
    night = judged("b9")
    containers = {
        event
        for event, place in zip(
            night.fleet.keys["event_name"].to_pylist(), list_places(night.fleet), strict=True
        )
        if place.level
    }
    assert containers == {"Method::execute"}


@pytest.mark.slow
def test_the_last_decision_about_a_group_holds(tmp_path):
    path = ingest_all(tmp_path / "s", record_build(1, count=1))
    with Warehouse.open(path) as store:
        store.decide("g1", state="accepted", reason="fine")
        store.decide("g1", state="reopened", reason="not so fine")
        store.decide("g2", state="acknowledged", reason="mine")
        decisions = judge_head(store, None, Settings()).decisions
    assert {name: (each.state, each.reason) for name, each in decisions.items()} == {
        "g1": ("reopened", "not so fine"),
        "g2": ("acknowledged", "mine"),
    }


@pytest.mark.slow
def test_a_night_ignores_decisions_made_after_the_next_build(tmp_path):
    path = ingest_all(tmp_path / "s", record_build(1, count=1))
    with Warehouse.open(path) as store:
        store.decide("g", state="acknowledged", reason="mine")
        store.ingest(record_build(2, count=1))
        store.decide("g", state="accepted", reason="fine")
        nights = [judge_head(store, head, Settings()) for head in ("b1", "b2")]
    assert [night.decisions["g"].reason for night in nights] == ["mine", "fine"]
    assert nights[0].until is not None
    assert nights[1].until is None


def test_an_alert_is_found_by_its_id():
    one, two = group(member()), group(member(), id="efb47509a3a7")
    assert find_group([one, two], "efb47509a3a7", "b1", "explain") is two


def test_an_unknown_alert_is_named_with_those_that_there_are():
    with pytest.raises(ParameterError, match="has no group 'abc'; there are efb47509a3a7"):
        find_group([group(member(), id="efb47509a3a7")], "abc", "b1", "explain")
