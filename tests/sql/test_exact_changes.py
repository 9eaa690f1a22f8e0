import pytest

from tests.support.store_rows import Event, StoreRows, run_query

EXECUTE = Event("Method::execute", 90, 0, chain=-1)
CONV = Event("native_call_conv.out", 10, 1)
RELU = Event("native_call_relu.out", 10, 2)
CALL = Event("DELEGATE_CALL", 10, 3)
PARTS = [Event("", 1, 3, "GEMM #1"), Event("", 1, 3, "GEMM #2")]


def _add(store, build, runs, *allocations, **columns):
    """A dump whose runs log these events, each of which allocates these bytes."""
    number = store.add_dump(build=build, **columns)
    for index, events in enumerate(runs):
        store.add_run(number, [*events, EXECUTE])
        store.add_allocations(number, *allocations, run_index=index)
    return number


def _ask(store, **params):
    return run_query(store.connect(), "exact_changes", base="old", head="new", **params)


def _measures(rows):
    return {row["measure"]: (row["base"], row["head"], row["verdict"]) for row in rows}


def test_two_builds_by_hand():
    store = StoreRows()
    _add(store, "old", [[CONV, CALL, *PARTS, RELU]] * 2, ("pool", 100), ("pool", 28))
    _add(store, "new", [[CONV, CALL, *PARTS, RELU, RELU._replace(instruction=4)]] * 2, ("pool", 64))
    rows = _ask(store)
    assert _measures(rows) == {
        "allocated_bytes": (128, 64, "changed"),
        "delegate_call_count": (1, 1, "unchanged"),
        "delegate_calls": (1, 1, "unchanged"),
        "delegated_share": (2 / 4, 2 / 5, "changed"),
        "dump_bytes": (1000, 1000, "unchanged"),
        "operator_calls": (2, 3, "changed"),
        "operator_count": (2, 3, "changed"),
        "runs_per_dump": (2, 2, "unchanged"),
    }
    assert {(row["base_count"], row["head_count"]) for row in rows} == {(1, 1)}
    assert (rows[0]["run_name"], rows[0]["allocator"]) == ("Execute", "pool")


def test_same_program_is_unchanged():
    store = StoreRows()
    for build in ("old", "old", "new"):
        _add(store, build, [[CONV, CALL, *PARTS]] * 3, ("pool", 8))
    assert {row["verdict"] for row in _ask(store)} == {"unchanged"}


def test_loop_calls_an_operator_more_often_without_being_more_operators():
    store = StoreRows()
    _add(store, "old", [[CONV, CONV]])
    _add(store, "new", [[CONV] * 3])
    measures = _measures(_ask(store))
    assert measures["operator_count"] == (1, 1, "unchanged")
    assert measures["operator_calls"] == (2, 3, "changed")


def test_delegate_that_logs_no_operators_counts_as_one():
    store = StoreRows()
    _add(store, "old", [[CONV, CALL]])
    _add(store, "new", [[CALL]])
    measures = _measures(_ask(store))
    assert measures["delegated_share"] == (0.5, 1, "changed")
    assert measures["delegate_call_count"] == (1, 1, "unchanged")


@pytest.mark.parametrize("sizes", [(1, 2), (2, 1)])
def test_measure_that_differs_within_a_build_varies(sizes):
    store = StoreRows()
    for size in sizes:
        _add(store, "old", [[CONV]], ("pool", size))
    _add(store, "new", [[CONV]], ("pool", 2))
    (row,) = (row for row in _ask(store) if row["measure"] == "allocated_bytes")
    assert row["verdict"] == "varies"
    assert (row["base"], row["base_high"], row["head"], row["head_high"]) == (1, 2, 2, 2)


def test_runs_and_dumps_that_logged_no_allocation_took_no_bytes():
    store = StoreRows()
    number = _add(store, "old", [[CONV]] * 2)
    store.add_allocations(number, ("pool", 8), run_index=1)
    _add(store, "new", [[CONV]] * 2, ("pool", 8), ("temp", 4))
    rows = [row for row in _ask(store) if row["measure"] == "allocated_bytes"]
    assert [(r["allocator"], r["base"], r["base_high"], r["head"], r["verdict"]) for r in rows] == [
        ("pool", 0, 8, 8, "varies"),
        ("temp", 0, 0, 4, "changed"),
    ]


def test_bytes_of_dumps_with_unequal_runs_are_not_compared():
    store = StoreRows()
    _add(store, "old", [[CONV]])
    _add(store, "new", [[CONV]] * 2)
    measures = _measures(_ask(store))
    assert "dump_bytes" not in measures
    assert measures["runs_per_dump"] == (1, 2, "changed")


def test_device_that_one_of_the_builds_lacks_is_not_compared():
    store = StoreRows()
    for build, device in (("old", "phone"), ("new", "phone"), ("new", "tablet"), ("mid", "tablet")):
        _add(store, build, [[CONV]], device=device)
    assert {row["device"] for row in _ask(store)} == {"phone"}


def test_dump_without_a_complete_run_says_nothing_of_operators():
    store = StoreRows()
    _add(store, "old", [[CONV]])
    _add(store, "new", [[CONV]])
    store.add_run(store.add_dump(build="new"), [CONV])
    (row,) = (row for row in _ask(store) if row["measure"] == "operator_count")
    assert (row["head_count"], row["verdict"]) == (1, "unchanged")


def test_bytes_that_manifests_state_of_whole_dumps_are_measures():
    store = StoreRows()
    for build, size in (("old", 100.0), ("new", 104.0)):
        number = _add(store, build, [[CONV]])
        store.add_counter(number, "program_bytes", size, unit="bytes")
        store.add_counter(number, "energy", size)
    measures = _measures(_ask(store))
    assert measures["program_bytes"] == (100, 104, "changed")
    assert "energy" not in measures
