from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.gap import Operator, join_operators


def tensor(*shape, dtype="float32"):
    return TensorValue.of_array(dtype, np.zeros(shape, dtype))


def kernel(name, *handles, values=1, id_=0, occurrence=0):
    tensors = [tensor(2)] * values if isinstance(values, int) else values
    return Operator(name, id_, None, occurrence, handles, (), tensors)


def delegate(handles, results, values, id_=0):
    return Operator("DELEGATE_CALL", id_, None, 0, handles, (), [tensor(2)] * values, results)


def shown(value):
    return value and f"{value.operator.name}:{value.index}"


def joined(base, head, *, is_by_handle=True):
    """Each pair as (base, head, debug handle, reason)."""
    return [
        (shown(pair.base), shown(pair.head), pair.debug_handle, pair.reason)
        for pair in join_operators(base, head, is_by_handle=is_by_handle)
    ]


OPERATORS = st.lists(
    st.builds(
        kernel,
        st.sampled_from("abc"),
        st.integers(1, 4),
        values=st.integers(1, 3),
        id_=st.integers(0, 9),
    ),
    max_size=8,
).map(lambda operators: [op._replace(occurrence=i) for i, op in enumerate(operators)])


@given(OPERATORS, OPERATORS, st.booleans())
def test_every_value_of_both_runs_is_in_one_pair(base, head, is_by_handle):
    pairs = join_operators(base, head, is_by_handle=is_by_handle)
    for side, operators in ("base", base), ("head", head):
        values = [getattr(pair, side) for pair in pairs]
        places = Counter((value.position, value.index) for value in values if value)
        wanted = [(i, k) for i, op in enumerate(operators) for k in range(len(op.values))]
        assert places == Counter(wanted)
    assert all((pair.reason is None) == bool(pair.base and pair.head) for pair in pairs)


@given(OPERATORS, st.booleans())
def test_a_run_corresponds_to_itself_in_order(operators, is_by_handle):
    pairs = join_operators(operators, operators, is_by_handle=is_by_handle)
    assert all(pair.base.operator is pair.head.operator for pair in pairs)
    assert all(pair.base.index == pair.head.index for pair in pairs)
    positions = [pair.base.position for pair in pairs]
    assert positions == sorted(positions)


def test_a_delegate_corresponds_to_the_last_of_the_operators_it_took_over():
    base = [kernel("conv", 1), kernel("relu", 2), kernel("sin", 3)]
    head = [delegate((1, 2), [2], values=2), kernel("sin", 3)]
    assert joined(base, head) == [
        ("conv:0", None, 1, "head: inside DELEGATE_CALL, instruction 0"),
        ("relu:0", "DELEGATE_CALL:1", 2, None),
        ("sin:0", "sin:0", 3, None),
    ]


def test_delegates_that_were_cut_differently_correspond_where_their_results_do():
    base = [delegate((1, 2, 3), [1, 3], values=3), delegate((4, 5), [5], values=2, id_=1)]
    head = [delegate((1, 2), [1, 2], values=4), delegate((3, 4, 5), [5], values=3, id_=1)]
    assert joined(base, head) == [
        ("DELEGATE_CALL:1", "DELEGATE_CALL:2", 1, None),
        ("DELEGATE_CALL:2", None, 3, "head: inside DELEGATE_CALL, instruction 1"),
        (None, "DELEGATE_CALL:3", 2, "base: inside DELEGATE_CALL, instruction 0"),
        ("DELEGATE_CALL:1", "DELEGATE_CALL:2", 5, None),
    ]


def test_a_handle_of_several_operators_ends_in_the_last():
    base = [kernel("permute", 9), kernel("addmm", 9, id_=1)]
    head = [kernel("linear", 9)]
    assert joined(base, head) == [
        ("permute:0", None, 9, "an earlier step of debug handle 9"),
        ("addmm:0", "linear:0", 9, None),
    ]


def test_equal_operators_of_a_handle_correspond_one_by_one():
    steps = [kernel("permute", 9), kernel("addmm", 9, id_=1)]
    others = [step._replace(instruction_id=7) for step in steps]
    assert [row[:3] for row in joined(steps, others)] == [
        ("permute:0", "permute:0", 9),
        ("addmm:0", "addmm:0", 9),
    ]


def test_the_output_of_the_same_shape_and_dtype_corresponds():
    outputs = [tensor(2, 1), tensor(2, 3, dtype="int64"), tensor(2, 3)]
    layer_norm, fused = (
        kernel("layer_norm", 4, values=outputs),
        kernel("fused", 4, values=outputs[2:]),
    )
    reason = "fused has no such output"
    unmatched = [("layer_norm:0", None, 4, reason), ("layer_norm:1", None, 4, reason)]
    assert joined([layer_norm], [fused]) == [*unmatched, ("layer_norm:2", "fused:0", 4, None)]
    assert [row[:2] for row in joined([fused], [layer_norm])] == [
        ("fused:0", "layer_norm:2"),
        (None, "layer_norm:0"),
        (None, "layer_norm:1"),
    ]


def test_operators_that_only_head_has_follow_their_predecessor_in_head():
    base = [kernel("a", 1), kernel("b", 2)]
    head = [kernel("first", 7), kernel("a", 1), kernel("new", 8), kernel("b", 2)]
    assert [row[1] for row in joined(base, head)] == ["first:0", "a:0", "new:0", "b:0"]
    assert joined(base, head)[2][3] == "base: nothing logged for debug handle 8"


