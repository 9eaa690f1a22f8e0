from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_all, record_build
from tracehouse.queries.report.bisect import find_commit, judge_step
from tracehouse.queries.report.exact_alerts import judge_measures
from tracehouse.queries.report.night import judge_head
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.store import Store

CONVOLUTION = "native_call_convolution.out"
BISECTED = {"build": {"id": "try", "branch": "bisect", "commit": "0123456789abcdef"}}


@pytest.fixture(scope="module")
def group(judged):
    return judged("b11").groups[0].id


def step(store, group, build, head="b11"):
    found = judge_step(store, group, build=build, head=head, settings=Settings())
    assert found.reason.startswith(f"{build}: ")
    return found.answer


@pytest.mark.parametrize(
    ("build", "answer"),
    cross_section(
        [("b0", "good"), ("b8", "good"), ("b9", "bad"), ("b10", "bad"), ("b11", "bad")], 3
    ),
)
def test_builds_before_the_change_are_good_and_those_since_are_bad(nightly, group, build, answer):
    assert step(nightly, group, build) == answer


@pytest.mark.slow
def test_the_group_is_that_of_the_last_report_by_default(nightly, group):
    found = judge_step(nightly, group, build="b8", head=None, settings=Settings())
    assert found.answer == "good"
    assert found.reason == (
        f"b8: the change of convolution in group {group}: 0 of 2 series have it, 2 do not"
    )


@pytest.mark.slow
def test_a_bisect_step_calls_builds_with_the_improvement_bad(nightly, judged):
    relu = next(g for g in judged("b11").groups if "relu" in g.operators)
    assert [step(nightly, relu.id, build) for build in ("b9", "b10")] == ["good", "bad"]


def add(path: Path, copy: Path, *args, **options) -> Path:
    """A copy of the store with dumps of a build that is none of its lineage."""
    shutil.copytree(path, copy)
    return ingest_all(copy, record_build(50, *args, **BISECTED | options))


@pytest.mark.parametrize(
    ("slower", "count", "answer"),
    cross_section(
        [
            (1.15, 8, "bad"),
            (1.0, 8, "good"),
            (1.3, 8, "bad"),
            (1.07, 8, "skip"),  # half of the change
            (1.15, 4, "skip"),  # five dumps are wanted
        ],
        5,
    ),
)
def test_a_build_made_to_bisect_is_judged_by_its_dumps(
    nightly_path, tmp_path, group, slower, count, answer
):
    path = add(nightly_path, tmp_path / "s", {CONVOLUTION: slower}, count=count)
    with Store.open(path, read_only=True) as store:
        assert step(store, group, "try") == answer
        assert find_commit(store, "0123456789abcdef") == "try"


@pytest.mark.slow
def test_dumps_of_other_devices_do_not_decide_a_bisect_step(nightly_path, tmp_path, group):
    path = add(nightly_path, tmp_path / "s", {CONVOLUTION: 1.15}, device="watch")
    with Store.open(path, read_only=True) as store:
        found = judge_step(store, group, build="try", head="b11", settings=Settings())
    assert found.answer == "skip"
    assert "too few dumps" in found.reason


@pytest.mark.slow
def test_an_unknown_group_or_build_is_refused(nightly, group):
    with pytest.raises(ParameterError, match=f"the report of b8 has no group '{group}'"):
        step(nightly, group, "b9", head="b8")
    with pytest.raises(ParameterError, match="'b99' is not in the store; did you mean b9"):
        step(nightly, group, "b99")


def test_a_commit_may_be_abbreviated_in_the_store(nightly):
    assert find_commit(nightly, "c0ffee05") == "b5"
    assert find_commit(nightly, "c0ffee05" + "ab" * 16) == "b5"
    assert find_commit(nightly, "c0ffee") is None
    assert find_commit(nightly, "deadbeef") is None


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    """Four builds, the last two of which allocate more; and one beside them, which does, too."""
    allocated = {0: 1000, 1: 1000, 2: 1280, 3: 1280}
    dumps = [
        dump
        for number, size in allocated.items()
        for dump in record_build(number, count=5, allocated=size)
    ]
    dumps += record_build(4, count=1, allocated=1281, **BISECTED)
    with Store.open(ingest_all(tmp_path_factory.mktemp("exact") / "s", dumps)) as store:
        yield store


def test_a_measure_without_noise_is_bisected_too(larger):
    (group,) = judge_measures(larger, judge_head(larger, "b3", Settings())).groups
    answers = {"b0": "good", "b1": "good", "b2": "bad", "b3": "bad", "try": "bad"}
    assert {build: step(larger, group.id, build, head="b3") for build in answers} == answers


def test_a_build_that_did_not_use_an_allocator_took_nothing_of_it(tmp_path):
    dumps = [
        *record_build(0, count=1, loaded=64),
        *record_build(1, count=1, loaded=64, allocated=8),
    ]
    with Store.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        (group,) = judge_measures(store, judge_head(store, "b1", Settings())).groups
        assert [step(store, group.id, build, head="b1") for build in ("b0", "b1")] == [
            "good",
            "bad",
        ]
