"""The Inspector's comparators of numeric gaps, as base classes for numpy arrays.

The values of a pair are hashable arrays (`IntermediateOutput`), as they are parts of keys in the
mapping that `preprocessing` may change; arrays computed from them are hashable, too.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tracehouse.queries.errors import WrongTypeError, WrongValueError
from tracehouse.queries.event_blocks.logged_values import as_array
from tracehouse.queries.inspector.frames import new_frame
from tracehouse.queries.numeric_gap.comparators import (
    Comparator,
    as_float,
    find_comparators,
    l1,
    mse,
    snr,
)

DebugHandle = tuple[int, ...]
IntermediateOutputMapping = dict[tuple[DebugHandle, Any], tuple[DebugHandle, Any]]
OpNames = Mapping[DebugHandle, Sequence[str]]

_EXECUTORCH = "executorch.devtools."
_WANTED = "wanted {(debug handles, reference value): (debug handles, value)}"


@runtime_checkable
class NumericalComparator(Protocol):
    """A comparator derived from NumericalComparatorBase or ExecuTorch's class of that name."""

    inspector: Any

    def element_compare(self, a: Any, b: Any) -> float:
        """The distance of a value from its reference."""

    def compare(
        self,
        mapping: IntermediateOutputMapping,
        aot_debug_handle_to_op_names: OpNames,
        runtime_debug_handle_to_op_names: OpNames,
    ) -> Any:
        """A pandas DataFrame with one row per pair."""


class IntermediateOutput(NDArray[Any]):
    """An array that can be part of a key, where it equals only itself."""

    def __hash__(self) -> int:  # type: ignore[override]
        """A hash of the object's identity."""
        return id(self)


