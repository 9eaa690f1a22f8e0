from tests.support.store_rows import Event, StoreRows, run_query

CONV = "native_call_conv.out"


def _add(store, build, ticks, *, runs=25, **columns):
    number = store.add_dump(build=build, **columns)
    for run in range(runs):
        store.add_run(number, [Event(CONV, 900_000 if run < 5 else ticks, 1)])


def test_values_of_two_builds_by_hand():
    store = StoreRows()
    for ordinal, build in enumerate(("b", "a"), start=1):
        store.add_build(build, ordinal=ordinal)
    _add(store, "a", 120)
    _add(store, "b", 100)
    _add(store, "b", 110)
    rows = run_query(store.connect(), "dump_values")
    assert [(r["build"], r["position"], r["dump_id"], r["value_ns"]) for r in rows] == [
        ("b", 1, 2, 100),
        ("b", 1, 3, 110),
        ("a", 2, 1, 120),
    ]
    assert {(r["event_name"], r["ordinal"], r["kind"], r["series_id"]) for r in rows} == {
        (CONV, 1, "kernel", 1)
    }
    assert {r["floor_ns"] for r in rows} == {1000}


def test_operators_are_numbered_in_the_order_of_the_rows():
    store = StoreRows()
    for device in ("tablet", "phone"):
        _add(store, "a", 100, device=device)
    rows = run_query(store.connect(), "dump_values")
    assert [(r["device"], r["series_id"]) for r in rows] == [("phone", 1), ("tablet", 2)]


def test_dump_with_too_few_events_has_no_value():
    store = StoreRows()
    _add(store, "a", 100, runs=24)
    assert run_query(store.connect(), "dump_values") == []
