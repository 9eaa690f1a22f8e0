"""Comparators of two tensors: the Inspector's metrics, your own functions, and your own classes.

The metrics are those of `Inspector.calculate_numeric_gap`, in float64, where a NaN counts as 0 and
makes the infinities of its tensor the largest floats. Results equal the Inspector's except in three
cases where it answers NaN: infinities at the same place in both tensors are left out, tensors
without elements do not differ, and the SNR of equal tensors is infinite even if they are all zero.
The cosine of a tensor that is all zero is NaN.

A comparator derived from `NumericalComparatorBase` can also change the pairs of an Inspector. There
the values of a pair are hashable arrays (`IntermediateOutput`), as they are parts of keys in the
mapping that `preprocessing` may change; arrays computed from them are hashable, too.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.errors import WrongTypeError, WrongValueError
from tracehouse.queries.event_blocks.frames import new_frame
from tracehouse.queries.event_blocks.logged_values import as_array

Array = NDArray[Any]
Distance = Callable[[Array, Array], float]  # how far a value is from its reference

DebugHandle = tuple[int, ...]
IntermediateOutputMapping = dict[tuple[DebugHandle, Any], tuple[DebugHandle, Any]]
OpNames = Mapping[DebugHandle, Sequence[str]]

_EXECUTORCH = "executorch.devtools."
_WANTED = "wanted {(debug handles, reference value): (debug handles, value)}"

# Verdicts.
NOT_COMPARED, WITHIN, DIFFERENT = "not_compared", "within_tolerance", "different"


@np.errstate(all="ignore")
def mse(reference: Array, value: Array) -> float:
    """Mean of the squared differences."""
    a, b = _comparable(reference, value)
    return float(_mean(np.square(a - b)))


@np.errstate(all="ignore")
def l1(reference: Array, value: Array) -> float:
    """Sum of the absolute differences."""
    a, b = _comparable(reference, value)
    return float(np.sum(np.abs(a - b)))


@np.errstate(all="ignore")
def snr(reference: Array, value: Array) -> float:
    """Signal-to-noise ratio in decibels: infinite if nothing differs."""
    a, b = _comparable(reference, value)
    noise = _mean(np.square(a - b))
    return float(10 * np.log10(_mean(np.square(a)) / noise)) if noise else math.inf


@np.errstate(all="ignore")
def cosine_similarity(reference: Array, value: Array) -> float:
    """Cosine of the angle between the two; 1 means the same direction."""
    a, b = _comparable(reference, value)
    lengths = np.sqrt(np.sum(np.square(a))) * np.sqrt(np.sum(np.square(b)))
    return float(np.sum(a * b) / lengths)


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
        processed = _check_mapping(self.preprocessing(mapping))
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

    def __init__(self, function: Distance, inspector: Any = None) -> None:
        super().__init__(inspector)
        self._function = function

    def element_compare(self, a: Any, b: Any) -> float:
        """The function's result."""
        return self._function(a, b)


class _MetricComparator(NumericalComparatorBase):
    """Compares by a metric."""

    _metric: Distance

    def element_compare(self, a: Any, b: Any) -> float:
        """The metric of anything that can be an array.

        Raises:
            WrongValueError: The values have different shapes, or are no arrays of numbers.
        """
        left, right = _numbers(a), _numbers(b)
        if left.shape != right.shape:
            raise WrongValueError(f"cannot compare the shapes {left.shape} and {right.shape}")
        return type(self)._metric(left, right)


class MSEComparator(_MetricComparator):
    """Mean of the squared differences."""

    _metric = staticmethod(mse)


class L1Comparator(_MetricComparator):
    """Sum of the absolute differences."""

    _metric = staticmethod(l1)


class SNRComparator(_MetricComparator):
    """Signal-to-noise ratio in decibels."""

    _metric = staticmethod(snr)


class CosineComparator(_MetricComparator):
    """Cosine of the angle between the two."""

    _metric = staticmethod(cosine_similarity)


COMPARATORS: dict[str, type[NumericalComparatorBase]] = {
    "mse": MSEComparator,
    "l1": L1Comparator,
    "snr": SNRComparator,
    "cosine_similarity": CosineComparator,
}


def find_comparators(
    metrics: Iterable[str | Distance | NumericalComparator], inspector: Any = None
) -> dict[str, NumericalComparator]:
    """The comparators by column name, which get the Inspector unless they have one.

    Args:
        metrics: Names in COMPARATORS, upper or lower case, comparators, or functions (reference,
            value) -> float that get two arrays of the same shape, as logged; a function's name
            names its column.
        inspector: The Inspector that uses them, if any.

    Raises:
        WrongTypeError: A metric is neither a name nor a function nor a comparator.
        WrongValueError: A name is unknown.
    """
    known = ", ".join(COMPARATORS)
    found: dict[str, NumericalComparator] = {}
    for metric in metrics:
        if isinstance(metric, NumericalComparator) and not isinstance(metric, type):
            metric.inspector = metric.inspector or inspector
            found[type(metric).__name__] = metric
        elif callable(metric) and not isinstance(metric, type):
            name = getattr(metric, "__name__", type(metric).__name__)
            found[name] = FunctionComparator(metric, inspector)
        elif not isinstance(metric, str):
            given = f"the class {metric.__name__}" if isinstance(metric, type) else repr(metric)
            raise WrongTypeError(
                f"metric: {given:.100}, wanted {known} or a function of two arrays"
            )
        elif (name := metric.strip().lower()) in COMPARATORS:
            found[name] = COMPARATORS[name](inspector)
        else:
            raise WrongValueError(f"metric '{metric}': unknown; choose from {known}")
    return found


