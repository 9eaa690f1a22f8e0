import pytest

from tests.support.store_rows import Event, StoreRows, run_query


@pytest.fixture(scope="module")
def farm():
    body = {"modules": ("", "body"), "line": "/src/net.py:7"}
    store = StoreRows()
    for device, etrecord in (("phone", "some.etrecord"), ("tablet", None)):
        dump = store.add_dump(device=device, etrecord=etrecord)
        for _ in range(2):
            store.add_run(dump, [
                Event("native_call_mul.out", 20, 0, **body),
                Event("native_call_add.out", 30, 1, **body),
                Event("native_call_add.out", 40, 2, modules=("", "head"), line="/src/net.py:9"),
                Event("native_call_exp.out", 5, 3, modules=("", "head")),
                Event("native_call_cos.out", 1, 4),
                Event("Method::execute", 100, 0, chain=-1),
            ])  # fmt: skip
    return store.connect()


def test_layers_and_lines_by_hand(farm):
    names = ("rank", "module_path", "source_line", "event_count", "run_ns", "time_share")
    assert [tuple(row[name] for name in names) for row in run_query(farm, "layer_hotspots")] == [
        (1, "body", "/src/net.py:7", 4, 50, 0.5),
        (2, "head", "/src/net.py:9", 2, 40, 0.4),
        (3, "head", None, 2, 5, 0.05),
    ]


def test_dumps_without_an_etrecord_are_left_out(farm):
    assert {row["device"] for row in run_query(farm, "layer_hotspots")} == {"phone"}


def test_an_event_of_several_layers_counts_for_each_but_not_alone():
    store = StoreRows()
    dump = store.add_dump(etrecord="some.etrecord")
    fused = Event("DELEGATE_CALL", 30, 0, modules=("", "body"), line="/src/net.py:7")
    alone = Event("native_call_add.out", 10, 1, modules=("", "body"), line="/src/net.py:7")
    store.add_run(dump, [fused, alone, Event("Method::execute", 50, 0, chain=-1)])
    connection = store.connect()
    connection.execute(
        "INSERT INTO event_modules BY NAME SELECT * REPLACE ('head' AS module_path) "
        "FROM event_modules WHERE module_path = 'body' AND event_signature_id = 1"
    )
    rows = run_query(connection, "layer_hotspots")
    names = ("module_path", "source_line", "run_ns", "alone_ns")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("body", "/src/net.py:7", 40, 10),
        ("head", None, 30, 0),
    ]


def test_cycles_of_unknown_rate_have_no_times():
    store = StoreRows()
    dump = store.add_dump(etrecord="some.etrecord", ns_per_tick=None)
    store.add_run(dump, [
        Event("native_call_mul.out", 20, 0, modules=("",)),
        Event("Method::execute", 100, 0, chain=-1),
    ])  # fmt: skip
    (row,) = run_query(store.connect(), "layer_hotspots")
    assert (row["event_count"], row["run_ns"], row["alone_ns"]) == (1, None, None)
