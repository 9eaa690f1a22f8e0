import pytest

from tests.support.store_rows import Event, StoreRows, run_query

ADD, MUL = "native_call_add.out", "native_call_mul.out"


def _run(method=100, call=50, kernel=40, flags=0):
    """A kernel of 40 in a call of 50; a delegate call of 25 with operators of 10 and 12."""
    return [
        Event(ADD, kernel, 1, flags=flags),
        Event("OPERATOR_CALL", call, 1),
        Event("", 10, 2, "GEMM #1"),
        Event("", 12, 2, "GEMM #2"),
        Event("DELEGATE_CALL", 25, 2),
        Event("Method::execute", method, 0, chain=-1),
    ]


def _ask(*runs, scope="total", **dump):
    store = StoreRows()
    number = store.add_dump(**dump)
    for run in runs:
        store.add_run(number, run)
    return run_query(store.connect(), "framework_tax", scope=scope)


def _times(row):
    names = ("run_count", "execute_ns", "kernel_ns", "delegate_ns", "tax_ns", "tax_share")
    return tuple(row[name] for name in names)


def test_total_is_what_neither_kernels_nor_delegate_calls_took():
    (row,) = _ask(_run())
    assert (row["event_name"], row["dump_id"], row["instruction_id"]) == (
        "Method::execute",
        None,
        None,
    )
    assert _times(row) == (1, 100, 40, 25, 35, 0.35)


def test_totals_are_means_and_the_share_is_sum_over_sum():
    (row,) = _ask(_run(method=100), _run(method=300))
    assert _times(row) == (2, 200, 40, 25, 135, 0.675)


def test_each_run_has_its_own_row():
    rows = _ask(_run(method=100), _run(method=300), scope="run")
    assert [(row["dump_id"], row["run_index"]) for row in rows] == [(1, 0), (1, 1)]
    assert [_times(row) for row in rows] == [
        (1, 100, 40, 25, 35, 0.35),
        (1, 300, 40, 25, 235, pytest.approx(235 / 300)),
    ]


def test_operator_call_is_taxed_by_its_kernel():
    (row,) = _ask(_run(), scope="operator")
    assert (row["event_name"], row["instruction_id"]) == (ADD, 1)
    assert _times(row) == (1, 50, 40, None, 10, 0.2)


def test_delegate_call_is_taxed_by_its_own_operators():
    (row,) = _ask(_run(), scope="delegate")
    assert (row["event_name"], row["instruction_id"]) == ("DELEGATE_CALL", 2)
    assert _times(row) == (1, 25, None, 22, 3, 0.12)


def test_delegate_timed_in_cycles_of_unknown_rate_has_no_tax():
    (row,) = _ask(_run(), scope="delegate", delegate_ns_per_tick=None)
    assert _times(row) == (1, 25, None, None, None, None)


def test_delegate_without_operators_of_its_own_has_no_tax():
    run = [Event("DELEGATE_CALL", 25, 2), Event("Method::execute", 100, 0)]
    (row,) = _ask(run, scope="delegate")
    assert _times(row) == (1, 25, None, None, None, None)


def test_failed_and_flagged_runs_do_not_count():
    failed = _run()[:-1]
    (row,) = _ask(_run(), failed, _run(method=10**9, flags=2))
    assert _times(row) == (1, 100, 40, 25, 35, 0.35)


def test_store_of_failed_runs_has_no_rows():
    assert _ask(_run()[:-1], scope="all") == []


def test_repeats_in_a_loop_are_paired_call_by_call():
    loop = [Event(ADD, 40, 1), Event("OPERATOR_CALL", 50, 1)]
    run = [*loop, *loop, Event("Method::execute", 120, 0)]
    (row,) = _ask(run, scope="operator")
    assert _times(row) == (2, 50, 40, None, 10, 0.2)


def test_same_instruction_on_two_chains_is_two_operators():
    run = [
        Event(ADD, 40, 1, chain=0),
        Event("OPERATOR_CALL", 50, 1, chain=0),
        Event(MUL, 5, 1, chain=1),
        Event("OPERATOR_CALL", 9, 1, chain=1),
        Event("Method::execute", 100, 0),
    ]
    rows = _ask(run, scope="operator")
    assert [(row["event_name"], row["tax_ns"]) for row in rows] == [(ADD, 10), (MUL, 4)]


def test_call_without_a_kernel_is_left_out():
    run = [Event("OPERATOR_CALL", 50, 1), Event("Method::execute", 100, 0)]
    assert _ask(run, scope="operator") == []


def test_cycles_of_unknown_rate_give_rows_without_times():
    (row,) = _ask(_run(), ns_per_tick=None)
    assert _times(row) == (1, None, None, None, None, None)


@pytest.mark.slow
def test_all_scopes_together_are_the_scopes_one_by_one():
    one_by_one = [_ask(_run(), scope=s) for s in ("delegate", "operator", "run", "total")]
    assert _ask(_run(), scope="all") == [row for rows in one_by_one for row in rows]
