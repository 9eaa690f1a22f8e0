from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.comparators import (
    COMPARATORS,
    MSEComparator,
    compare,
    cosine_similarity,
    count_nan,
    find_comparators,
    l1,
    mse,
    snr,
)
from tracehouse.warehouse.errors import QueryError

NAMES = ("base", "head")
ALL = find_comparators(COMPARATORS).values()
NUMBERS = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9)


def array(*numbers, dtype="float32"):
    return np.array(numbers, dtype)


def tensor(*numbers, dtype="float32"):
    return TensorValue.of_array(dtype, array(*numbers, dtype=dtype))


def gaps(a, b):
    return [mse(a, b), l1(a, b), snr(a, b), cosine_similarity(a, b)]


def test_metrics_of_two_small_tensors():
    reference, value = array(3, 4), array(3, 2)
    assert mse(reference, value) == 2
    assert l1(reference, value) == 2
    assert snr(reference, value) == pytest.approx(10 * math.log10(12.5 / 2))
    assert cosine_similarity(reference, value) == pytest.approx(17 / (5 * math.sqrt(13)))


@given(NUMBERS)
def test_a_tensor_has_no_gap_to_itself(numbers):
    assert gaps(array(*numbers), array(*numbers))[:3] == [0, 0, math.inf]


@given(NUMBERS)
def test_scaling_keeps_the_direction_and_costs_six_decibels_when_it_halves(numbers):
    reference = array(*numbers, dtype="float64")
    if not np.square(reference).sum():
        return
    assert cosine_similarity(reference, 8 * reference) == pytest.approx(1)
    assert snr(reference, reference / 2) == pytest.approx(20 * math.log10(2))


def test_arithmetic_is_that_of_float64():
    assert mse(array(1e20), array(-1e20)) == pytest.approx(4e40)
    assert l1(array(255, dtype="uint8"), array(-1, dtype="int8")) == 256
    assert l1(array(True, dtype="bool"), array(False, dtype="bool")) == 1


def test_nan_counts_as_zero_as_in_the_inspector():
    assert gaps(array(math.nan, 3), array(4, 3))[:2] == [8, 4]
    assert mse(array(math.nan, math.inf), array(0, 1)) == math.inf


def test_infinities_on_which_both_agree_are_left_out():
    masked, other = array(-math.inf, 3, 4), array(-math.inf, 3, 2)
    assert gaps(masked, other)[1:] == pytest.approx(gaps(array(3, 4), array(3, 2))[1:])
    assert mse(masked, other) == pytest.approx(4 / 3)


def test_equal_values_have_no_gap_and_an_undefined_cosine_is_nan():
    nothing, zeros = array(), array(0, 0)
    assert gaps(nothing, nothing)[:3] == gaps(zeros, zeros)[:3] == [0, 0, math.inf]
    assert math.isnan(cosine_similarity(zeros, zeros))
    assert snr(zeros, array(1, 1)) == -math.inf


def test_shapes_that_differ_are_a_reason_and_never_broadcast():
    comparison = compare(tensor([1, 2]), tensor(1, 2), ALL, NAMES)
    assert comparison == ("not_compared", "shapes differ: [1, 2] and [2]", [None] * 4)


def test_missing_elements_are_a_reason():
    missing = TensorValue("float32", [1], None, "no debug buffer")
    for pair, reason in (
        ((missing, tensor(1)), "base: no debug buffer"),
        ((tensor(1), missing), "head: no debug buffer"),
    ):
        assert compare(*pair, ALL, NAMES)[:2] == ("not_compared", reason)
    assert count_nan(missing) is None


def test_verdict_tells_nan_from_zero_and_sees_no_dtype():
    odd = tensor(math.nan, 1)
    assert compare(odd, odd, [], NAMES).verdict == "equal"
    assert compare(odd, tensor(0, 1), [MSEComparator()], NAMES) == ("different", None, [0])
    assert compare(tensor(2), tensor(2, dtype="int64"), [], NAMES).verdict == "equal"
    assert count_nan(odd) == 1


def test_comparators_are_given_by_name_or_as_functions():
    def largest(reference, value):
        return np.abs(reference - value).max()

    found = find_comparators(["SNR", largest, " l1 "])
    assert [*found] == ["snr", "largest", "l1"]
    assert [one.element_compare(array(1, 5), array(2, 2)) for one in found.values()] == [
        pytest.approx(10 * math.log10(2.6)), 3, 4,
    ]  # fmt: skip
    assert compare(tensor(1, 5), tensor(2, 2), found.values(), NAMES).metrics[1] == 3


def test_unknown_metric_names_the_known():
    with pytest.raises(QueryError) as caught:
        find_comparators(["psnr"])
    assert str(caught.value) == (
        "metric 'psnr': unknown; choose from mse, l1, snr, cosine_similarity"
    )
