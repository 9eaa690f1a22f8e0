"""Values logged by debug events, on top of flatbuffer.py. Pure.

Schema; the number is the slot:

    Value      0 val:ValueType  1 tensor  2 tensor_list  3 int_value  4 float_value
               5 double_value  6 bool_value  7 output:Bool
    Tensor     0 scalar_type:byte  1 sizes:[long]  2 strides:[long]  3 offset:long
    TensorList 0 tensors:[Tensor]
    Int, Double 0 (8 bytes)   Float 0 (4 bytes)   Bool 0 (1 byte)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints, Mask
from tracehouse.ingest.etdump.flatbuffer import (
    TableColumn,
    expand_vectors,
    read_tables,
    read_vectors,
)

VALUE_TYPES = ("null", "int", "bool", "float", "double", "tensor", "tensor_list", "string")
MISSING = 256  # type of a debug event without an entry; not the value of any byte
_INT, _BOOL, _FLOAT, _DOUBLE, _TENSOR, _TENSOR_LIST = range(1, 7)

DTYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32",
    "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16", "quint4x2",
    "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float8_e5m2",
    "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64",
)  # fmt: skip

_VALUE = (1, 4, 4, 4, 4, 4, 4, 4)
_TENSOR_TABLE = (1, 4, 4, 8)


@dataclass(frozen=True)
class Int64Lists:
    """A nullable column of lists of 64-bit integers: presence, lengths, and all items in order."""

    present: Mask
    length: Ints
    items: Ints


@dataclass(frozen=True)
class Tensors:
    """One row per tensor."""

    dtype: NDArray[np.int8]
    sizes: Int64Lists
    strides: Int64Lists
    offset: Ints


@dataclass(frozen=True)
class Values:
    """The logged value of each debug event.

    Attributes:
        type: Value type per event; MISSING without an entry.
        is_output: Whether the entry is marked as a program output, per event.
        integer: int or bool per event; valid if `has_integer`.
        real: float or double per event; valid if `has_real`.
        tensor_event: Event that each row of `tensors` belongs to, ascending.
        element: Position of each row of `tensors` in its tensor list; -1 for a single tensor.
        tensors: Tensors of events whose type is tensor or tensor_list, in file order.
    """

    type: NDArray[np.int32]
    is_output: Mask
    integer: Ints
    has_integer: Mask
    real: NDArray[np.float64]
    has_real: Mask
    tensor_event: Ints
    element: Ints
    tensors: Tensors


_NONE = np.zeros(0, np.int64)
_NO_LONGS = Int64Lists(_NONE.astype(bool), _NONE, _NONE)
NO_VALUES = Values(
    type=_NONE.astype(np.int32),
    is_output=_NONE.astype(bool),
    integer=_NONE,
    has_integer=_NONE.astype(bool),
    real=_NONE.astype(np.float64),
    has_real=_NONE.astype(bool),
    tensor_event=_NONE,
    element=_NONE,
    tensors=Tensors(_NONE.astype(np.int8), _NO_LONGS, _NO_LONGS, _NONE),
)


def read_values(events: TableColumn, slot: int) -> Values:
    """Read the Value that each table's slot refers to; unused members are verified, too.

    Raises:
        FaultyDumps: A value is malformed.
    """
    if not len(events):  # as in most dumps
        return NO_VALUES
    rows, words, owner = events.refs(slot)
    tables = read_tables(events.scope, words, owner, _VALUE)
    tag = tables.uint8(0).view(np.int8).astype(np.int32)
    count = len(events)
    kind = np.full(count, MISSING, np.int32)
    kind[rows] = tag
    integer, real = np.zeros(count, np.int64), np.zeros(count)
    has_integer, has_real = np.zeros(count, bool), np.zeros(count, bool)
    for which, member, width, out, has in (
        (_INT, 3, 8, integer, has_integer),
        (_FLOAT, 4, 4, real, has_real),
        (_DOUBLE, 5, 8, real, has_real),
        (_BOOL, 6, 1, integer, has_integer),
    ):
        holders, scalars = _read_scalars(tables, member, width)
        used = tag[holders] == which
        out[rows[holders[used]]] = _decode_scalars(scalars[used], which)
        has[rows[holders[used]]] = True
    is_output = np.zeros(count, bool)
    holders, flags = _read_scalars(tables, 7, 1)
    is_output[rows[holders]] = flags != 0
    tensor_event, element, tensors = _read_all_tensors(tables, tag)
    return Values(
        kind, is_output, integer, has_integer, real, has_real, rows[tensor_event], element, tensors
    )


def _read_scalars(values: TableColumn, member: int, width: int) -> tuple[Ints, NDArray[np.uint64]]:
    """Bits of the scalar in a one-field table: (rows of `values` with that member, bits)."""
    rows, words, owner = values.refs(member)
    tables = read_tables(values.scope, words, owner, (width,))
    if width == 8:
        return rows, tables.uint64(0)
    if width == 4:
        return rows, tables.int32(0, 0).view(np.uint32).astype(np.uint64)
    return rows, tables.uint8(0).astype(np.uint64)


def _decode_scalars(bits: NDArray[np.uint64], which: int) -> NDArray[Any]:
    if which == _FLOAT:
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if which == _DOUBLE:
        return bits.view(np.float64)
    if which == _BOOL:
        bits = np.minimum(bits, np.uint64(1))
    return bits.view(np.int64)


def _read_all_tensors(values: TableColumn, tag: NDArray[np.int32]) -> tuple[Ints, Ints, Tensors]:
    """Single tensors and elements of lists: (row of `values`, element or -1, tensors), in order."""
    scope = values.scope
    lone, lone_words, lone_owner = values.refs(1)
    holders, words, owner = values.refs(2)
    lists = read_tables(scope, words, owner, (4,))
    with_tensors, vectors, list_owner = lists.refs(0)
    row, element, items = expand_vectors(vectors, read_vectors(scope, vectors, list_owner, 4))
    tensor_words = np.concatenate([lone_words, scope.follow(items, list_owner[row])])
    tensor_owner = np.concatenate([lone_owner, list_owner[row]])
    event = np.concatenate([lone, holders[with_tensors[row]]])
    element = np.concatenate([np.full(len(lone), -1), element])
    tables = read_tables(scope, tensor_words, tensor_owner, _TENSOR_TABLE)
    used = tag[event] == np.where(element < 0, _TENSOR, _TENSOR_LIST)
    order = np.lexsort((element, event))
    order = order[used[order]]
    tensors = Tensors(
        tables.uint8(0).view(np.int8)[order],
        _read_longs(tables, 1, order),
        _read_longs(tables, 2, order),
        tables.uint64(3).view(np.int64)[order],
    )
    return event[order], element[order], tensors


def _read_longs(tables: TableColumn, slot: int, order: Ints) -> Int64Lists:
    """The slot's lists of longs, verified for all tables, returned for those in `order`."""
    rows, words, owner = tables.refs(slot)
    lengths = read_vectors(tables.scope, words, owner, 8)
    present = np.zeros(len(tables), bool)
    present[rows] = True
    word, length = np.zeros(len(tables), np.int64), np.zeros(len(tables), np.int64)
    word[rows], length[rows] = words, lengths
    row, index, _ = expand_vectors(word[order], length[order])
    items = tables.scope.arena.u64[((word[order][row] + 1) >> 1) + index].view(np.int64)
    return Int64Lists(present[order], length[order], items)
