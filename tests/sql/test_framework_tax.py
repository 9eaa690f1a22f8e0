import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown

ADD, MUL = "native_call_add.out", "native_call_mul.out"
TIMES = ("run_count", "execute_ns", "kernel_ns", "delegate_ns", "tax_ns", "tax_share")


def _run(method=100, flags=0):
    """A kernel of 40 in a call of 50; a delegate call of 25 with operators of 10 and 12."""
    return [
        Event(ADD, 40, 1, flags=flags),
        Event("OPERATOR_CALL", 50, 1),
        Event("", 10, 2, "GEMM #1"),
        Event("", 12, 2, "GEMM #2"),
        Event("DELEGATE_CALL", 25, 2),
        Event("Method::execute", method, 0, chain=-1),
    ]


LOOP = [Event(ADD, 40, 1), Event("OPERATOR_CALL", 50, 1)]
CHAINS = [
    Event(ADD, 40, 1, chain=0),
    Event("OPERATOR_CALL", 50, 1, chain=0),
    Event(MUL, 5, 1, chain=1),
    Event("OPERATOR_CALL", 9, 1, chain=1),
]
END = Event("Method::execute", 100, 0)
CASES = {
    "one run": [_run()],
    "two runs": [_run(method=100), _run(method=300)],
    "failed and flagged": [_run(), _run()[:-1], _run(method=10**9, flags=2)],
    "failed alone": [_run()[:-1]],
    "no operators": [[Event("DELEGATE_CALL", 25, 2), END]],
    "loop": [[*LOOP, *LOOP, END._replace(ticks=120)]],
    "chains": [[*CHAINS, END]],
    "no kernel": [[Event("OPERATOR_CALL", 50, 1), END]],
    "two kernels": [
        [*LOOP, Event(MUL, 3, 1), Event(MUL, 5, 2), Event("OPERATOR_CALL", 9, 2), END],
    ],
    "call without a kernel": [[*LOOP, Event("OPERATOR_CALL", 50, 1), END]],
    "some operators in ticks": [
        [
            Event("", 10, 2, "1"),
            Event("", 12, 2, "sum:ios15.add"),  # Core ML's, in nanoseconds
            Event("DELEGATE_CALL", 25, 2),
            END,
        ]
    ],
    "ticks": [_run()],
    "delegate in ticks": [_run()],
}
CLOCKS = {
    "ticks": {"ns_per_tick": None},
    "delegate in ticks": {"delegate_ns_per_tick": None},
    "some operators in ticks": {"delegate_ns_per_tick": None},
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for device, runs in CASES.items():
        store.add_runs(store.add_dump(device=device, **CLOCKS.get(device, {})), runs)
    return store.connect()


@pytest.fixture(scope="module")
def rows(farm):
    """The rows of all scopes by case and scope."""
    found = run_by_device(farm, "framework_tax", scope="all")
    return {
        (device, scope): [row for row in own if row["scope"] == scope]
        for device, own in found.items()
        for scope in ("delegate", "operator", "run", "total")
    }


def test_total_is_what_neither_kernels_nor_delegate_calls_took(rows):
    total = rows["one run", "total"]
    names = ("event_name", "dump_id", "instruction_id", *TIMES)
    assert shown(total, *names) == [("Method::execute", None, None, 1, 100, 40, 25, 35, 0.35)]
    # Totals are means, and the share is sum over sum.
    assert shown(rows["two runs", "total"], *TIMES) == [(2, 200, 40, 25, 135, 0.675)]


def test_each_run_has_its_own_row(rows):
    assert shown(rows["two runs", "run"], "dump_id", "run_index", *TIMES) == [
        (2, 0, 1, 100, 40, 25, 35, 0.35),
        (2, 1, 1, 300, 40, 25, 235, pytest.approx(235 / 300)),
    ]


def test_operator_call_is_taxed_by_its_kernel(rows):
    names = ("event_name", "instruction_id", *TIMES)
    assert shown(rows["one run", "operator"], *names) == [(ADD, 1, 1, 50, 40, None, 10, 0.2)]
    # Repeats in a loop are paired call by call, and an instruction on two chains is two operators.
    assert shown(rows["loop", "operator"], *TIMES) == [(2, 50, 40, None, 10, 0.2)]
    assert shown(rows["chains", "operator"], "event_name", "tax_ns") == [(ADD, 10), (MUL, 4)]
    assert rows["no kernel", "operator"] == []


def test_kernels_of_an_instruction_add_up(rows):
    names = ("event_name", "instruction_id", *TIMES)
    assert shown(rows["two kernels", "operator"], *names) == [
        (MUL, 1, 1, 50, 43, None, 7, 0.14),
        (MUL, 2, 1, 9, 5, None, 4, pytest.approx(4 / 9)),
    ]
    # It is unknown what a call does that logs no kernel.
    assert shown(rows["call without a kernel", "operator"], *TIMES) == [
        (2, 50, None, None, None, None)
    ]


def test_delegate_call_is_taxed_by_its_own_operators(rows):
    names = ("event_name", "instruction_id", *TIMES)
    assert shown(rows["one run", "delegate"], *names) == [
        ("DELEGATE_CALL", 2, 1, 25, None, 22, 3, 0.12)
    ]
    unknown = [(1, 25, None, None, None, None)]
    assert shown(rows["delegate in ticks", "delegate"], *TIMES) == unknown
    assert shown(rows["some operators in ticks", "delegate"], *TIMES) == unknown
    assert shown(rows["no operators", "delegate"], *TIMES) == unknown


def test_failed_and_flagged_runs_do_not_count(rows):
    assert shown(rows["failed and flagged", "total"], *TIMES) == [(1, 100, 40, 25, 35, 0.35)]
    assert [own for (device, _), own in rows.items() if device == "failed alone"] == [[]] * 4


def test_cycles_of_unknown_rate_give_rows_without_times(rows):
    assert shown(rows["ticks", "total"], *TIMES) == [(1, *[None] * 5)]


def test_all_scopes_together_are_the_scopes_one_by_one(farm, rows):
    for scope in ("operator", "total"):
        alone = run_by_device(farm, "framework_tax", scope=scope)
        assert alone == {device: rows[device, scope] for device in CASES}


def test_a_backend_is_one_row_with_all_of_its_builds_and_models():
    store = StoreRows()
    for build, model, backend in (("a", "m", "x"), ("b", "n", "x"), ("b", "n", "y")):
        store.add_runs(store.add_dump(build=build, model=model, backend=backend), [_run(), _run()])
    found = run_query(store.connect(), "framework_tax", group_by="backend")
    assert shown(found, "build", "model", "backend", "group", *TIMES[:2], "tax_share") == [
        (None, None, "x", "x", 4, 100, 0.35),
        (None, None, "y", "y", 2, 100, 0.35),
    ]
