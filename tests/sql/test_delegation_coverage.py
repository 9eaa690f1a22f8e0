import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

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


TRACED = [
    Event("", 20, 0, "Reshape #1"),
    Event("", 20, 0, "Reshape #2"),
    Event("", 20, 0, "Softmax #3"),
    Event("DELEGATE_CALL", 70, 0, ran_on="XnnpackBackend", modules=("",), line="net.py:1"),
    *[Event("native_call_softmax.out", 15, 1, modules=("",), line="net.py:2")] * 2,
    Event("native_call_copy.out", 15, 2),
    Event("Method::execute", 200, 0, chain=-1),
]
# By device: a run, and columns of the dumps.
CASES = {
    "with an ETRecord": (RUN, {"etrecord": "some.etrecord"}),
    "without": (RUN, {}),
    "no delegate": (RUN[3:4] + RUN[-1:], {}),
    "ticks": (RUN, {"ns_per_tick": None}),
    "delegate in ticks": (RUN, {"delegate_ns_per_tick": None}),
    "traced": (TRACED, {"etrecord": "other.etrecord"}),
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, (run, columns) in CASES.items():
        for _ in range(2):
            store.add_runs(store.add_dump(device=device, **columns), [run] * 3)
    return run_by_device(store.connect(), "delegation_coverage")


def test_delegates_and_types_of_kernels_by_hand(rows):
    names = (
        "is_delegated", "op_type", "delegate_backend", "call_count", "operator_count",
        "operator_share", "run_calls", "run_ns", "time_share",
    )  # fmt: skip
    assert shown(rows["with an ETRecord"], *names) == [
        (True, "DELEGATE_CALL", "CoreMLBackend", 1, 1, 0.2, 1, 10, pytest.approx(0.1)),
        (True, "DELEGATE_CALL", "XnnpackBackend", 1, 2, 0.4, 1, 40, pytest.approx(0.4)),
        (False, "add", None, 2, 2, 0.4, 3, 25, pytest.approx(0.25)),
    ]


def test_delegates_without_an_etrecord_are_counted_together(rows):
    names = ("delegate_backend", "call_count", "operator_count", "run_ns", "run_nodes")
    assert shown(rows["without"][:1], *names) == [(None, 2, 3, 50, None)]
    assert {row["node_share"] for row in rows["without"]} == {None}


def test_a_program_without_delegates_falls_back_whole(rows):
    assert shown(rows["no delegate"], "is_delegated", "operator_share") == [(False, 1)]


def test_cycles_of_unknown_rate_have_counts_alone(rows):
    assert shown(rows["ticks"], "operator_share", "run_ns", "time_share") == [
        (0.6, None, None),
        (0.4, None, None),
    ]
    # Operators of another clock do not count for the time.
    assert rows["delegate in ticks"][0]["run_ns"] == 50


def test_nodes_of_the_graph_are_those_that_an_etrecord_traces(rows):
    share = pytest.approx
    assert shown(rows["traced"], "op_type", "operator_count", "run_nodes", "node_share") == [
        ("DELEGATE_CALL", 3, 1, share(1 / 3)),
        ("copy", 1, 0, 0),
        ("softmax", 1, 2, share(2 / 3)),
    ]
