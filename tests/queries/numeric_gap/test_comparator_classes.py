from __future__ import annotations

import math

import numpy as np
import pytest

from tracehouse.queries.numeric_gap.comparators import (
    IntermediateOutput,
    L1Comparator,
    MSEComparator,
    NumericalComparatorBase,
    SNRComparator,
    as_float,
    find_comparators,
    op_names,
    warn_of_arrays,
)
from tracehouse.warehouse.errors import QueryError

ONES = np.ones(3)


def comparator_of(distance, inspector):
    [comparator] = find_comparators([distance], inspector).values()
    return comparator


def hashable(*values):
    return np.array(values, np.float64).view(IntermediateOutput)


class MaxDifference(NumericalComparatorBase):
    def element_compare(self, a, b):
        return float(np.max(np.abs(a - b)))


class Doubling(MaxDifference):
    def preprocessing(self, mapping):
        return {key: (handles, value * 2) for key, (handles, value) in mapping.items()}


@pytest.mark.parametrize(
    ("comparator", "a", "b", "expected"),
    [
        (MSEComparator(), [[1, 2], [3, 4]], [[1, 2], [3, 4]], 0.0),
        (MSEComparator(), 5, 2, 9.0),
        (MSEComparator(), [math.nan, 1.0], [0.0, 4.0], 4.5),
        (MSEComparator(), [[1, 2], [3, 4]], [[2, 2], [3, 6]], 1.25),
        (L1Comparator(), [[1, 2], [3, 4]], [[1, 2], [3, 4]], 0.0),
        (L1Comparator(), 1, 3, 2.0),
        (L1Comparator(), [math.nan, 1.0], [0.0, 4.0], 3.0),
        (L1Comparator(), [[1, 2], [3, 4]], [[2, 2], [3, 6]], 3.0),
        (SNRComparator(), [[1, 2], [3, 4]], [[1, 2], [3, 4]], math.inf),
        (SNRComparator(), 1, 2, 0.0),
        (SNRComparator(), [math.nan, 1.0], [0.0, 1.0], math.inf),
        (SNRComparator(), [[1, 2], [3, 4]], [[2, 2], [3, 6]], 10 * math.log10(6)),
    ],
)
def test_metrics_are_those_of_the_inspector(comparator, a, b, expected):
    assert comparator.element_compare(np.array(a), np.array(b)) == pytest.approx(expected)


@pytest.mark.parametrize("comparator", [MSEComparator(), L1Comparator(), SNRComparator()])
def test_comparing_other_shapes_or_texts_is_a_value_error(comparator):
    with pytest.raises(ValueError, match=r"cannot compare the shapes \(3,\) and \(4,\)"):
        comparator.element_compare(ONES, np.ones(4))
    with pytest.raises(ValueError, match="cannot compare a str"):
        comparator.element_compare("text", ONES)


def test_a_name_a_function_or_a_comparator_can_be_asked_for():
    assert comparator_of(" mse ", None).element_compare(ONES, ONES + 2) == 4.0
    assert comparator_of(lambda a, b: 7.0, None).element_compare(ONES, ONES) == 7.0
    given = MaxDifference()
    assert comparator_of(given, "the inspector") is given
    assert given.inspector == "the inspector"
    assert comparator_of(MaxDifference("mine"), "another").inspector == "mine"
    with pytest.raises(ValueError, match="metric 'nope': unknown") as raised:
        comparator_of("nope", None)
    assert isinstance(raised.value, QueryError)


class Foreign:
    """A comparator that is made as ExecuTorch's are, of no class of ours."""

    inspector = None

    def element_compare(self, a, b):
        return 1.0

    def compare(self, mapping, aot_names, runtime_names):
        return []


def test_a_comparator_of_executorchs_class_is_taken_and_warned_of():
    given = Foreign()
    assert comparator_of(given, "the inspector") is given
    assert given.inspector == "the inspector"
    with pytest.warns(UserWarning, match=r"Foreign expects torch's tensors .* tensors='torch'"):
        warn_of_arrays(given)
    warn_of_arrays(MaxDifference())  # no warning, which would be an error here