class Comparison(NamedTuple):
    """The result of comparing a value with its reference.

    Attributes:
        verdict: equal (a NaN equals a NaN), within_tolerance, different or not_compared.
        reason: Why the value was not compared; None if it was.
        metrics: One per comparator; all None if it was not compared.
    """

    verdict: str
    reason: str | None
    metrics: list[float | None]


def compare(
    reference: TensorValue,
    value: TensorValue,
    comparators: Collection[NumericalComparator],
    names: tuple[str, str],
) -> Comparison:
    """Compare a value with its reference; `names` is what the reason calls the two."""
    a, b = reference.array, value.array
    if a is None:
        return not_compared(f"{names[0]}: {reference.missing}", comparators)
    if b is None:
        return not_compared(f"{names[1]}: {value.missing}", comparators)
    if a.shape != b.shape:
        return not_compared(f"shapes differ: {list(a.shape)} and {list(b.shape)}", comparators)
    is_equal = np.array_equal(a, b, equal_nan=True)
    metrics: list[float | None] = [
        as_float(comparator.element_compare(a, b)) for comparator in comparators
    ]
    return Comparison("equal" if is_equal else DIFFERENT, None, metrics)


def as_float(result: Any) -> float:
    """A comparator's result: a number, or the one element of an array or tensor; None is NaN.

    Raises:
        WrongTypeError: if the result has another type.
    """
    if result is None:
        return math.nan
    try:
        return float(result.item() if hasattr(result, "item") else result)
    except (TypeError, ValueError, RuntimeError) as error:  # torch raises RuntimeError
        shape = getattr(result, "shape", None)
        form = "" if shape is None else f" of shape {list(shape)}"
        raise WrongTypeError(
            f"a comparator returned a {type(result).__name__}{form}; it must return one number"
        ) from error


def not_compared(reason: str | None, comparators: Collection[NumericalComparator]) -> Comparison:
    """The result for values that could not be compared."""
    return Comparison(NOT_COMPARED, reason, [None] * len(comparators))


def count_nan(tensor: TensorValue) -> int | None:
    """Number of NaN elements; None if the elements are missing."""
    array = tensor.array
    return None if array is None else int(np.isnan(array).sum())


def _comparable(reference: Array, value: Array) -> tuple[Array, Array]:
    """Both in float64, without NaN and without infinities that both have at the same place."""
    a, b = np.asarray(reference, np.float64), np.asarray(value, np.float64)
    agreed = np.isinf(a) & (a == b)
    if agreed.any():
        a, b = np.where(agreed, 0, a), np.where(agreed, 0, b)
    return _without_nan(a), _without_nan(b)


def _without_nan(array: Array) -> Array:
    return np.nan_to_num(array) if np.isnan(array).any() else array


def _mean(array: Array) -> np.float64:
    return np.float64(np.sum(array)) / max(array.size, 1)


def column(name: str, type_: pa.DataType, doc: str, *, nullable: bool = True) -> pa.Field:
    """A column with its description."""
    return pa.field(name, type_, nullable=nullable, metadata={"doc": doc})


_VERDICT = [
    column(
        "verdict",
        pa.string(),
        "equal, within_tolerance, different or not_compared.",
        nullable=False,
    ),
    column("reason", pa.string(), "Why the value was not compared; null if it was."),
]


def metric_table(
    rows: Iterable[Mapping[str, Any]],
    leading: Iterable[pa.Field],
    metrics: Iterable[str],
    trailing: Iterable[pa.Field] = (),
) -> pa.Table:
    """Rows as a table: leading columns, metrics, verdict, reason, and trailing columns."""
    shown = [column(name, pa.float64(), "Metric of that name.") for name in metrics]
    return pa.Table.from_pylist(list(rows), pa.schema([*leading, *shown, *_VERDICT, *trailing]))


def comparison_columns(comparison: Comparison, metrics: Collection[str]) -> dict[str, Any]:
    """The result of a comparison, by column."""
    return {
        **dict(zip(metrics, comparison.metrics, strict=True)),
        "verdict": comparison.verdict,
        "reason": comparison.reason,
    }


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


def _numbers(value: Any) -> NDArray[np.float64]:
    try:
        return as_array(value).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise WrongValueError(f"cannot compare a {type(value).__name__}: {error}") from error


def _check_mapping(mapping: Any) -> IntermediateOutputMapping:
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
