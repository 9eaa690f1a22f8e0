"""Writing debug buffers: the bytes of arrays, and their descriptions for the dump."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.errors import UnwritableError
from tracehouse.ingest.etdump.values import DTYPES
from tracehouse.ingest.tracer.event_tracer import Array, Tensor, Value, whole

_ALIGNMENT = 64
_NO_BYTES = -1  # offset of a tensor without elements


class StoredTensor(NamedTuple):
    """A dump's description of a tensor; strides count elements."""

    scalar_type: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


StoredValue = bool | int | float | StoredTensor | list[StoredTensor]


class DebugBufferWriter:
    """Writes tensors in sequence, each at a multiple of 64 bytes."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def store(self, value: Value) -> StoredValue:
        """Write the arrays of a value, all or none; returns the dump's description of the value.

        Elements are written in memory order, so a channels-last array stays one. Gaps and negative
        strides are removed, as the runtime has neither.

        Raises:
            UnwritableError: The value is out of range or of a type that is not logged.
        """
        if isinstance(value, np.ndarray | Tensor):
            return self._append(*_densify(value))
        if isinstance(value, list | tuple):
            return [self._append(*dense) for dense in [_densify(array) for array in value]]
        return _number(value)

    def getvalue(self) -> bytes:
        """All bytes written so far."""
        return bytes(self._bytes)

    def _append(self, scalar_type: int, dense: NDArray[Any]) -> StoredTensor:
        # numpy's strides of an array without elements are arbitrary.
        full = dense if dense.size else np.empty([max(size, 1) for size in dense.shape], np.int8)
        strides = tuple(stride // full.itemsize for stride in full.strides)
        offset = self._write(_in_memory_order(dense).tobytes())
        return StoredTensor(scalar_type, dense.shape, strides, offset)

    def _write(self, data: bytes) -> int:
        if not data:
            return _NO_BYTES
        self._bytes += bytes(-len(self._bytes) % _ALIGNMENT)
        offset = len(self._bytes)
        self._bytes += data
        return offset


def _number(value: object) -> bool | int | float:
    """A number as a Python bool, int or float.

    Raises:
        UnwritableError: The value is out of range, or not a number.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return whole("value", value, -(2**63), 2**63)
    if isinstance(value, float | np.floating):
        return float(value)
    raise UnwritableError(
        f"value: found {type(value).__name__}, wanted a bool, int, float, array or list of arrays"
    )


def _densify(array: Array) -> tuple[int, NDArray[Any]]:
    """Scalar type, and the array without gaps, with its axes in the same memory order.

    Raises:
        UnwritableError: The value is not an array, or has elements that ETDumps do not support.
    """
    if isinstance(array, Tensor):
        name, bits = array.dtype, array.bits
    elif isinstance(array, np.ndarray):
        name, bits = array.dtype.name, array
    else:
        raise UnwritableError(f"tensor: found {type(array).__name__}, wanted a numpy array")
    if name not in DTYPES:
        raise UnwritableError(f"tensor: found elements of type {name}, wanted a type of ExecuTorch")
    if min(bits.strides, default=0) < 0 or not _in_memory_order(bits).flags.c_contiguous:
        bits = bits.copy(order="K")
    return DTYPES.index(name), bits.astype(bits.dtype.newbyteorder("<"), copy=False)


def _in_memory_order(array: NDArray[Any]) -> NDArray[Any]:
    """The array with its axes from the slowest to the fastest."""
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
