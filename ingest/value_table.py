"""Logged values -> an Arrow table. Pure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from ingest.arena import Ints
from ingest.arrow_columns import build_table, lists, named, nullable, strings
from ingest.etdump import DebugEvents
from ingest.schemas import DECODED
from ingest.values import DTYPES, MISSING, VALUE_TYPES, Tensors

RunColumns = Callable[[Ints], tuple[pa.Array, pa.Array]]


def build_debug_values(events: DebugEvents, run_columns: RunColumns) -> pa.Table:
    """The table debug_values; `run_columns` gives dump_index and run_index of rows of runs."""
    if not len(events.run):
        return DECODED["debug_values"].empty_table()
    values = events.values
    count = len(events.run)
    tensors = np.bincount(values.tensor_event, minlength=count)
    row = np.repeat(np.arange(count), np.maximum(tensors, 1))
    is_tensor = tensors[row] > 0
    element = np.full(len(row), -1, np.int64)
    element[is_tensor] = values.element
    tensor = np.full(len(row), -1, np.int64)
    tensor[is_tensor] = np.arange(len(values.element))
    return build_table(
        "debug_values",
        *run_columns(events.run[row]),
        events.position[row].astype(np.int32),
        events.chain.view(np.int64)[row],
        nullable(events.instruction[row], events.instruction[row] != -1),
        nullable(events.delegate_int[row], events.delegate_int[row] != -1),
        strings(events.delegate_str, row, empty=False),
        strings(events.name, row),
        _value_positions(events)[row].astype(np.int32),
        nullable(element.astype(np.int32), element >= 0),
        named(values.type[row], VALUE_TYPES, {MISSING: "missing"}),
        nullable(values.integer[row], values.has_integer[row]),
        nullable(values.real[row], values.has_real[row]),
        *_tensor_columns(values.tensors, tensor),
        values.is_output[row],
    )


def _tensor_columns(tensors: Tensors, tensor: Ints) -> list[pa.Array]:
    take = pa.array(tensor, mask=tensor < 0)
    return [
        named(tensors.dtype.astype(np.int32), DTYPES, {}).take(take),
        lists(tensors.sizes).take(take),
        lists(tensors.strides).take(take),
        pa.array(tensors.offset).take(take),
    ]


def _value_positions(events: DebugEvents) -> Ints:
    """Position of each value among those of the same run, instruction, chain and delegate id."""
    keys = np.column_stack(
        [
            events.run, events.instruction, events.chain.view(np.int64), events.delegate_int,
            events.delegate_str.codes, events.values.is_output,
        ]
    )  # fmt: skip
    _, group = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    position = np.empty(len(group), np.int64)
    position[order] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return position