@pytest.mark.parametrize(
    "result", [2, 2.0, np.float32(2), np.array(2), np.array([[2.0]]), hashable(2.0)]
)
def test_comparator_results_become_floats(result):
    class Returning(NumericalComparatorBase):
        def element_compare(self, a, b):
            return result

    for a, b in ((ONES, ONES), ([ONES], [ONES])):
        [gap] = Returning()._gaps(a, b)
        assert (type(gap), gap) == (float, 2.0)
    assert math.isnan(as_float(None))


@pytest.mark.parametrize(
    ("result", "form"), [(ONES, r"ndarray of shape \[3\]"), ("far", "str"), ({}, "dict")]
)
def test_a_comparator_that_returns_no_number_is_a_type_error(result, form):
    with pytest.raises(
        TypeError, match=f"a comparator returned a {form}; it must return one number"
    ):
        as_float(result)


def test_arrays_of_a_mapping_can_stand_in_keys_and_so_can_what_is_computed_of_them():
    value = hashable(1.0, 2.0)
    mapping = {((1,), value): 1, ((1,), value * 2): 2, ((1,), hashable(1.0, 2.0)): 3}
    assert len(mapping) == 3
    assert mapping[(1,), value] == 1


def test_operators_are_those_all_of_whose_handles_are_asked_for():
    names = {(1,): ["conv", "pad"], (2, 3): ["relu"], (4,): ["add"]}
    assert op_names((1, 2), names) == ["conv", "pad"]
    assert op_names((1, 2, 3), names) == ["conv", "pad", "relu"]
    assert op_names((), names) == []
    assert op_names((9,), names) == []


def rows_of(comparator, mapping):
    pytest.importorskip("pandas")
    return comparator.compare(mapping, {(1,): ["conv"]}, {(1,): ["native_call_conv"]}).to_dict(
        "records"
    )


def test_each_pair_is_a_row_of_the_inspectors_columns():
    [row] = rows_of(MaxDifference(), {((1,), hashable(1, 2)): ((1,), hashable(1, 5))})
    assert [*row] == [
        "aot_debug_handle", "aot_ops", "aot_intermediate_output", "runtime_ops",
        "runtime_debug_handle", "runtime_intermediate_output", "gap",
    ]  # fmt: skip
    assert (row["aot_debug_handle"], row["aot_ops"], row["gap"]) == ((1,), ["conv"], [3.0])
    assert (row["runtime_debug_handle"], row["runtime_ops"]) == ((1,), ["native_call_conv"])
    assert row["runtime_intermediate_output"].tolist() == [1, 5]


def test_pairs_are_compared_as_preprocessing_leaves_them():
    [row] = rows_of(Doubling(), {((1,), hashable(2, 4)): ((1,), hashable(1, 2))})
    assert row["gap"] == [0.0]


def test_missing_values_and_lists_on_the_side_of_the_program_are_left_out():
    pairs = {
        ((1,), None): ((1,), 1.0),
        ((2,), 1.0): ((1,), None),
        ((3,), (1.0, 2.0)): ((1,), (1.0, 2.0)),
        ((4,), (1.0,)): ((1,), (3.0,)),
    }
    [row] = rows_of(MaxDifference(), pairs)
    assert (row["aot_debug_handle"], row["gap"]) == ((4,), [2.0])


def test_a_list_against_one_value_is_a_value_error():
    with pytest.raises(ValueError, match="cannot compare a list of values"):
        rows_of(MaxDifference(), {((1,), (1.0,)): ((1,), 1.0)})


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        ("text", TypeError, "must return a dict, not str: wanted {"),
        ({"key": ((0,), ONES)}, ValueError, "Invalid key format: 'key'"),
        ({(("x",), 1): ((0,), ONES)}, ValueError, r"Invalid AOT debug handle: \('x',\)"),
        ({((0,), 1): "value"}, ValueError, "Invalid value format: 'value'"),
        ({((0,), 1): (("x",), ONES)}, ValueError, "Invalid runtime debug handle"),
    ],
)
def test_preprocessing_must_give_a_mapping(given, error, problem):
    class Wrong(MaxDifference):
        def preprocessing(self, mapping):
            return given

    with pytest.raises(error, match=problem) as raised:
        Wrong().compare({}, {}, {})
    assert isinstance(raised.value, QueryError)
