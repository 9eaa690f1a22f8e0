import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

EXECUTE = Event("Method::execute", 90, 0, chain=-1)
CONV = Event("native_call_conv.out", 10, 1)
RELU = Event("native_call_relu.out", 10, 2)
CALL = Event("DELEGATE_CALL", 10, 3)
PARTS = [Event("", 1, 3, "GEMM #1"), Event("", 1, 3, "GEMM #2")]


def _add(store, device, build, runs, *allocations):
    """A dump whose runs log these events, each of which allocates these bytes."""
    number = store.add_dump(device=device, build=build)
    store.add_runs(number, [[*events, EXECUTE] for events in runs])
    for index in range(len(runs)):
        store.add_allocations(number, *allocations, run_index=index)
    return number


# By device: build, runs and allocations of each dump.
USUAL = [CONV, CALL, *PARTS, RELU]
DUMPS = {
    "two builds": [
        ("old", [USUAL] * 2, ("pool", 100), ("pool", 28)),
        ("new", [[*USUAL, RELU._replace(instruction=4)]] * 2, ("pool", 64)),
    ],
    "same": [(build, [[CONV, CALL, *PARTS]] * 3, ("pool", 8)) for build in ("old", "old", "new")],
    "loop": [("old", [[CONV, CONV]]), ("new", [[CONV] * 3])],
    "no operators": [("old", [[CONV, CALL]]), ("new", [[CALL]])],
    "unlike dumps": [
        ("old", [[CONV]], ("pool", 1)),
        ("old", [[CONV]], ("pool", 2)),
        ("new", [[CONV]], ("pool", 2)),
    ],
    "unlike dumps, smaller last": [
        ("old", [[CONV]], ("pool", 2)),
        ("old", [[CONV]], ("pool", 1)),
        ("new", [[CONV]], ("pool", 2)),
    ],
    "unequal runs": [("old", [[CONV]]), ("new", [[CONV]] * 2)],
    "new alone": [("new", [[CONV]]), ("mid", [[CONV]])],
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, dumps in DUMPS.items():
        for dump in dumps:
            _add(store, device, *dump)
    number = _add(store, "unlike runs", "old", [[CONV]] * 2)
    store.add_allocations(number, ("pool", 8), run_index=1)
    _add(store, "unlike runs", "new", [[CONV]] * 2, ("pool", 8), ("temp", 4))
    for build in ("old", "new"):
        _add(store, "incomplete", build, [[CONV]])
        number = _add(store, "unlike loads", build, [[CONV]], ("pool", 8))
        _add(store, "unlogged", build, [[CONV]], *[("pool", 8)] * (build == "new"))
        _add(store, "method only", build, [[CONV] if build == "new" else []])
        if build == "new":
            store.add_run(number, [EXECUTE._replace(name="Method::init")], name="Default")
            store.add_allocations(number, ("pool", 4096), run_index=1)
    store.add_run(store.add_dump(build="new", device="incomplete"), [CONV])
    for build, size in (("old", 100.0), ("new", 104.0)):
        number = _add(store, "stated", build, [[CONV]])
        store.add_counter(number, "program_bytes", size, unit="bytes")
        store.add_counter(number, "energy", size)
    return run_by_device(store.connect(), "exact_changes", base="old", head="new")


def _measures(rows):
    return {row["measure"]: (row["base"], row["head"], row["verdict"]) for row in rows}


def _of(rows, measure, *names):
    return shown([row for row in rows if row["measure"] == measure], *names)


def test_two_builds_by_hand(rows):
    found = rows["two builds"]
    assert _measures(found) == {
        "allocated_bytes": (128, 64, "changed"),
        "delegate_call_count": (1, 1, "unchanged"),
        "delegate_calls": (1, 1, "unchanged"),
        "delegated_share": (2 / 4, 2 / 5, "changed"),
        "dump_bytes": (1000, 1000, "unchanged"),
        "operator_calls": (2, 3, "changed"),
        "operator_count": (2, 3, "changed"),
        "runs_per_dump": (2, 2, "unchanged"),
    }
    assert {(row["base_count"], row["head_count"]) for row in found} == {(1, 1)}
    assert (found[0]["run_name"], found[0]["allocator"]) == ("Execute", "pool")
    assert {row["verdict"] for row in rows["same"]} == {"unchanged"}


def test_loop_calls_an_operator_more_often_without_being_more_operators(rows):
    measures = _measures(rows["loop"])
    assert measures["operator_count"] == (1, 1, "unchanged")
    assert measures["operator_calls"] == (2, 3, "changed")


def test_delegate_that_logs_no_operators_counts_as_one(rows):
    measures = _measures(rows["no operators"])
    assert measures["delegated_share"] == (0.5, 1, "changed")
    assert measures["delegate_call_count"] == (1, 1, "unchanged")


def test_measure_that_differs_within_a_build_varies(rows):
    names = ("base", "base_high", "head", "head_high", "verdict")
    for device in ("unlike dumps", "unlike dumps, smaller last"):
        assert _of(rows[device], "allocated_bytes", *names) == [(1, 2, 2, 2, "varies")]
    # Runs that logged no allocation took no bytes.
    names = ("allocator", "base", "base_high", "head", "verdict")
    assert _of(rows["unlike runs"], "allocated_bytes", *names) == [
        ("pool", 0, 8, 8, "varies"),
        ("temp", 0, 0, 4, "changed"),
    ]


def test_bytes_of_dumps_with_unequal_runs_are_not_compared(rows):
    measures = _measures(rows["unequal runs"])
    assert "dump_bytes" not in measures
    assert measures["runs_per_dump"] == (1, 2, "changed")


def test_measures_that_a_build_lacks_are_not_compared(rows):
    assert rows["new alone"] == []
    # A dump without a complete run says nothing of operators.
    found = _of(rows["incomplete"], "operator_count", "head_count", "verdict")
    assert found == [(1, "unchanged")]


def test_memory_of_runs_that_a_build_does_not_have_is_no_change(rows):
    names = ("run_name", "base", "head", "verdict")
    assert _of(rows["unlike loads"], "allocated_bytes", *names) == [("Execute", 8, 8, "unchanged")]


def test_a_dump_without_allocations_has_no_memory_measures(rows):
    assert "allocated_bytes" not in _measures(rows["unlogged"])


def test_runs_that_log_only_their_method_have_no_operator_measures(rows):
    assert [*_measures(rows["method only"])] == ["dump_bytes", "runs_per_dump"]


def test_bytes_that_manifests_state_of_whole_dumps_are_measures(rows):
    measures = _measures(rows["stated"])
    assert measures["program_bytes"] == (100, 104, "changed")
    assert "energy" not in measures
