import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

CONV, RELU, SIN = "native_call_conv.out", "native_call_relu.out", "native_call_sin.out"
OPERATORS = (CONV, RELU, RELU)
FIGURES = (
    "base_count", "compared_count", "equal_count", "verdict", "run_index",
    "event_name", "ordinal", "instruction_id", "value_index",
)  # fmt: skip
ABC = [(0, "a"), (1, "b"), (2, "c")]
NONE = (None,) * 5
# By device: the values that base and head log, and what is told; SIN is inserted in some heads.
CASES = {
    # The first value that differs in order of execution is shown.
    "two differ": (ABC, [(0, "a"), (1, "x"), (2, "y")], (3, 3, 1, "different", 0, RELU, 1, 1, 0)),
    "equal": ([(0, "a"), (1, 0.5)], [(0, "a"), (1, 0.5)], (2, 2, 2, "equal", *NONE)),
    # Operators are matched by ordinal where an instruction was inserted.
    "inserted": (
        ABC,
        [(0, "a"), (1, "new"), (2, "b"), (3, "x")],
        (3, 3, 2, "different", 0, RELU, 2, 2, 0),
    ),
    # Scalars and later values of an operator count.
    "scalar": (
        [(0, "a"), (0, 1.0)],
        [(0, "a"), (0, 2.0)],
        (2, 2, 1, "different", 0, CONV, 1, 0, 1),
    ),
    "no content": ([(0, "a")], [(0, "")], (1, 0, 0, "not_compared", *NONE)),
    "another operator": ([(0, "a")], [(2, "a")], (1, 0, 0, "not_compared", *NONE)),
    "another type": ([(0, "a")], [(0, 1.0)], (1, 0, 0, "not_compared", *NONE)),
}


def _add(store, device, build, operators, values):
    dump = store.add_dump(build=build, device=device)
    store.add_run(dump, [Event(name, 10, place) for place, name in enumerate(operators)])
    store.add_values(dump, values)


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, (base, head, _) in CASES.items():
        _add(store, device, "b1", OPERATORS, base)
        operators = (CONV, SIN, RELU, RELU) if device == "inserted" else OPERATORS
        _add(store, device, "b2", operators, head)
    for device in ("phone", "tablet"):
        for build in ("b1", "b2", "b1"):
            _add(store, device, build, (CONV,), [(0, build)])
    _add(store, "phone", "b2", (CONV,), [])
    return run_by_device(store.connect(), "numeric_divergence", base="b1", head="b2")


@pytest.mark.parametrize("device", CASES)
def test_values_are_compared_up_to_the_first_that_differs(device, rows):
    number = 2 * [*CASES].index(device) + 1
    names = ("base_dump_id", "head_dump_id", *FIGURES)
    assert shown(rows[device], *names) == [(number, number + 1, *CASES[device][2])]


def test_the_latest_dump_of_each_build_on_each_device_that_logged_values_counts(rows):
    first = 2 * len(CASES) + 1
    names = ("base_dump_id", "head_dump_id")
    assert shown(rows["phone"], *names) == [(first + 2, first + 1)]
    assert shown(rows["tablet"], *names) == [(first + 5, first + 4)]
