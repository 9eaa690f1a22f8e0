import pytest

from tests.support.store_rows import Event, StoreRows, run_query

FIGURES = (
    "run_name", "allocator", "instruction_id", "event_name", "run_count", "allocation_count",
    "total_bytes", "peak_bytes", "largest_bytes",
)  # fmt: skip
# Each kernel ends before its call of an operator, and the method after all of them.
RUN = [
    Event("native_call_add.out", 10, 0, start=0),
    Event("OPERATOR_CALL", 12, 0, start=0),
    Event("native_call_mul.out", 10, 1, start=20),
    Event("OPERATOR_CALL", 12, 1, start=20),
    Event("Method::execute", 40, 0, chain=-1),
]


def _rows(store, **params):
    rows = run_query(store.connect(), "memory_by_instruction", **params)
    return [tuple(row[name] for name in FIGURES) for row in rows]


def _store(events, *allocated, name="Execute", **more):
    """One run; each allocation is (position among all that is recorded, allocator, bytes)."""
    store = StoreRows()
    dump = store.add_dump(**more)
    store.add_run(dump, events, name=name)
    positions = [position for position, *_ in allocated]
    store.add_allocations(dump, *(one[1:] for one in allocated), positions=positions)
    return store


def test_an_allocation_is_of_the_instruction_whose_kernel_ends_next():
    store = _store(RUN, (0, "temp", 64), (3, "temp", 16), (4, "temp", 8), (7, "method", 5))
    assert _rows(store) == [
        ("Execute", "method", None, "Method::execute", 1, 1, 5, 5, 5),
        ("Execute", "temp", 0, "native_call_add.out", 1, 1, 64, 64, 64),
        ("Execute", "temp", 1, "native_call_mul.out", 1, 2, 24, 24, 16),
    ]


def test_what_is_allocated_around_a_kernel_is_of_its_instruction_too():
    store = _store(RUN, (1, "temp", 64))
    assert _rows(store) == [("Execute", "temp", 0, "native_call_add.out", 1, 1, 64, 64, 64)]


def test_what_nothing_follows_is_of_no_instruction():
    store = _store(RUN, (5, "temp", 64))
    assert _rows(store) == [("Execute", "temp", None, None, 1, 1, 64, 64, 64)]


def test_logged_values_are_no_profile_events():
    store = _store(RUN, (3, "temp", 16))
    store.add_values(1, [(0, 0.5)])
    assert [row[2:4] for row in _rows(store)] == [(1, "native_call_mul.out")]


def test_operators_in_a_delegate_end_with_its_call_whatever_their_clock_says():
    inside = [
        Event("native_call_add.out", 10, 0, start=0),
        Event("", 1, 1, "conv", start=900_000),
        Event("", 1, 1, "conv", start=900_001),
        Event("DELEGATE_CALL", 10, 1, start=20),
        Event("native_call_mul.out", 10, 2, start=40),
        Event("Method::execute", 60, 0, chain=-1),
    ]
    store = _store(inside, (1, "temp", 1), (4, "temp", 2), (6, "temp", 4))
    assert [row[2:4] + row[6:7] for row in _rows(store)] == [
        (1, "DELEGATE_CALL", 3),
        (2, "native_call_mul.out", 4),
    ]


def test_bytes_are_the_mean_of_runs_and_the_peak_is_that_of_one():
    store = _store(RUN, (0, "temp", 64))
    store.add_run(1, RUN)
    store.add_run(1, [Event("Method::init", 5, chain=-1)], name="Default")
    assert _rows(store) == [("Execute", "temp", 0, "native_call_add.out", 2, 1, 32, 64, 64)]


def test_each_build_has_its_own_rows():
    store = _store(RUN, (0, "temp", 64), build="b1")
    store.add_run(store.add_dump(build="b2"), RUN)
    store.add_allocations(2, ("temp", 128))
    rows = run_query(store.connect(), "memory_by_instruction")
    assert [(row["build"], row["total_bytes"]) for row in rows] == [("b1", 64), ("b2", 128)]


def test_huge_times_do_not_overflow():
    late = [Event("native_call_add.out", 2**62, 0, start=2**62), Event("OPERATOR_CALL", 2**63 - 1)]
    rows = _rows(_store(late, (0, "temp", 2**63)))
    assert [(row[3], row[6]) for row in rows] == [("native_call_add.out", 2.0**63)]


def test_bytes_are_exact_integers():
    (row,) = _rows(_store(RUN, (0, "temp", 2**60 + 1)))
    assert row[-2:] == (2**60 + 1, 2**60 + 1)
    assert {type(value) for value in row[-2:]} == {int}


@pytest.mark.parametrize("gone", [True, False])
def test_without_the_events_bytes_stay_and_have_no_instruction(gone):
    store = _store(RUN, (0, "temp", 64))
    connection = store.connect()
    if gone:
        connection.execute("DELETE FROM events")
    (row,) = run_query(connection, "memory_by_instruction")
    assert (row["event_name"] is None, row["total_bytes"]) == (gone, 64)


@pytest.mark.parametrize(
    "clock",
    [
        lambda start, ticks: (0, 0),  # too coarse to count anything
        lambda start, ticks: (start // 1000, ticks),
        lambda start, ticks: (-start, ticks),  # which wrapped
        lambda start, ticks: (start, 0),
    ],
)
def test_the_order_is_that_of_the_file_whatever_the_clock_says(clock):
    events = [
        one._replace(start=s, ticks=t) for one in RUN for s, t in [clock(one.start, one.ticks)]
    ]
    store = _store(events, (0, "temp", 64), (3, "temp", 16), (4, "temp", 8), (7, "method", 5))
    assert [row[1:4] + row[6:7] for row in _rows(store)] == [
        ("method", None, "Method::execute", 5),
        ("temp", 0, "native_call_add.out", 64),
        ("temp", 1, "native_call_mul.out", 24),
    ]


@pytest.mark.parametrize("ticks", [0, 10])
def test_an_allocation_in_a_loop_is_of_the_kernel_that_ends_next(ticks):
    loop = [
        Event(f"native_call_{name}.out", ticks, number, start=ticks * place)
        for place, (name, number) in enumerate([("add", 0), ("mul", 1)] * 2 + [("sub", 2)])
    ]
    store = _store(loop, (0, "temp", 1), (3, "temp", 2), (5, "temp", 4))
    assert [row[2:4] + row[6:7] for row in _rows(store)] == [
        (0, "native_call_add.out", 3),
        (1, "native_call_mul.out", 4),
    ]


def test_a_method_ends_after_its_operators_wherever_its_signature_lists_it():
    first = Event("Program::load_data", 0, 0, chain=-1)
    connection = _store([first, *RUN], (1, "temp", 64)).connect()
    connection.execute("UPDATE run_signatures SET events = list_prepend(events[-1], events[:-2])")
    (row,) = run_query(connection, "memory_by_instruction")
    assert row["event_name"] == "native_call_add.out"
