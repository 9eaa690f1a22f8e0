"""Program outputs against the reference outputs of the ETRecord: `compare_results`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol

import pyarrow as pa

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.event_blocks.logged_values import LoggedValue, logged_value
from tracehouse.queries.numeric_gap.comparators import (
    Distance,
    NumericalComparator,
    column,
    compare,
    comparison_columns,
    count_nan,
    find_comparators,
    metric_table,
    not_compared,
)
from tracehouse.queries.numeric_gap.logged_operators import flat_tensors

_LEADING = [
    column("block_index", pa.int32(), "Position of the event block, from 0.", nullable=False),
    column("event_block_name", pa.string(), "Name of the event block."),
    column("method", pa.string(), "Method that ran; null if unknown."),
    column("bundled_input_index", pa.int64(), "Bundled input; -1 when there is none."),
    column(
        "output_index",
        pa.int32(),
        "Position among the outputs, with lists flattened.",
        nullable=False,
    ),
    column("reference_dtype", pa.string(), "Element type of the reference."),
    column("run_dtype", pa.string(), "Element type of the output."),
    column("shape", pa.list_(pa.int64()), "Shape (of the reference, if they differ)."),
    column("reference_nan_count", pa.int64(), "NaN elements of the reference."),
    column("run_nan_count", pa.int64(), "NaN elements of the output."),
]


class OutputBlock(Protocol):
    """What `compare_results` reads of an event block; its tensors can also be arrays."""

    @property
    def name(self) -> str | None:
        """Name of the runs."""

    @property
    def method(self) -> str | None:
        """Method that was run."""

    @property
    def bundled_input_index(self) -> int | None:
        """Index of the bundled input."""

    @property
    def run_output(self) -> Sequence[LoggedValue] | None:
        """Program outputs."""

    @property
    def reference_output(self) -> Sequence[LoggedValue | str] | None:
        """The outputs that the ETRecord expects."""


def compare_results(
    blocks: Sequence[OutputBlock],
    metrics: Iterable[str | Distance | NumericalComparator] = ("snr", "mse", "cosine_similarity"),
) -> pa.Table:
    """Compare the outputs of each block's first run with the ETRecord's reference outputs.

    Returns:
        One row per output of the run or the reference, in file order, with a column per metric
        between run_nan_count and verdict; unlike the Inspector's, numbers are not rounded. An
        unknown metric raises QueryError.
    """
    comparators = find_comparators(metrics)
    rows = [row for index, block in enumerate(blocks) for row in _rows(index, block, comparators)]
    return metric_table(rows, _LEADING, comparators)


def _rows(
    block_index: int, block: OutputBlock, comparators: Mapping[str, NumericalComparator]
) -> Iterator[dict[str, Any]]:
    absence = "no such reference output" if block.reference_output else "no reference output"
    pairs = zip_longest(_flat(block.reference_output or ()), _flat(block.run_output or ()))
    for index, (reference, output) in enumerate(pairs):
        if reference and output:
            comparison = compare(reference, output, comparators.values(), ("reference", "run"))
        else:
            reason = "the run has no such output" if reference else absence
            comparison = not_compared(reason, comparators.values())
        shown = reference or output
        yield {
            "block_index": block_index,
            "event_block_name": block.name,
            "method": block.method,
            "bundled_input_index": block.bundled_input_index,
            "output_index": index,
            "reference_dtype": reference and reference.dtype,
            "run_dtype": output and output.dtype,
            "shape": shown and shown.shape,
            "reference_nan_count": reference and count_nan(reference),
            "run_nan_count": output and count_nan(output),
            **comparison_columns(comparison, comparators),
        }


def _flat(values: Iterable[LoggedValue | str]) -> list[TensorValue]:
    return [tensor for value in values for tensor in flat_tensors(logged_value(value))]
