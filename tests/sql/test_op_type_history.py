import pytest

from tests.support.store_rows import Event, StoreRows, run_query


def _run(add):
    return [
        Event("native_call_add.out", add, 0),
        Event("native_call_add.Scalar_out", 5, 1),
        Event("native_call_add.Scalar_out", 5, 1),
        Event("", 3, 2, "GEMM #1"),
        Event("", 4, 2, "GEMM #2"),
        Event("DELEGATE_CALL", 9, 2),
        Event("Method::execute", 100, 0, chain=-1),
    ]


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for ordinal, build in enumerate(("old", "new"), start=1):
        store.add_build(build, ordinal=ordinal)
        for extra in (0, 2):
            dump = store.add_dump(build=build, delegate_ns_per_tick=None if extra else 2.0)
            for _ in range(2):
                store.add_run(dump, _run(10 * ordinal + extra))
    return run_query(store.connect(), "op_type_history")


def _of(rows, op_type, *names):
    return [tuple(row[name] for name in names) for row in rows if row["op_type"] == op_type]


def test_overloads_and_calls_of_a_type_add_up_per_run(rows):
    names = ("build", "dump_count", "run_count", "operator_count", "run_calls", "run_ns")
    assert _of(rows, "add", *names) == [("old", 2, 4, 2, 3, 21), ("new", 2, 4, 2, 3, 31)]


def test_change_and_share_are_those_of_the_operator_type(rows):
    assert _of(rows, "add", "time_share", "change") == [
        (pytest.approx(0.21), None),
        (pytest.approx(0.31), pytest.approx(31 / 21 - 1)),
    ]


def test_delegates_and_their_operators_are_types_of_their_own(rows):
    assert _of(rows, "DELEGATE_CALL", "kind", "run_ns")[0] == ("delegate_call", 9)
    assert _of(rows, "GEMM", "kind", "operator_count", "run_calls")[0] == ("delegate_op", 2, 2)


def test_a_sum_with_cycles_of_unknown_rate_is_unknown(rows):
    assert _of(rows, "GEMM", "run_ns", "time_share", "change")[0] == (None, None, None)
