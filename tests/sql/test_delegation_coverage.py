import pytest

from tests.support.store_rows import Event, StoreRows, run_query

RUN = [
    Event("", 20, 0, "GEMM #1"),
    Event("", 10, 0, "GEMM #2"),
    Event("DELEGATE_CALL", 40, 0, ran_on="XnnpackBackend"),
    Event("native_call_add.out", 15, 1),
    Event("OPERATOR_CALL", 16, 1),
    Event("native_call_add.Scalar_out", 5, 2),
    Event("native_call_add.Scalar_out", 5, 2),
    Event("DELEGATE_CALL", 10, 3, ran_on="CoreMLBackend"),
    Event("Method::execute", 100, 0, chain=-1),
]


def _ask(run=tuple(RUN), **columns):
    store = StoreRows()
    for _ in range(2):
        number = store.add_dump(**columns)
        for _ in range(3):
            store.add_run(number, run)
    return run_query(store.connect(), "delegation_coverage")


def test_delegates_and_types_of_kernels_by_hand():
    names = (
        "is_delegated", "op_type", "delegate_backend", "call_count", "operator_count",
        "operator_share", "run_calls", "run_ns", "time_share",
    )  # fmt: skip
    rows = _ask(etrecord="some.etrecord")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (True, "DELEGATE_CALL", "CoreMLBackend", 1, 1, 0.2, 1, 10, pytest.approx(0.1)),
        (True, "DELEGATE_CALL", "XnnpackBackend", 1, 2, 0.4, 1, 40, pytest.approx(0.4)),
        (False, "add", None, 2, 2, 0.4, 3, 25, pytest.approx(0.25)),
    ]


def test_without_an_etrecord_delegates_are_one():
    (delegates, _) = _ask()
    assert (delegates["delegate_backend"], delegates["call_count"]) == (None, 2)
    assert (delegates["operator_count"], delegates["run_ns"]) == (3, 50)


def test_a_program_without_delegates_falls_back_whole():
    (row,) = _ask(RUN[3:4] + RUN[-1:])
    assert (row["is_delegated"], row["operator_share"]) == (False, 1)


def test_cycles_of_unknown_rate_have_counts_alone():
    rows = _ask(ns_per_tick=None)
    assert [row["operator_share"] for row in rows] == [0.6, 0.4]
    assert {(row["run_ns"], row["time_share"]) for row in rows} == {(None, None)}


def test_operators_of_another_clock_do_not_count_for_the_time():
    rows = _ask(delegate_ns_per_tick=None)
    assert rows[0]["run_ns"] == 50


@pytest.mark.slow
def test_nodes_of_the_graph_are_those_that_an_etrecord_traces():
    events = [
        Event("", 20, 0, "Reshape #1"),
        Event("", 20, 0, "Reshape #2"),
        Event("", 20, 0, "Softmax #3"),
        Event("DELEGATE_CALL", 70, 0, ran_on="XnnpackBackend", modules=("",), line="net.py:1"),
        *[Event("native_call_softmax.out", 15, 1, modules=("",), line="net.py:2")] * 2,
        Event("native_call_copy.out", 15, 2),
        Event("Method::execute", 200, 0, chain=-1),
    ]
    found = [
        (row["op_type"], row["operator_count"], row["run_nodes"], row["node_share"])
        for row in _ask(events, etrecord="some.etrecord")
    ]
    share = pytest.approx
    assert found == [
        ("DELEGATE_CALL", 3, 1, share(1 / 3)),
        ("copy", 1, 0, 0),
        ("softmax", 1, 2, share(2 / 3)),
    ]
    assert {(row["run_nodes"], row["node_share"]) for row in _ask()} == {(None, None)}
