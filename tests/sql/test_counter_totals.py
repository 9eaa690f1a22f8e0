import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown

RUN = [Event("Method::execute", 10, 0, chain=-1)]
FAILED = [Event("native_call_conv.out", 10, 0)]
LOAD = [Event("Method::init", 5, chain=-1)]


def _dump(store, device, runs=(RUN, RUN), **columns):
    """A dump of a load and these runs."""
    dump = store.add_dump(device=device, **columns)
    store.add_run(dump, LOAD, name="Default")
    store.add_runs(dump, runs)
    return dump


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for energy, count in ((30, 2), (50, 3), (70, 5)):
        store.add_counter(_dump(store, "energy", [RUN] * count), "energy", energy)
    store.add_counter(_dump(store, "runs"), "cycles", [90, 10, 20])
    store.add_counter(_dump(store, "failed", [RUN, FAILED]), "cycles", [None, 10, 4])
    store.add_counter(_dump(store, "failed", [FAILED]), "energy", 6)
    store.add_counter(_dump(store, "too many values", [RUN]), "cycles", [None, 10, 20])
    for device, unit, value in (("a", "J", 1), ("a", "mJ", 2), ("b", "mJ", 4)):
        store.add_counter(_dump(store, device, pool="lab"), "energy", value, unit)
    _dump(store, "no counter")
    return store.connect()


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "counter_totals")


def _shown(rows, *names):
    return shown(rows, "counter", "scope", *names)


def test_energy_of_dumps_is_shared_by_their_inferences(rows):
    (row,) = rows["energy"]
    names = ("run_name", "unit", "dump_count", "value_count", "total")
    assert _shown([row], *names) == [("energy", "dump", None, "mJ", 3, 3, 150)]
    figures = [row[name] for name in ("min", "p10", "p50", "p90", "p99", "max")]
    assert figures == pytest.approx([30, 34, 50, 66, 69.6, 70])
    assert (row["inference_count"], row["per_inference"]) == (10, 15)


def test_runs_of_each_name_are_told_apart_and_loads_are_no_inferences(rows):
    names = ("run_name", "total", "inference_count", "per_inference")
    assert _shown(rows["runs"], *names) == [
        ("cycles", "run", "Default", 90, 0, None),
        ("cycles", "run", "Execute", 30, 2, 15),
    ]


def test_failed_runs_are_no_inferences_but_count_in_percentiles(rows):
    assert _shown(rows["failed"], "total", "min", "inference_count", "per_inference") == [
        ("cycles", "run", 14, 4, 1, 10),
        ("energy", "dump", 6, 6, 0, None),
    ]


def test_a_run_that_the_dump_does_not_have_keeps_its_value(rows):
    assert _shown(rows["too many values"], "run_name", "p50", "inference_count") == [
        ("cycles", "run", "Execute", 10, 1),
        ("cycles", "run", None, 20, 0),
    ]


def test_units_and_devices_are_told_apart_unless_grouped(farm, rows):
    asked = ("group", "unit", "total")
    assert _shown(rows["a"] + rows["b"], *asked) == [
        ("energy", "dump", None, "J", 1),
        ("energy", "dump", None, "mJ", 2),
        ("energy", "dump", None, "mJ", 4),
    ]
    assert _shown(run_query(farm, "counter_totals", pool="lab", group_by="pool"), *asked) == [
        ("energy", "dump", "lab", "J", 1),
        ("energy", "dump", "lab", "mJ", 6),
    ]


def test_dumps_that_state_no_counter_are_left_out(rows):
    assert rows["no counter"] == []
