"""Whether two logged tensors of different form can hold the same value. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tracehouse.ingest.debug_buffer import TensorValue


def is_same_order(one: Sequence[int] | None, other: Sequence[int] | None) -> bool:
    """Whether shapes are equal without dimensions of 1, or in last dimension and element count.

    One backend logs a linear layer as [5, 32], another as [1, 5, 32].
    """
    if one is None or other is None:
        return one == other
    if [size for size in one if size != 1] == [size for size in other if size != 1]:
        return True
    return bool(one and other) and one[-1] == other[-1] and math.prod(one) == math.prod(other)


def reshaped(tensor: TensorValue, shape: Sequence[int] | None, *, is_view: bool) -> TensorValue:
    """The tensor in that shape if the elements stay in order, otherwise unchanged.

    With `is_view`, one is known to be a view of the other, so equal element counts are enough.
    """
    if tensor.stored is None or shape is None or tensor.shape is None:
        return tensor
    is_fit = is_same_order(tensor.shape, shape) or is_view
    if not is_fit or math.prod(tensor.shape) != math.prod(shape):
        return tensor
    return replace(tensor, shape=list(shape), stored=tensor.stored.reshape(shape))


def differ_in_kind(one: TensorValue, other: TensorValue) -> bool:
    """Whether one is floating point and the other integer, such as a quantized value."""
    arrays = one.array, other.array
    return len({array.dtype.kind == "f" for array in arrays if array is not None}) > 1
