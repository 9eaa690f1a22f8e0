import pytest

from tests.support.store_rows import Event, StoreRows, run_query

CONV, RELU, SIN = "native_call_conv.out", "native_call_relu.out", "native_call_sin.out"
FIRST = ("event_name", "ordinal", "instruction_id", "value_index")


def _ask(base, head, *, head_ops=(CONV, RELU, RELU), **columns):
    """What the query says of one device whose builds logged these values."""
    store = StoreRows()
    for build, values, ops in ("b1", base, (CONV, RELU, RELU)), ("b2", head, head_ops):
        store.add_build(build)
        dump = store.add_dump(build=build, **columns)
        store.add_run(dump, [Event(name, 10, place) for place, name in enumerate(ops)])
        store.add_values(dump, values)
    return run_query(store.connect(), "numeric_divergence", base="b1", head="b2")


def _first(row):
    return tuple(row[name] for name in FIRST)


def test_the_first_value_that_differs_in_order_of_execution_is_shown():
    [row] = _ask([(0, "a"), (1, "b"), (2, "c")], [(0, "a"), (1, "x"), (2, "y")])
    assert (row["base_dump_id"], row["head_dump_id"], row["run_index"]) == (1, 2, 0)
    assert (row["base_count"], row["compared_count"], row["equal_count"]) == (3, 3, 1)
    assert (row["verdict"], *_first(row)) == ("different", RELU, 1, 1, 0)


def test_equal_values_are_told():
    [row] = _ask([(0, "a"), (1, 0.5)], [(0, "a"), (1, 0.5)])
    assert (row["verdict"], row["equal_count"], *_first(row)) == ("equal", 2, *[None] * 4)


def test_operators_are_matched_by_ordinal_where_an_instruction_was_inserted():
    [row] = _ask(
        [(0, "a"), (1, "b"), (2, "c")],
        [(0, "a"), (1, "new"), (2, "b"), (3, "x")],
        head_ops=(CONV, SIN, RELU, RELU),
    )
    assert (row["compared_count"], row["equal_count"], *_first(row)) == (3, 2, RELU, 2, 2, 0)


def test_scalars_and_later_values_of_an_operator_count():
    [row] = _ask([(0, "a"), (0, 1.0)], [(0, "a"), (0, 2.0)])
    assert (row["verdict"], *_first(row)) == ("different", CONV, 1, 0, 1)


@pytest.mark.parametrize("head", [[(0, "")], [(2, "a")], [(0, 1.0)]])
def test_what_has_no_content_or_counterpart_is_not_compared(head):
    [row] = _ask([(0, "a")], head)
    assert (row["verdict"], row["compared_count"], row["base_count"]) == ("not_compared", 0, 1)


def test_the_latest_dump_of_each_build_on_each_device_that_logged_values_counts():
    store = StoreRows()
    for device in ("phone", "tablet"):
        for build in ("b1", "b2", "b1"):
            dump = store.add_dump(build=build, device=device)
            store.add_run(dump, [Event(CONV, 10, 0)])
            store.add_values(dump, [(0, build)])
    store.add_run(store.add_dump(build="b2", device="phone"), [Event(CONV, 10, 0)])
    rows = run_query(store.connect(), "numeric_divergence", base="b1", head="b2")
    assert [(r["device"], r["base_dump_id"], r["head_dump_id"]) for r in rows] == [
        ("phone", 3, 2),
        ("tablet", 6, 5),
    ]


def test_empty_store_has_no_rows():
    store = StoreRows()
    store.add_build("b1"), store.add_build("b2")
    assert run_query(store.connect(), "numeric_divergence", base="b1", head="b2") == []
