from datetime import timedelta

import pytest

from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_query

CONV = "native_call_conv.out"


def _add(store, build, *ticks, instruction=1, runs=1, **columns):
    """One dump per duration of CONV."""
    for duration in ticks:
        number = store.add_dump(build=build, **columns)
        for _ in range(runs):
            store.add_run(number, [Event(CONV, duration, instruction)])


def _builds(rows):
    return [row["build"] for row in rows]


def test_three_builds_by_hand():
    store = StoreRows()
    for ordinal, build in enumerate(("c", "a", "b")):
        store.add_build(build, ordinal=ordinal)
    _add(store, "a", 110, 120, 130)
    _add(store, "b", 60)
    _add(store, "c", 90, 110)
    rows = run_query(store.connect(), "build_history", event=CONV)
    assert [
        (r["build"], r["dump_count"], r["sample_count"], r["p50_ns"], r["min_ns"], r["max_ns"])
        for r in rows
    ] == [("c", 2, 2, 100, 90, 110), ("a", 3, 3, 120, 110, 130), ("b", 1, 1, 60, 60, 60)]
    assert [row["change"] for row in rows] == [None, pytest.approx(0.2), -0.5]


def test_builds_without_ordinal_come_by_commit_time_then_first_recording():
    store = StoreRows()
    store.add_build("late", committed_at=LONG_AGO + timedelta(days=2))
    store.add_build("early", committed_at=LONG_AGO + timedelta(days=1))
    for build, hours in (("late", 0), ("early", 0), ("x", 9), ("y", 8)):
        _add(store, build, 100, captured_at=LONG_AGO + timedelta(hours=hours))
    rows = run_query(store.connect(), "build_history", event=CONV)
    assert _builds(rows) == ["early", "late", "y", "x"]


def test_devices_have_histories_of_their_own():
    store = StoreRows()
    _add(store, "a", 100)
    _add(store, "a", 300, device="tablet")
    _add(store, "b", 150)
    rows = run_query(store.connect(), "build_history", event=CONV)
    assert [(r["device"], r["build"], r["change"]) for r in rows] == [
        ("phone", "a", None),
        ("phone", "b", 0.5),
        ("tablet", "a", None),
    ]


def test_value_is_the_median_after_warm_up_where_enough_is_left():
    store = StoreRows()
    number = store.add_dump()
    for run in range(25):
        store.add_run(number, [Event(CONV, 900 if run < 5 else 100 + run % 2, 1)])
    (row,) = run_query(store.connect(), "build_history", event=CONV)
    assert (row["p50_ns"], row["sample_count"]) == (100.5, 25)


def test_operator_is_followed_by_ordinal_where_ids_shift():
    store = StoreRows()
    for build, ids in (("a", (1, 2)), ("b", (1, 3))):
        number = store.add_dump(build=build)
        store.add_run(number, [Event(CONV, 100 * id_, id_) for id_ in ids])
    connection = store.connect()
    rows = run_query(connection, "build_history", event=CONV, ordinal=2)
    assert [(r["build"], r["p50_ns"]) for r in rows] == [("a", 200), ("b", 300)]
    rows = run_query(connection, "build_history", event=CONV, instruction_id=3)
    assert [(r["build"], r["ordinal"]) for r in rows] == [("b", 2)]


def test_event_is_found_by_its_delegate_id():
    store = StoreRows()
    number = store.add_dump()
    store.add_run(number, [Event("", 10, 1, "GEMM #1"), Event("", 20, 1, "GEMM #2")])
    connection = store.connect()
    (row,) = run_query(connection, "build_history", event="GEMM #2")
    assert (row["delegate_id"], row["p50_ns"]) == ("GEMM #2", 20)
    (row,) = run_query(connection, "build_history", event="GEMM #1", delegate_id="GEMM #1")
    assert row["p50_ns"] == 10
    assert run_query(connection, "build_history", event="GEMM #1", delegate_id="GEMM #2") == []
