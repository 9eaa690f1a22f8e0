from __future__ import annotations

import math

import numpy as np
import pytest

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.divergence import find_divergences, first_divergence, is_within
from tracehouse.queries.numeric_gap.gap import numeric_gap
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun, ProgramFlow
from tracehouse.queries.numeric_gap.run_values import Operator

YES, NO = True, False
DIAMOND = {1: [], 2: [1], 3: [1], 4: [2, 3], 5: [4]}


def kinds(agreements, inputs=None, handles=None):
    handles = handles or list(range(1, len(agreements) + 1))
    return [found.kind for found in find_divergences(handles, agreements, inputs)]


def test_the_origin_is_what_differs_though_its_inputs_agree():
    assert kinds([YES, NO, YES, NO, NO], DIAMOND) == [
        None,
        "origin",
        None,
        "inherited",
        "inherited",
    ]


def test_independent_origins_are_all_told():
    assert kinds([YES, NO, NO, NO, NO], DIAMOND)[1:3] == ["origin", "origin"]


def test_divergence_inputs_are_searched_beyond_uncompared_values():
    assert kinds([NO, None, None, NO, NO], DIAMOND) == [
        "origin", None, None, "inherited", "inherited",
    ]  # fmt: skip
    found = find_divergences([1, 2, 3, 4, 5], [YES, None, YES, NO, NO], DIAMOND)
    assert [one.inputs for one in found] == [[], None, [1], [1, 3], [4]]


def test_a_difference_that_nothing_inherits_is_suspect_and_no_origin():
    assert kinds([YES, NO, YES, YES, NO], DIAMOND) == [None, "suspect", None, None, "origin"]
    assert kinds([NO, NO, None, YES, YES], DIAMOND) == ["suspect", "suspect", None, None, None]


def test_a_difference_that_some_inherit_is_not_suspect():
    assert kinds([NO, NO, YES, YES, YES], {1: [], 2: [1], 3: [1], 4: [3], 5: [4]}) == [
        "origin", "inherited", None, None, None,
    ]  # fmt: skip


def test_divergences_without_a_graph_follow_the_order_of_operators():
    assert kinds([YES, NO, NO]) == [None, "origin", "inherited"]
    assert kinds([YES, NO, YES]) == [None, "suspect", None]
    assert find_divergences([None], [NO], None)[0].inputs is None


def test_values_of_one_handle_stand_together():
    handles = [1, 2, 2, 3]
    inputs = {1: [], 2: [1], 3: [2]}
    assert kinds([YES, NO, YES, NO], inputs, handles) == [None, "origin", None, "inherited"]


def test_handles_that_take_from_each_other_are_told_apart_by_order():
    assert kinds([YES, NO, NO], {1: [], 2: [1, 3], 3: [2]}) == [None, "origin", "inherited"]


@pytest.mark.parametrize(
    ("value", "agrees"),
    [([1.0, 1.0], YES), ([1.0, 1.0009], YES), ([1.0, 1.01], NO), ([1.0, math.nan], NO)],
)
def test_values_agree_from_the_tolerance_on_if_the_same_are_nan(value, agrees):
    tensors = [TensorValue.of_array("float32", np.float32(items)) for items in ([1, 1], value)]
    assert is_within(*tensors, 60.0) is agrees


def test_missing_tensors_neither_agree_nor_disagree():
    missing = TensorValue("float32", [1], None, "no debug buffer")
    assert is_within(missing, missing, 60.0) is None


def runs(*numbers, inputs):
    operators = [
        Operator(f"op{handle}", handle, None, 0, (handle,), (),
                 [TensorValue.of_array("float32", np.float32(number))])
        for handle, number in enumerate(numbers, start=1)
    ]  # fmt: skip
    return [
        LoggedRun(index, "forward", operators, (), ProgramFlow(inputs, {})) for index in range(2)
    ]


def test_first_divergence_is_the_first_origin_of_each_run():
    base = runs(1, 2, 3, 4, inputs={1: [], 2: [1], 3: [1], 4: [2, 3]})
    head = runs(1, 2, 9, 9, inputs={})
    gaps = numeric_gap(base, head, is_every_run=True)
    assert gaps["divergence"].to_pylist() == [None, None, "origin", "inherited"] * 2
    assert gaps["input_debug_handles"].to_pylist()[:4] == [[], [1], [1], [2, 3]]
    first = first_divergence(gaps)
    assert first["debug_handle"].to_pylist() == [3, 3]
    assert first["base_run_index"].to_pylist() == [0, 1]


def test_runs_that_agree_have_no_first_divergence():
    base = runs(1, 2, inputs={1: [], 2: [1]})
    assert first_divergence(numeric_gap(base, base)).num_rows == 0


def test_tolerance_decides_what_diverges():
    base, head = (runs(1, number, inputs={1: [], 2: [1]}) for number in (2.0, 2.02))
    assert numeric_gap(base, head)["divergence"].to_pylist() == [None, "origin"]
    assert numeric_gap(base, head, tolerance_db=30)["divergence"].null_count == 2
