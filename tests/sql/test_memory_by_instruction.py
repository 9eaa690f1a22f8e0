import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

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
USUAL = ((0, "temp", 64), (3, "temp", 16), (4, "temp", 8), (7, "method", 5))
CLOCKS = {
    "as it is": lambda start, ticks: (start, ticks),
    "too coarse": lambda start, ticks: (0, 0),
    "coarse": lambda start, ticks: (start // 1000, ticks),
    "wrapped": lambda start, ticks: (-start, ticks),
    "without durations": lambda start, ticks: (start, 0),
}
DELEGATED = [
    Event("native_call_add.out", 10, 0, start=0),
    Event("", 1, 1, "conv", start=900_000),
    Event("", 1, 1, "conv", start=900_001),
    Event("DELEGATE_CALL", 10, 1, start=20),
    Event("native_call_mul.out", 10, 2, start=40),
    Event("Method::execute", 60, 0, chain=-1),
]
LATE = [Event("native_call_add.out", 2**62, 0, start=2**62), Event("OPERATOR_CALL", 2**63 - 1)]


def _loop(ticks):
    places = [("add", 0), ("mul", 1)] * 2 + [("sub", 2)]
    return [
        Event(f"native_call_{name}.out", ticks, number, start=ticks * place)
        for place, (name, number) in enumerate(places)
    ]


# A run of each dump; each allocation is (position among all that is recorded, allocator, bytes).
RUNS = {
    **{
        f"clock {name}": (
            [e._replace(start=s, ticks=t) for e in RUN for s, t in [clock(e.start, e.ticks)]],
            *USUAL,
        )
        for name, clock in CLOCKS.items()
    },
    "around a kernel": (RUN, (1, "temp", 64)),
    "after all": (RUN, (5, "temp", 64)),
    "with values": (RUN, (3, "temp", 16)),
    "in a delegate": (DELEGATED, (1, "temp", 1), (4, "temp", 2), (6, "temp", 4)),
    "loop of 0": (_loop(0), (0, "temp", 1), (3, "temp", 2), (5, "temp", 4)),
    "loop of 10": (_loop(10), (0, "temp", 1), (3, "temp", 2), (5, "temp", 4)),
    "three runs": (RUN, (0, "temp", 64)),
    "two builds": (RUN, (0, "temp", 64)),
    "late": (LATE, (0, "temp", 2**63)),
    "many bytes": (RUN, (0, "temp", 2**60 + 1)),
    "events gone": (RUN, (0, "temp", 64)),
    "another first": ([Event("Program::load_data", 0, 0, chain=-1), *RUN], (1, "temp", 64)),
}


@pytest.fixture(scope="module")
def stored():
    store = StoreRows()
    numbers = {device: store.add_dump(device=device) for device in RUNS}
    for device, (events, *allocated) in RUNS.items():
        store.add_run(numbers[device], events)
        positions = [position for position, *_ in allocated]
        allocations = [one[1:] for one in allocated]
        store.add_allocations(numbers[device], *allocations, positions=positions)
    store.add_values(numbers["with values"], [(0, 0.5)])
    store.add_run(numbers["three runs"], RUN)
    load = [Event("Method::init", 5, chain=-1)]
    store.add_run(numbers["three runs"], load, name="Default")
    other = store.add_dump(device="two builds", build="b2")
    store.add_run(other, RUN)
    store.add_allocations(other, ("temp", 128))
    connection = store.connect()
    gone = numbers["events gone"]
    connection.execute("DELETE FROM events WHERE dump_id = ?", [gone])
    # A signature may list the method before its operators.
    connection.execute(
        "UPDATE run_signatures SET events = list_prepend(events[-1], events[:-2]) WHERE "
        "run_signature_id = (SELECT run_signature_id FROM runs WHERE dump_id = ?)",
        [numbers["another first"]],
    )
    return connection


@pytest.fixture(scope="module")
def rows(stored):
    return run_by_device(stored, "memory_by_instruction")


def test_event_keeps_the_rows_of_operators_with_this_name(stored, rows):
    kept = run_by_device(stored, "memory_by_instruction", event="*add*")
    assert kept == {
        device: [row for row in found if "add" in (row["event_name"] or "")]
        for device, found in rows.items()
    }
    assert kept["late"]


@pytest.mark.parametrize("clock", CLOCKS)
def test_an_allocation_is_of_the_instruction_whose_kernel_ends_next_in_the_file(clock, rows):
    assert shown(rows[f"clock {clock}"], *FIGURES) == [
        ("Execute", "method", None, "Method::execute", 1, 1, 5, 5, 5),
        ("Execute", "temp", 0, "native_call_add.out", 1, 1, 64, 64, 64),
        ("Execute", "temp", 1, "native_call_mul.out", 1, 2, 24, 24, 16),
    ]


def test_an_allocation_belongs_to_the_event_that_ends_next(rows):
    names = ("instruction_id", "event_name", "total_bytes")
    add, mul = "native_call_add.out", "native_call_mul.out"
    assert {device: shown(rows[device], *names) for device in [*RUNS][len(CLOCKS) :][:6]} == {
        "around a kernel": [(0, add, 64)],
        "after all": [(None, None, 64)],
        "with values": [(1, mul, 16)],  # which are no profile events
        # Operators in a delegate end with its call, whatever their clock says.
        "in a delegate": [(1, "DELEGATE_CALL", 3), (2, mul, 4)],
        "loop of 0": [(0, add, 3), (1, mul, 4)],
        "loop of 10": [(0, add, 3), (1, mul, 4)],
    }
    assert shown(rows["another first"], "event_name") == [(add,)]


def test_bytes_are_the_mean_of_runs_and_the_peak_is_that_of_one(rows):
    expected = [("Execute", "temp", 0, "native_call_add.out", 2, 1, 32, 64, 64)]
    assert shown(rows["three runs"], *FIGURES) == expected
    assert shown(rows["two builds"], "build", "total_bytes") == [("b1", 64), ("b2", 128)]
    # Without the events bytes stay, and have no instruction.
    assert shown(rows["events gone"], "event_name", "total_bytes") == [(None, 64)]


def test_huge_times_and_bytes_do_not_overflow_and_are_exact(rows):
    assert shown(rows["late"], "event_name", "total_bytes") == [("native_call_add.out", 2.0**63)]
    (many,) = shown(rows["many bytes"], "peak_bytes", "largest_bytes")
    assert many == (2**60 + 1, 2**60 + 1)
    assert {type(value) for value in many} == {int}
