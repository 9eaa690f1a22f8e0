import pytest

from tests.support.store_rows import Event, StoreRows, run_query


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    devices = [("a", "lab", 100), ("a", "lab", 140), ("b", "lab", 180), ("c", None, 60)]
    for device, pool, ticks in devices:
        number = store.add_dump(device=device, pool=pool, soc=f"soc of {device}")
        for run in range(26):
            first = 900 if run < 5 else ticks  # warm-up does not count
            store.add_run(number, [
                Event("native_call_add.out", 7, 1),
                Event("Method::execute", first, 0, chain=-1),
            ])  # fmt: skip
    short = store.add_dump(device="d", pool="field")
    store.add_run(short, [Event("Method::execute", 120, 0, chain=-1)])
    cycles = store.add_dump(device="e", ns_per_tick=None)
    store.add_run(cycles, [Event("Method::execute", 1, 0, chain=-1)])
    return store.connect()


def test_devices_are_compared_with_the_fastest_and_with_their_pool(farm):
    names = ("device", "dump_count", "p50_ns", "rank", "over_fastest", "pool_ns", "over_pool")
    rows = run_query(farm, "device_comparison")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("a", 2, 120, 2, 2, 150, 0.8),
        ("b", 1, 180, 4, 3, 150, 1.2),
        ("c", 1, 60, 1, 1, 60, 1),
        ("d", 1, 120, 2, 2, 120, 1),
    ]
    assert [row["soc"] for row in rows] == ["soc of a", "soc of b", "soc of c", None]


def test_any_event_can_be_compared(farm):
    rows = run_query(farm, "device_comparison", event="native_call_*")
    assert [(row["device"], row["event_name"], row["p50_ns"]) for row in rows] == [
        (device, "native_call_add.out", 7) for device in "abc"
    ]


def test_builds_and_models_are_not_compared_with_each_other():
    store = StoreRows()
    for build, model in (("b1", "m1"), ("b1", "m2"), ("b2", "m1")):
        number = store.add_dump(build=build, model=model)
        store.add_run(number, [Event("Method::execute", 10, 0, chain=-1)])
    rows = run_query(store.connect(), "device_comparison")
    assert [row["rank"] for row in rows] == [1, 1, 1]
