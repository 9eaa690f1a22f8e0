import pytest

from tests.support.store_rows import Event, StoreRows, run_query

RUN = [Event("Method::execute", 10, 0, chain=-1)]
FAILED = [Event("native_call_conv.out", 10, 0)]
LOAD = [Event("Method::init", 5, chain=-1)]


def _ask(store, **params):
    return run_query(store.connect(), "counter_totals", **params)


def _dump(store, runs=(RUN, RUN), **columns):
    """A dump of a load and these runs."""
    dump = store.add_dump(**columns)
    store.add_run(dump, LOAD, name="Default")
    for run in runs:
        store.add_run(dump, run)
    return dump


def _shown(rows, *names):
    return [tuple(row[name] for name in ("counter", "scope", *names)) for row in rows]


def test_energy_of_dumps_is_shared_by_their_inferences():
    store = StoreRows()
    for energy, runs in ((30, [RUN] * 2), (50, [RUN] * 3), (70, [RUN] * 5)):
        store.add_counter(_dump(store, runs), "energy", energy)
    (row,) = _ask(store)
    assert (row["counter"], row["unit"], row["scope"], row["run_name"]) == (
        "energy", "mJ", "dump", None,
    )  # fmt: skip
    assert (row["dump_count"], row["value_count"], row["total"]) == (3, 3, 150)
    figures = [row[name] for name in ("min", "p10", "p50", "p90", "p99", "max")]
    assert figures == pytest.approx([30, 34, 50, 66, 69.6, 70])
    assert (row["inference_count"], row["per_inference"]) == (10, 15)


def test_runs_of_each_name_are_told_apart_and_loads_are_no_inferences():
    store = StoreRows()
    store.add_counter(_dump(store), "cycles", [90, 10, 20])
    assert _shown(_ask(store), "run_name", "total", "inference_count", "per_inference") == [
        ("cycles", "run", "Default", 90, 0, None),
        ("cycles", "run", "Execute", 30, 2, 15),
    ]


def test_what_failed_is_no_inference_and_counts_in_percentiles():
    store = StoreRows()
    store.add_counter(_dump(store, [RUN, FAILED]), "cycles", [None, 10, 4])
    store.add_counter(_dump(store, [FAILED]), "energy", 6)
    assert _shown(_ask(store), "total", "min", "inference_count", "per_inference") == [
        ("cycles", "run", 14, 4, 1, 10),
        ("energy", "dump", 6, 6, 0, None),
    ]


def test_a_run_that_the_dump_does_not_have_keeps_its_value():
    store = StoreRows()
    store.add_counter(_dump(store, [RUN]), "cycles", [None, 10, 20])
    assert _shown(_ask(store), "run_name", "p50", "inference_count") == [
        ("cycles", "run", "Execute", 10, 1),
        ("cycles", "run", None, 20, 0),
    ]


def test_units_and_devices_are_told_apart():
    store = StoreRows()
    for device, unit, value in (("a", "J", 1), ("a", "mJ", 2), ("b", "mJ", 4)):
        store.add_counter(_dump(store, device=device, pool="lab"), "energy", value, unit)
    asked = ("device", "group", "unit", "total")
    assert _shown(_ask(store), *asked) == [
        ("energy", "dump", "a", None, "J", 1),
        ("energy", "dump", "a", None, "mJ", 2),
        ("energy", "dump", "b", None, "mJ", 4),
    ]
    assert _shown(_ask(store, group_by="pool"), *asked) == [
        ("energy", "dump", None, "lab", "J", 1),
        ("energy", "dump", None, "lab", "mJ", 6),
    ]


def test_dumps_that_state_no_counter_are_left_out():
    store = StoreRows()
    _dump(store)
    assert _ask(store) == []
