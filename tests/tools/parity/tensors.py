"""Tensors of a debug buffer: right, and as the Inspector makes them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.plain_rows import DTYPES
from tests.tools.parity.bugs import Bug
from tests.tools.parity.errors import InspectorError

MOST_VALUES = 64
# The element types that the Inspector knows, and those that only we do.
_KNOWN = {"uint8": 1, "int8": 1, "bool": 1, "uint16": 2, "int16": 2, "float16": 2, "int32": 4}
_KNOWN |= {"float32": 4, "float64": 8, "int64": 8}
_WIDTHS = _KNOWN | {"bfloat16": 2, "bits16": 2, "bits8": 1, "quint8": 1, "qint8": 1, "qint32": 4}
_WIDTHS |= {"uint32": 4, "uint64": 8}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: its bytes in logical order, or that it is zeros, or else that it is missing."""

    dtype: str
    shape: list[int] | None
    data: bytes | None = None
    is_zeros: bool = False

    @cached_property
    def array(self) -> NDArray[Any]:
        """The elements, by the stated type."""
        if self.is_zeros:
            return np.broadcast_to(np.zeros((), self.dtype), self.shape or ())
        return np.frombuffer(self.data or b"", self.dtype).reshape(self.shape or ())

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        form = {"dtype": self.dtype, "shape": self.shape, "sha256": self.sha256}
        if self.sha256 is None or self.dtype not in _KNOWN or self.array.size > MOST_VALUES:
            return form
        return form | {"values": [plain_number(one) for one in self.array.ravel().tolist()]}

    @cached_property
    def sha256(self) -> str | None:
        """Hash of the bytes; None if they are missing."""
        if self.is_zeros:
            return _hash_of_zeros(math.prod(self.shape or ()) * _WIDTHS[self.dtype])
        return None if self.data is None else hashlib.sha256(self.data).hexdigest()


def plain_number(value: Any) -> Any:
    """A number, or as text what JSON has no number for."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def read_tensor(tensor: dict[str, Any], buffer: bytes | None, bugs: frozenset[Bug]) -> Tensor:
    """The tensor that a dump describes.

    Raises:
        InspectorError: if the Inspector would.
    """
    dtype, sizes = _dtype(tensor["scalar_type"], bugs), tensor.get("sizes")
    width, count = _WIDTHS.get(dtype), math.prod(sizes or ())
    if sizes is None or width is None:
        return Tensor(dtype, sizes)
    if min(sizes, default=0) < 0:
        return _unreadable(Tensor(dtype, sizes), "imension", bugs)
    if count == 0:
        return Tensor(dtype, sizes, b"")
    if buffer is None:
        return Tensor(dtype, sizes, is_zeros=Bug.I12 in bugs)
    strides = _contiguous(sizes) if Bug.I10 in bugs else tensor.get("strides", [])
    data = _gather(buffer, tensor["offset"], sizes=sizes, strides=strides, width=width)
    if data is None:
        return _unreadable(Tensor(dtype, sizes), "", bugs)
    return Tensor(dtype, sizes, data)


def _dtype(code: str | int, bugs: frozenset[Bug]) -> str:
    dtype = DTYPES.get(code, code.lower()) if isinstance(code, str) else f"unknown({code})"
    if dtype == "bits16" and Bug.X2 in bugs:
        return "uint16"
    if dtype not in _KNOWN and Bug.X1 in bugs:
        raise InspectorError(
            Bug.X1, "RuntimeError", "Unsupported scalar type in get_scalar_type_size"
        )
    return dtype


def _unreadable(missing: Tensor, message: str, bugs: frozenset[Bug]) -> Tensor:
    if Bug.X1 in bugs:
        raise InspectorError(Bug.X1, "RuntimeError", message)
    return missing


def _contiguous(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[dimension + 1 :]) for dimension in range(len(sizes))]


def _gather(
    buffer: bytes, offset: int, *, sizes: Sequence[int], strides: Sequence[int], width: int
) -> bytes | None:
    """The elements' bytes in logical order; None if not all are in the buffer."""
    if len(strides) != len(sizes) or min(strides, default=0) < 0 or offset < 0:
        return None
    steps = [stride if size > 1 else 0 for size, stride in zip(sizes, strides, strict=True)]
    last = sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    if offset + (last + 1) * width > len(buffer):
        return None
    places = np.zeros((), np.int64)
    for size, step in zip(sizes, steps, strict=True):
        places = places[..., None] + np.arange(size, dtype=np.int64) * step
    elements = np.frombuffer(buffer, np.dtype((np.void, width)), last + 1, offset)
    return elements[places.ravel()].tobytes()


@cache
def _hash_of_zeros(byte_count: int) -> str:
    hashed, chunk = hashlib.sha256(), bytes(1 << 20)
    for start in range(0, byte_count, len(chunk)):
        hashed.update(chunk[: byte_count - start])
    return hashed.hexdigest()
