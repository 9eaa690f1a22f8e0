import pytest

from tests.support.store_rows import Event, StoreRows, run_query


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for ordinal, build in enumerate(("b1", "b3", "b2"), start=1):
        store.add_build(build, ordinal=ordinal)
    for device, build, runs in (("a", "b1", 2), ("a", "b1", 1), ("b", "b2", 3)):
        number = store.add_dump(device=device, build=build, backend=None)
        for _ in range(runs):
            store.add_run(number, [Event("Method::execute", 10, 0), Event("x", 5, 1)])
    store.add_dump(device="a", build="b3", backend="xnnpack")
    return store.connect()


def _rows(farm, **params):
    return [
        tuple(row[name] for name in ("device", "backend", "build", "dump_count"))
        for row in run_query(farm, "coverage", **params)
    ]


def test_each_build_of_a_model_on_a_device_has_its_dumps(farm):
    assert _rows(farm) == [
        ("a", "xnnpack", "b3", 1),
        ("a", None, "b1", 2),
        ("b", None, "b2", 1),
    ]


def test_runs_and_events_are_added_up(farm):
    counts = [(row["run_count"], row["event_count"]) for row in run_query(farm, "coverage")]
    assert counts == [(0, 0), (3, 6), (3, 6)]


def test_builds_of_a_model_on_a_device_stand_in_their_order():
    store = StoreRows()
    for ordinal, build in enumerate(("b2", "b10", "b1"), start=1):
        store.add_build(build, ordinal=ordinal)
    for build in ("b1", "b2", "b10"):
        store.add_dump(build=build)
    rows = run_query(store.connect(), "coverage")
    assert [row["build"] for row in rows] == ["b2", "b10", "b1"]
