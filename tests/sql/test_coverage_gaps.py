from datetime import timedelta

import pytest

from tests.support.store_rows import LONG_AGO, StoreRows, run_query
from tracehouse.warehouse.errors import ParameterError


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for ordinal, build in enumerate(("b1", "b2", "b3"), start=1):
        store.add_build(build, ordinal=ordinal)
    store.add_build("pinned", role="reference")
    recorded = [
        ("phone", "net", "b1", 0), ("phone", "net", "b2", 1), ("phone", "net", "b3", 2),
        ("phone", "dw", "b1", 0), ("tablet", "net", "b1", None), ("tablet", "net", "b3", 2),
        ("phone", "net", "pinned", 2),
    ]  # fmt: skip
    for device, model, build, hours in recorded:
        at = None if hours is None else LONG_AGO + timedelta(hours=hours)
        store.add_dump(device=device, model=model, build=build, captured_at=at)
    return store.connect()


def _gaps(farm, *names, **params):
    rows = run_query(farm, "coverage_gaps", **params)
    return [tuple(row[name] for name in ("device", "model", "build", *names)) for row in rows]


def test_builds_without_a_dump_of_what_others_have_are_gaps(farm):
    assert _gaps(farm, "last_build", "builds_since") == [
        ("phone", "dw", "b2", "b1", 2),
        ("phone", "dw", "b3", "b1", 2),
        ("tablet", "net", "b2", "b3", 0),
    ]


def test_only_the_last_builds_are_expected_if_asked(farm):
    assert _gaps(farm, last_n=1) == [("phone", "dw", "b3")]
    assert len(_gaps(farm, last_n=2)) == 3


def test_old_dumps_and_those_of_unknown_time_are_not_fresh(farm):
    since = LONG_AGO + timedelta(hours=1)
    gaps = _gaps(farm, "stale_count", "last_build", fresh_since=since, device="tablet")
    assert gaps == [("tablet", "net", "b1", 1, "b3"), ("tablet", "net", "b2", 0, "b3")]
    gaps = _gaps(farm, "stale_count", "last_build", "builds_since", fresh_since=since, model="dw")
    assert gaps == [
        ("phone", "dw", "b1", 1, None, None),
        ("phone", "dw", "b2", 0, None, None),
        ("phone", "dw", "b3", 0, None, None),
    ]


def test_builds_that_are_filtered_out_are_not_expected(farm):
    assert _gaps(farm, build=["b1", "b2"]) == [("phone", "dw", "b2"), ("tablet", "net", "b2")]


def test_a_farm_without_gaps_has_no_rows(farm):
    assert _gaps(farm, device="phone", model="net") == []


def test_a_build_of_a_branch_is_expected_of_what_is_recorded_on_that_branch_alone():
    store = StoreRows()
    for ordinal, (build, branch) in enumerate({"m1": "main", "f1": "fork", "m2": "main"}.items()):
        store.add_build(build, ordinal=ordinal, branch=branch)
    for model, build in (("net", "m1"), ("net", "m2"), ("dw", "m1"), ("dw", "f1")):
        store.add_dump(model=model, build=build)
    assert _gaps(store.connect()) == [("phone", "dw", "m2")]


def test_a_build_with_a_role_makes_nothing_expected():
    store = StoreRows()
    for build, role in {"m1": None, "pin": "reference", "try": "adhoc"}.items():
        store.add_build(build, role=role)
    for model, build in (("net", "m1"), ("pinned", "pin"), ("dw", "try")):
        store.add_dump(model=model, build=build)
    assert _gaps(store.connect()) == []


def test_an_expected_recording_is_a_gap_in_every_build_without_it(farm):
    expected = ["watch / net", "tablet / net / vulkan", "phone / net"]
    gaps = _gaps(farm, "backend", "last_build", "is_expected", build="b3", expected=expected)
    assert gaps == [
        ("tablet", "net", "b3", "vulkan", None, True),
        ("watch", "net", "b3", None, None, True),
    ]
    assert _gaps(farm, build="b3", expected=expected, device="phone") == []
    with pytest.raises(ParameterError, match="DEVICE / MODEL"):
        _gaps(farm, expected="watch")