class NumericalComparatorBase(ABC):
    """Base class of comparators; derived classes define the distance of two values.

    Attributes:
        inspector: The Inspector that uses the comparator, if any.
    """

    def __init__(self, inspector: Any = None) -> None:
        self.inspector = inspector

    def preprocessing(self, mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
        """The pairs to compare instead of these; unchanged by default.

        Args:
            mapping: Debug handles and value of the program -> debug handles and value of the dump;
                values are hashable arrays.
        """
        return mapping

    @abstractmethod
    def element_compare(self, a: Any, b: Any) -> float:
        """The distance of a value `b` from the reference `a`."""

    def compare(
        self,
        mapping: IntermediateOutputMapping,
        aot_debug_handle_to_op_names: OpNames,
        runtime_debug_handle_to_op_names: OpNames,
    ) -> Any:
        """A pandas DataFrame with one row per pair after `preprocessing`.

        Pairs without one of the values, or with several on the program's side, are left out.
        If `preprocessing` returns an invalid mapping, this raises WrongTypeError or
        WrongValueError; without pandas it raises QueryError.
        """
        processed = _checked(self.preprocessing(mapping))
        return new_frame(
            {
                "aot_debug_handle": handles,
                "aot_ops": op_names(handles, aot_debug_handle_to_op_names),
                "aot_intermediate_output": reference,
                "runtime_ops": op_names(run_handles, runtime_debug_handle_to_op_names),
                "runtime_debug_handle": run_handles,
                "runtime_intermediate_output": value,
                "gap": self._gaps(reference, value),
            }
            for (handles, reference), (run_handles, value) in processed.items()
            if reference is not None and value is not None
            if not (isinstance(reference, Sequence) and len(reference) > 1)
        )

    def _gaps(self, reference: Any, value: Any) -> list[float]:
        """The distance of two values, or of each pair of elements of two lists.

        Raises:
            WrongValueError: The sides have different numbers of elements.
        """
        are_lists = [isinstance(one, Sequence) for one in (reference, value)]
        if not any(are_lists):
            return [as_float(self.element_compare(reference, value))]
        if not all(are_lists) or len(reference) != len(value):
            raise WrongValueError(
                "cannot compare a list of values with one value or a list of another length"
            )
        pairs = zip(reference, value, strict=True)
        return [as_float(self.element_compare(a, b)) for a, b in pairs]


class FunctionComparator(NumericalComparatorBase):
    """Compares by a function (reference, value) -> float of two arrays."""

    def __init__(self, function: Comparator, inspector: Any = None) -> None:
        super().__init__(inspector)
        self._function = function

    def element_compare(self, a: Any, b: Any) -> float:
        """The function's result."""
        return self._function(a, b)


class _MetricComparator(NumericalComparatorBase):
    """Compares by a metric of `queries.numeric_gap.comparators`."""

    _metric: Comparator

    def element_compare(self, a: Any, b: Any) -> float:
        """The metric; values of different shapes raise WrongValueError."""
        return _measure(type(self)._metric, a, b)


class MSEComparator(_MetricComparator):
    """Mean of the squared differences."""

    _metric = staticmethod(mse)


class L1Comparator(_MetricComparator):
    """Sum of the absolute differences."""

    _metric = staticmethod(l1)


class SNRComparator(_MetricComparator):
    """Signal-to-noise ratio in decibels."""

    _metric = staticmethod(snr)


def comparator_of(
    distance: str | Comparator | NumericalComparator, inspector: Any
) -> NumericalComparator:
    """The comparator for a name, a function or a comparator, with its Inspector.

    An unknown name raises WrongValueError.
    """
    if isinstance(distance, NumericalComparator):
        distance.inspector = distance.inspector or inspector
        return distance
    [function] = find_comparators([distance]).values()
    is_named = isinstance(distance, str)
    return FunctionComparator(partial(_measure, function) if is_named else function, inspector)


def warn_of_arrays(comparator: NumericalComparator) -> None:
    """Warn if a comparator is derived from ExecuTorch's class, which expects torch's tensors.

    ExecuTorch's own comparators also accept arrays.
    """
    kind = type(comparator)
    if isinstance(comparator, NumericalComparatorBase) or kind.__module__.startswith(_EXECUTORCH):
        return
    warnings.warn(
        f"{kind.__name__} expects torch's tensors but gets numpy arrays: "
        "use Inspector(..., tensors='torch')",
        stacklevel=3,
    )


def op_names(handles: DebugHandle, names: OpNames) -> list[str]:
    """The operators whose debug handles are all among these."""
    return [name for known, ops in names.items() if set(known).issubset(handles) for name in ops]


def _measure(metric: Callable[[NDArray[Any], NDArray[Any]], float], a: Any, b: Any) -> float:
    left, right = _numbers(a), _numbers(b)
    if left.shape != right.shape:
        raise WrongValueError(f"cannot compare the shapes {left.shape} and {right.shape}")
    return metric(left, right)


def _numbers(value: Any) -> NDArray[np.float64]:
    try:
        return as_array(value).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise WrongValueError(f"cannot compare a {type(value).__name__}: {error}") from error


def _checked(mapping: Any) -> IntermediateOutputMapping:
    """The mapping, checked.

    Raises:
        WrongTypeError: The mapping is not a dict.
    """
    if not isinstance(mapping, dict):
        raise WrongTypeError(
            f"preprocessing() must return a dict, not {type(mapping).__name__}: {_WANTED}"
        )
    for key, value in mapping.items():
        _check_side(key, "key", "AOT")
        _check_side(value, "value", "runtime")
    return mapping


def _check_side(side: Any, place: str, name: str) -> None:
    """Check that the side is a pair of debug handles and a value.

    Raises:
        WrongValueError: The side is something else.
    """
    if not (isinstance(side, tuple) and len(side) == 2):
        raise WrongValueError(f"preprocessing(): Invalid {place} format: {side!r}; {_WANTED}")
    handles = side[0]
    if not (isinstance(handles, tuple) and all(isinstance(one, int) for one in handles)):
        raise WrongValueError(
            f"preprocessing(): Invalid {name} debug handle: {handles!r}, wanted a tuple of int"
        )
