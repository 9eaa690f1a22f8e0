"""The Inspector's `compare_results`: outputs against reference outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tracehouse.queries.errors import WrongTypeError, WrongValueError
from tracehouse.queries.event_blocks.blocks import EventBlock
from tracehouse.queries.event_blocks.frames import optional_module
from tracehouse.queries.event_blocks.logged_values import as_array
from tracehouse.queries.numeric_gap import output_gap
from tracehouse.queries.numeric_gap.comparators import Distance, cosine_similarity, mse, snr

_METRICS: dict[str, Distance] = {"snr": snr, "mse": mse, "cosine_similarity": cosine_similarity}
_PLACES = 2
_MARGIN = 1.25
_LEAST_TICKS, _SPARSE_TICKS = 5, 20


def compare_results(
    reference_output: Sequence[Any],
    run_output: Sequence[Any] | None = None,
    metrics: Sequence[str] | None = None,
    plot: bool = False,
) -> dict[str, list[float | None]] | pa.Table:
    """Distances of outputs from their references, by metric, in the order of the outputs.

    Numbers are rounded to two places, None for pairs other than tensors and NaN if an element is;
    they are printed, or plotted, which needs matplotlib. With the event blocks of an Inspector
    instead of outputs, the result is the table of `queries.numeric_gap.output_gap`.

    Args:
        reference_output: Reference outputs, or event blocks.
        run_output: Outputs to compare; None with event blocks.
        metrics: Some of snr, mse and cosine_similarity; all by default.
        plot: Whether to plot into METRIC_output_plot.png instead of printing.

    Raises:
        WrongTypeError: The arguments are neither outputs nor event blocks.
    """
    if reference_output is None:
        raise WrongTypeError("compare_results: wanted outputs or event blocks, not None")
    if run_output is None:
        if not all(isinstance(block, EventBlock) for block in reference_output):
            raise WrongTypeError("compare_results: wanted run_output, or event blocks alone")
        return output_gap.compare_results(reference_output, metrics or list(_METRICS))
    pairs = [
        (as_array(reference), as_array(output))
        if hasattr(reference, "__array__") and hasattr(output, "__array__")
        else None
        for reference, output in zip(reference_output, run_output, strict=False)
    ]
    results = {
        name: [None if pair is None else _round_metric(metric, *pair) for pair in pairs]
        for name, metric in _METRICS.items()
        if metrics is None or name in metrics
    }
    for name, values in results.items():
        (_plot if plot else _print)(name, values)
    return results


def _round_metric(metric: Distance, reference: Any, output: Any) -> float:
    """The metric; NaN if an element is.

    Raises:
        WrongValueError: The shapes differ.
    """
    if reference.shape != output.shape:
        raise WrongValueError(f"cannot compare the shapes {reference.shape} and {output.shape}")
    if np.isnan(reference).any() or np.isnan(output).any():
        return math.nan
    return round(metric(reference, output), _PLACES)


def _print(name: str, values: Sequence[float | None]) -> None:
    lines = [
        f"{index:<5}{'none' if value is None else format(value, '.5f'):>8}"
        for index, value in enumerate(values)
    ]
    print("\n".join([name, "-" * 20, *lines, "\n"]))  # noqa: T201 - as the Inspector's


def _plot(name: str, values: Sequence[float | None]) -> None:
    """Save and show the metric as a bar chart; without matplotlib this raises QueryError."""
    plt = optional_module("matplotlib.pyplot", "a plot")
    heights = [0.0 if value is None or not math.isfinite(value) else value for value in values]
    figure, axes = plt.subplots(figsize=(8, 6))
    bars = axes.bar(range(len(heights)), heights, width=0.5)
    axes.bar_label(bars, labels=[str(value) for value in values])
    axes.grid(True, which="major", axis="y")
    count = max(len(heights), _LEAST_TICKS)
    axes.set_xticks(range(0, count, 1 if count < _SPARSE_TICKS else _LEAST_TICKS))
    axes.set(xlabel="Output value index", ylabel=name, title=f"Metric {name}")
    axes.set_ylim(*_limits(name, heights))
    figure.savefig(f"{name}_output_plot.png")
    plt.show()
    plt.close(figure)


def _limits(name: str, heights: Sequence[float]) -> tuple[float, float]:
    """Limits of the y axis: all values and 0, with a margin; up to 1 for a cosine."""
    lowest = min([*heights, 0.0]) * _MARGIN
    if name == "cosine_similarity":
        return (-1.0 if lowest < 0 else 0.0), 1.0
    return lowest, max([*heights, 0.0]) * _MARGIN or 1.0
