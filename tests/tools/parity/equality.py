"""The Inspector's demand that values are equal in all runs of a block (I11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.tools.parity.bugs import Bug
from tests.tools.parity.errors import InspectorError
from tests.tools.parity.tensors import Tensor

_EVENTS = "Corresponding debug events in multiple iterations"
_UNEQUAL = "Expected to be equal"


def require_equal_events(first: Sequence[Any], later: Sequence[Any]) -> None:
    """Compare an event's values in two runs, as far as both have some.

    Raises:
        InspectorError: if they differ.
    """
    for one, other in zip(later, first, strict=False):
        if not _is_equal_event(one, other):
            raise InspectorError(Bug.I11, "AssertionError", _EVENTS)


def require_equal_outputs(first: Sequence[Any], later: Sequence[Any]) -> None:
    """Compare the program outputs of two runs.

    Raises:
        InspectorError: if they differ, or cannot be compared.
    """
    if len(first) != len(later):
        raise InspectorError(Bug.I11, "AssertionError", _UNEQUAL)
    for one, other in zip(first, later, strict=True):
        if not isinstance(one, type(other)) or not _is_equal_output(one, other):
            raise InspectorError(Bug.I11, "AssertionError", _UNEQUAL)


def _is_equal_event(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return _is_equal_tensor(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return all(_is_equal_tensor(a, b) for a, b in zip(one, other, strict=False))
    for tensor, number in ((one, other), (other, one)):
        if isinstance(tensor, Tensor) and isinstance(number, int | float):
            return _is_equal_number(tensor, number)
    return bool(one == other)


def _is_equal_number(tensor: Tensor, number: float) -> bool:
    """As `if tensor == number`: torch knows the truth of one element alone."""
    if tensor.array.size != 1:
        raise InspectorError(Bug.I11, "RuntimeError", "Boolean value of Tensor")
    return bool(tensor.array.item() == number)


def _is_equal_tensor(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and _elements_equal(one, other)


def _elements_equal(one: Tensor, other: Tensor) -> bool:
    if one.is_zeros and other.is_zeros:
        return True
    return bool(np.all(one.array == other.array))


def _is_equal_output(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        try:
            np.broadcast_shapes(one.shape or (), other.shape or ())
        except ValueError:
            raise InspectorError(Bug.I11, "RuntimeError", "The size of tensor a") from None
        return _elements_equal(one, other)
    if isinstance(one, list):
        return _are_equal_lists(one, other)
    return bool(one == other)


def _are_equal_lists(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """As `==` of two lists: the truth of a comparison of one element alone is known."""
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        if a.array.size != 1 or b.array.size != 1:
            raise InspectorError(Bug.I11, "RuntimeError", "Boolean value of Tensor")
        if not _elements_equal(a, b):
            return False
    return True
