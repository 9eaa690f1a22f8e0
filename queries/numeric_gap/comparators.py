"""The numeric difference of two tensors: the Inspector's metrics, and your own. Pure.

The metrics are those of `Inspector.calculate_numeric_gap`, in float64, where a NaN counts as 0 and
makes the infinities of its tensor the largest floats. Results equal the Inspector's except in three
cases where it answers NaN: infinities at the same place in both tensors are left out, tensors
without elements do not differ, and the SNR of equal tensors is infinite even if they are all zero.
The cosine of a tensor that is all zero is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.errors import WrongTypeError, WrongValueError

Array = NDArray[Any]
Comparator = Callable[[Array, Array], float]

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


COMPARATORS: dict[str, Comparator] = {
    "mse": mse,
    "l1": l1,
    "snr": snr,
    "cosine_similarity": cosine_similarity,
}


def find_comparators(metrics: Iterable[str | Comparator]) -> dict[str, Comparator]:
    """The comparators by column name.

    Args:
        metrics: Names in COMPARATORS, upper or lower case, or functions (reference, value) -> float
            that get two arrays of the same shape, as logged; a function's name names its column.

    Raises:
        WrongTypeError: if a metric is neither a name nor a function.
        WrongValueError: if a name is unknown.
    """
    known = ", ".join(COMPARATORS)
    found: dict[str, Comparator] = {}
    for metric in metrics:
        if callable(metric) and not isinstance(metric, type):
            found[getattr(metric, "__name__", type(metric).__name__)] = metric
        elif not isinstance(metric, str):
            given = f"the class {metric.__name__}" if isinstance(metric, type) else repr(metric)
            raise WrongTypeError(
                f"metric: {given:.100}, wanted {known} or a function of two arrays"
            )
        elif (name := metric.strip().lower()) in COMPARATORS:
            found[name] = COMPARATORS[name]
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
    comparators: Collection[Comparator],
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
    metrics: list[float | None] = [as_float(comparator(a, b)) for comparator in comparators]
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


def not_compared(reason: str | None, comparators: Collection[Comparator]) -> Comparison:
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
