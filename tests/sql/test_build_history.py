from datetime import timedelta

import pytest

from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_by_device, shown

CONV = "native_call_conv.out"


def _add(store, build, *ticks, **columns):
    """One dump per duration of CONV."""
    for duration in ticks:
        store.add_run(store.add_dump(build=build, **columns), [Event(CONV, duration, 1)])


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for ordinal, build in enumerate(("c", "a", "b")):
        store.add_build(build, ordinal=ordinal)
    _add(store, "a", 110, 120, 130)
    _add(store, "b", 60)
    _add(store, "c", 90, 110)
    # Builds without an ordinal come by commit time, then by their first recording.
    store.add_build("late", committed_at=LONG_AGO + timedelta(days=2))
    store.add_build("early", committed_at=LONG_AGO + timedelta(days=1))
    for build, hours in (("late", 0), ("early", 0), ("x", 9), ("y", 8)):
        time = LONG_AGO + timedelta(hours=hours)
        _add(store, build, 100, device="no ordinals", captured_at=time)
    _add(store, "a", 100, device="two builds")
    _add(store, "b", 150, device="two builds")
    ticks = [900] * 5 + [100, 101] * 10
    warm = store.add_dump(device="warm", build="a")
    store.add_runs(warm, [[Event(CONV, own, 1)] for own in ticks])
    for build, ids in (("a", (1, 2)), ("b", (1, 3))):
        number = store.add_dump(build=build, device="shifted")
        store.add_run(number, [Event(CONV, 100 * id_, id_) for id_ in ids])
    store.add_run(
        store.add_dump(device="delegate", build="a"),
        [Event("", 10, 1, "GEMM #1"), Event("", 20, 1, "GEMM #2")],
    )
    return store.connect()


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "build_history", event=CONV)


def test_three_builds_by_hand(rows):
    names = ("build", "dump_count", "sample_count", "p50_ns", "min_ns", "max_ns", "change")
    assert shown(rows["phone"], *names) == [
        ("c", 2, 2, 100, 90, 110, None),
        ("a", 3, 3, 120, 110, 130, pytest.approx(0.2)),
        ("b", 1, 1, 60, 60, 60, -0.5),
    ]
    edges = [edge for pair in shown(rows["phone"], "p10_ns", "p90_ns") for edge in pair]
    assert edges == pytest.approx([92, 108, 112, 128, 60, 60])


def test_builds_stand_in_their_order_on_each_device(rows):
    assert [row["build"] for row in rows["no ordinals"]] == ["early", "late", "y", "x"]
    assert shown(rows["two builds"], "build", "change") == [("a", None), ("b", 0.5)]


def test_value_is_the_median_after_warm_up_where_enough_is_left(rows):
    assert shown(rows["warm"], "p50_ns", "sample_count") == [(100.5, 25)]


def test_operator_is_followed_by_ordinal_where_ids_shift(farm):
    found = run_by_device(farm, "build_history", event=CONV, ordinal=2)["shifted"]
    assert shown(found, "build", "p50_ns") == [("a", 200), ("b", 300)]
    found = run_by_device(farm, "build_history", event=CONV, instruction_id=3)["shifted"]
    assert shown(found, "build", "ordinal") == [("b", 2)]


def test_event_is_found_by_its_delegate_id(farm):
    found = run_by_device(farm, "build_history", event="GEMM*")["delegate"]
    assert shown(found, "delegate_id", "p50_ns") == [("GEMM #1", 10), ("GEMM #2", 20)]
    chosen = {"event": "GEMM #1", "delegate_id": "GEMM #1"}
    found = run_by_device(farm, "build_history", **chosen)["delegate"]
    assert shown(found, "p50_ns") == [(10,)]
    other = chosen | {"delegate_id": "GEMM #2"}
    assert run_by_device(farm, "build_history", **other)["delegate"] == []
