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
    assert [(r["build"], r["dump_id"], r["value"]) for r in rows] == [
        ("b", 2, 100),
        ("b", 3, 110),
        ("a", 1, 120),
    ]
    assert {(r["event_name"], r["ordinal"], r["kind"]) for r in rows} == {(CONV, 1, "kernel")}
    assert {(r["unit"], r["floor"]) for r in rows} == {("ns", 1000)}


def test_clock_of_unknown_rate_counts_ticks():
    store = StoreRows()
    _add(store, "a", 100, ns_per_tick=None)
    (row,) = run_query(store.connect(), "dump_values")
    assert (row["unit"], row["value"], row["floor"]) == ("ticks", 100, 2)


def test_reference_builds_are_left_out_unless_named():
    store = StoreRows()
    store.add_build("pinned", role="reference")
    _add(store, "pinned", 100)
    _add(store, "a", 100)
    connection = store.connect()
    assert {row["build"] for row in run_query(connection, "dump_values")} == {"a"}
    named = run_query(connection, "dump_values", build=["pinned"])
    assert [(row["build"], row["value"]) for row in named] == [("pinned", 100)]


def test_dump_with_too_few_events_has_no_value():
    store = StoreRows()
    _add(store, "a", 100, runs=24)
    assert run_query(store.connect(), "dump_values") == []
