from __future__ import annotations

import numpy as np
import pytest

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.run_values import differ_in_kind, is_same_order, reshape_like


def tensor(*shape, dtype="float32"):
    count = int(np.prod(shape))
    return TensorValue.of_array(dtype, np.arange(count, dtype=dtype).reshape(shape))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ([1, 5, 32], [5, 32], True),
        ([2, 5, 32], [10, 32], True),
        ([4, 1], [1, 4], True),
        ([], [1], True),
        ([4, 6], [6, 4], False),
        ([4, 6], [24], False),
        ([5, 32], [6, 32], False),
        (None, [1], False),
    ],
)
def test_shapes_with_the_same_order_of_elements_are_recognised(one, other, is_same):
    assert is_same_order(one, other) is is_same
    assert is_same_order(other, one) is is_same


def test_a_tensor_takes_a_shape_of_the_same_order_and_a_view_any():
    linear = tensor(10, 32)
    same = reshape_like(linear, [2, 5, 32], is_view=False)
    assert same.shape == [2, 5, 32]
    assert np.array_equal(same.array.reshape(10, 32), linear.array)
    assert reshape_like(tensor(6, 48), [6, 1, 3, 16], is_view=False).shape == [6, 48]
    assert reshape_like(tensor(6, 48), [6, 1, 3, 16], is_view=True).shape == [6, 1, 3, 16]
    assert reshape_like(tensor(6, 48), [6, 47], is_view=True).shape == [6, 48]


def test_a_missing_tensor_stays_as_it_is():
    missing = TensorValue("float32", [2], None, "no debug buffer")
    assert reshape_like(missing, [1, 2], is_view=True) is missing
    assert not differ_in_kind(missing, tensor(2))


def test_fractions_and_integers_are_of_other_kinds():
    assert differ_in_kind(tensor(2), tensor(2, dtype="int8"))
    assert not differ_in_kind(tensor(2), tensor(2, dtype="float64"))
    assert not differ_in_kind(tensor(2, dtype="bool"), tensor(2, dtype="int8"))
