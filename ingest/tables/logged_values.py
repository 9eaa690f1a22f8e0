"""Logged values -> an Arrow table. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints, Mask
from tracehouse.ingest.etdump.columns import DebugEvents
from tracehouse.ingest.etdump.entries import count_before
from tracehouse.ingest.etdump.values import DTYPES, MISSING, VALUE_TYPES, Int64Lists, Tensors
from tracehouse.ingest.tables.arrow_columns import EMPTY, build_table, lists, named, plain, strings

_NO_TENSOR = -(2**31)  # not the value of any byte

RunColumns = Callable[[Ints], tuple[pa.Array, pa.Array]]


def build_debug_values(
    events: DebugEvents, run_columns: RunColumns, positions: NDArray[np.int32] | None
) -> pa.Table:
    """The table debug_values.

    Args:
        events: The events that logged the values.
        run_columns: Returns dump_index and run_index of rows of runs.
        positions: Position of each value, needed if the events are only some of their run.
    """
    if not len(events.run):
        return EMPTY["debug_values"]
    values = events.values
    positions = _value_positions(events) if positions is None else positions
    count = len(events.run)
    tensors = np.bincount(values.tensor_event, minlength=count)
    row = np.repeat(np.arange(count), np.maximum(tensors, 1))
    is_tensor = tensors[row] > 0
    element = np.full(len(row), -1, np.int64)
    element[is_tensor] = values.element
    return build_table(
        "debug_values",
        *run_columns(events.run[row]),
        events.position[row].astype(np.int32),
        events.chain.view(np.int64)[row],
        plain(events.instruction[row], events.instruction[row] != -1),
        plain(events.delegate_int[row], events.delegate_int[row] != -1),
        strings(events.delegate_str, row, empty=False),
        strings(events.name, row),
        positions[row],
        plain(element.astype(np.int32), element >= 0),
        named(values.type[row], VALUE_TYPES, {MISSING: "missing"}),
        plain(values.integer[row], values.has_integer[row]),
        plain(values.real[row], values.has_real[row]),
        *_tensor_columns(values.tensors, is_tensor),
        values.is_output[row],
    )


def _tensor_columns(tensors: Tensors, is_tensor: Mask) -> list[pa.Array]:
    """Columns with the tensors in order where `is_tensor`, null elsewhere."""

    def spread(values: NDArray[Any], filler: int) -> NDArray[Any]:
        column = np.full(len(is_tensor), filler, values.dtype)
        column[is_tensor] = values
        return column

    def spread_lists(longs: Int64Lists) -> Int64Lists:
        return Int64Lists(spread(longs.present, 0), spread(longs.length, 0), longs.items)

    return [
        named(spread(tensors.dtype.astype(np.int32), _NO_TENSOR), DTYPES, {_NO_TENSOR: None}),
        lists(spread_lists(tensors.sizes)),
        lists(spread_lists(tensors.strides)),
        plain(spread(tensors.offset, 0), is_tensor),
    ]


def _value_positions(events: DebugEvents) -> NDArray[np.int32]:
    """Position of each value among values of the same run, instruction, chain and delegate id."""
    keys = np.column_stack(
        [
            events.run, events.instruction, events.chain.view(np.int64), events.delegate_int,
            events.delegate_str.codes, events.values.is_output,
        ]
    )  # fmt: skip
    _, group = np.unique(keys, axis=0, return_inverse=True)
    return count_before(group)
