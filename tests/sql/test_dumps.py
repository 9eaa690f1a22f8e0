from tests.support.store_rows import Event, StoreRows, run_query


def test_dumps_come_in_order_of_arrival_with_names_and_counts():
    store = StoreRows()
    store.add_run(store.add_dump(device="tablet"), [Event("a", 1, 0), Event("b", -1, 0, flags=2)])
    store.add_dump(build="b2", pool="lab", backend=None)
    rows = run_query(store.connect(), "dumps")
    names = ("dump_id", "device", "pool", "build", "backend", "n_runs", "n_events")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (1, "tablet", None, "b1", "xnnpack", 1, 2),
        (2, "phone", "lab", "b2", None, 0, 0),
    ]
    assert [row["n_flagged_events"] for row in rows] == [1, 0]