def test_values_of_an_unknown_handle_correspond_by_call():
    base = [delegate((2, 2, 2), [None, 2], values=3)]
    assert joined(base, base) == [
        ("DELEGATE_CALL:1", "DELEGATE_CALL:1", None, None),
        ("DELEGATE_CALL:2", "DELEGATE_CALL:2", 2, None),
    ]
    other = [delegate((2, 2), [None, 2], values=3)]
    assert joined(base, other)[0] == ("DELEGATE_CALL:1", None, None, "head: no such call")


def test_calls_without_handles_correspond_by_instruction_name_and_occurrence():
    base = [kernel("a", values=2), kernel("b", id_=1), kernel("b", id_=1, occurrence=1)]
    head = [kernel("a"), kernel("b", id_=1), kernel("c", id_=1, occurrence=1)]
    assert joined(base, head, is_by_handle=False) == [
        ("a:0", "a:0", None, None),
        ("a:1", None, None, "a has no such output"),
        ("b:0", "b:0", None, None),
        (None, "c:0", None, "base: no such call"),
        ("b:0", None, None, "head: no such call"),
    ]


def test_a_value_that_a_later_delegate_goes_on_computing_is_hidden():
    base = [kernel("exp", 2), kernel("mul", 2, id_=1)]
    head = [kernel("exp", 2), delegate((2, 3), [3], values=2, id_=4)]
    assert joined(base, head) == [
        (None, "exp:0", 2, "an earlier step of debug handle 2"),
        (None, "DELEGATE_CALL:1", 3, "base: nothing logged for debug handle 3"),
        ("exp:0", None, 2, "an earlier step of debug handle 2"),
        ("mul:0", None, 2, "head: inside DELEGATE_CALL, instruction 4"),
    ]
    reasons = {row[:2]: row[3] for row in joined(head, base)}
    assert reasons[None, "mul:0"] == "base: inside DELEGATE_CALL, instruction 4"
    assert reasons["exp:0", None] == "an earlier step of debug handle 2"


def test_equal_operators_correspond_even_if_the_last_of_them_hides_the_value():
    run = [kernel("exp", 2), delegate((2, 3), [3], values=2, id_=4)]
    assert [row[:3] for row in joined(run, run)] == [
        ("exp:0", "exp:0", 2),
        ("DELEGATE_CALL:1", "DELEGATE_CALL:1", 3),
    ]


def test_an_operator_that_logged_nothing_hides_the_value_too():
    base = [kernel("exp", 2), kernel("mul", 2, id_=1)]
    head = [kernel("exp", 2), kernel("mul", 2, id_=1, values=0)]
    assert joined(base, head)[-1] == ("mul:0", None, 2, "head: not logged by mul, instruction 1")


def test_values_logged_inside_a_delegate_are_not_hidden_by_its_call():
    inner = Operator("relu #1", 0, "relu #1", 0, (1,), (), [tensor(2)])
    head = [inner, delegate((1, 2), [2], values=2)]
    base = [kernel("relu", 1, id_=5), kernel("sin", 2, id_=6)]
    assert [row[:3] for row in joined(base, head)] == [
        ("relu:0", "relu #1:0", 1),
        ("sin:0", "DELEGATE_CALL:1", 2),
    ]


def test_a_handle_that_only_reshapes_another_has_the_value_of_that():
    base, head = [kernel("addmm", 2)], [delegate((1, 2, 3), [3], values=2)]
    [pair] = join_operators(base, head, is_by_handle=True, views=({3: 2}, {}))
    assert (shown(pair.base), shown(pair.head), pair.debug_handle) == (
        "addmm:0", "DELEGATE_CALL:1", 3,
    )  # fmt: skip
    assert pair.is_view
    [mirrored] = join_operators(head, base, is_by_handle=True, views=({}, {3: 2}))
    assert (mirrored.debug_handle, mirrored.is_view) == (3, True)


def test_a_view_of_a_compared_or_hidden_value_is_not_paired():
    base, head = [kernel("addmm", 2)], [kernel("addmm", 2), kernel("view", 3)]
    pairs = join_operators(base, head, is_by_handle=True, views=({3: 2}, {}))
    assert [(shown(p.base), shown(p.head)) for p in pairs] == [
        ("addmm:0", "addmm:0"),
        (None, "view:0"),
    ]
    hidden = [*base, delegate((2, 4), [4], values=2, id_=1)]
    [pair, *_] = join_operators(hidden, head[1:], is_by_handle=True, views=({3: 2}, {}))
    assert (shown(pair.base), shown(pair.head)) == (None, "view:0")


def test_outputs_whose_elements_cannot_be_compared_do_not_correspond():
    pair = [tensor(2, 1), tensor(3)]
    rows = joined([kernel("a", 4, values=[tensor(5)])], [kernel("b", 4, values=pair)])
    assert [row[:2] for row in rows].count(("a:0", None)) == 1
    assert {row[3] for row in rows} == {"b has no such output", "a has no such output"}
    [same, _] = joined([kernel("a", 4, values=[tensor(1, 3)])], [kernel("b", 4, values=pair)])
    assert same[:2] == ("a:0", "b:1")
