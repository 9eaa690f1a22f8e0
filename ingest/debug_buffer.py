"""Logged tensors: a dump has their shapes, a debug buffer their elements. Pure.

The runtime copies a tensor's memory to the debug buffer unchanged; the strides give the elements
their logical order. A tensor that cannot be read is missing, with a reason, never zeros.

Tensors may overlap, and a stride of 0 repeats elements. All tensors read from one buffer take at
most FREE_BYTES plus BYTES_PER_BYTE per byte of the buffer; further ones are missing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.ingest.batching import batches
from tracehouse.ingest.schemas.dumps import SHA256, TENSORS

FREE_BYTES = 16 << 20
BYTES_PER_BYTE = 4
PART_BYTES = 1 << 23

OUTSIDE_BUFFER = "outside the debug buffer"  # a reason why a tensor is missing

# Stored types. Any byte but 0 is a true bool, bfloat16 is the upper half of a float32; the scale of
# quantized tensors is not logged.
_STORED = {
    "bool": "u1", "uint8": "u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8",
    "int8": "i1", "int16": "<i2", "int32": "<i4", "int64": "<i8",
    "bfloat16": "<u2", "float16": "<f2", "float32": "<f4", "float64": "<f8",
    "quint8": "u1", "qint8": "i1", "qint32": "<i4", "bits8": "u1", "bits16": "<u2",
}  # fmt: skip
_MOST_DIMENSIONS = 64
_MOST_BYTES = 2**31 - 1  # bytes of one value of an Arrow binary column
_MOST_ELEMENTS = 2**60  # numpy can count their bytes, even if another size is 0
_FREE_BYTES = 1 << 20  # that overlapping elements may take, whatever the size of the buffer


_Ints = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TensorValue:
    """A logged tensor.

    Attributes:
        dtype: Element type, e.g. float32.
        shape: Sizes; None if the dump has none.
        stored: The elements as they are stored, indexed logically; a view of the debug buffer
            where possible. None if they are missing.
        missing: Why there are no elements; None if there are.
    """

    dtype: str
    shape: list[int] | None
    stored: NDArray[Any] | None
    missing: str | None = None

    @classmethod
    def of_array(cls, dtype: str, array: NDArray[Any]) -> TensorValue:
        """The tensor with these elements; `array` holds those of bfloat16 as float32."""
        kind = _STORED.get(dtype)
        if kind is None:
            return cls(dtype, list(array.shape), None, _unread(dtype))
        if dtype == "bfloat16":
            bits = array.astype(np.float32).view(np.uint32)
            return cls(dtype, list(array.shape), np.asarray(bits >> 16).astype(kind))
        return cls(dtype, list(array.shape), array.astype(kind, copy=False))

    @property
    def array(self) -> NDArray[Any] | None:
        """The elements as a numpy array, bfloat16 widened to float32; None if missing."""
        if self.stored is None:
            return None
        if self.dtype == "bool":
            return self.stored.astype(np.bool_)
        if self.dtype == "bfloat16":
            wide = self.stored.astype(np.uint32)
            wide <<= 16
            return wide.view(np.float32)
        return self.stored

    @cached_property
    def sha256(self) -> str | None:
        """SHA-256 of the bytes in logical C order, lower-case hex; None if missing."""
        if self.stored is None:
            return None
        flat = np.ascontiguousarray(self.stored).reshape(-1).view(np.uint8)
        return hashlib.sha256(flat.data).hexdigest()

    def is_same(self, other: TensorValue) -> bool | None:
        """Whether type, shape and bytes are equal (NaN included); None if unknown."""
        if (self.dtype, self.shape) != (other.dtype, other.shape):
            return False
        if self.sha256 is None or other.sha256 is None:
            return None
        return self.sha256 == other.sha256


class DebugBuffer:
    """A debug buffer, whose tensors are read and hashed once, on first use."""

    def __init__(self, data: bytes | memoryview | None) -> None:
        """Keep a view of `data`, which may be a memory map; None means there is no buffer."""
        self._data = None if data is None else memoryview(data).cast("B")
        self._known: dict[tuple[str, _Ints, _Ints, int], TensorValue] = {}
        size = 0 if self._data is None else len(self._data)
        self._allowance = Allowance(FREE_BYTES + BYTES_PER_BYTE * size, "bytes of tensors")

    def read(
        self, dtype: str, sizes: Sequence[int] | None, *, strides: Sequence[int] | None, offset: int
    ) -> TensorValue:
        """The tensor that these columns of debug_values describe; its bytes are not read yet."""
        if sizes is None:
            return TensorValue(dtype, None, None, "no sizes")
        if len(sizes) > _MOST_DIMENSIONS:
            problem = f"{len(sizes):,} dimensions, wanted at most {_MOST_DIMENSIONS}"
            return TensorValue(dtype, list(sizes), None, problem)
        place = dtype, tuple(sizes), tuple(strides or ()), offset
        tensor = self._known.get(place)
        if tensor is None:
            tensor = self._charge(_locate(*place[:3], offset=offset, data=self._data))
            self._known[place] = tensor
        return tensor

    def _charge(self, tensor: TensorValue) -> TensorValue:
        try:
            self._allowance.take(0 if tensor.stored is None else tensor.stored.nbytes)
        except AllowanceError as error:
            problem = f"together with earlier tensors it {error}"
            return TensorValue(tensor.dtype, tensor.shape, None, problem)
        return tensor


def build_tensors(
    debug_values: pa.Table, buffer: bytes | memoryview | None
) -> tuple[Iterator[pa.Table], pa.Array]:
    """The table tensors of one dump's debug_values, and their column sha256.

    Returns:
        One row per distinct content, in order of first use, in parts of PART_BYTES that are created
        lazily; and for each row of debug_values the hash of its tensor's bytes, null without a
        tensor or if its elements are missing.
    """
    source = DebugBuffer(buffer)
    columns = (debug_values[name] for name in ("dtype", "sizes", "strides", "tensor_offset"))
    tensors = [
        source.read(dtype, sizes, strides=strides, offset=offset) if dtype else None
        for dtype, sizes, strides, offset in zip(*(c.to_pylist() for c in columns), strict=True)
    ]
    hashes = [tensor.sha256 if tensor else None for tensor in tensors]
    distinct = {tensor.sha256: tensor.stored for tensor in tensors if tensor}
    return _tensor_tables(distinct), pa.array(hashes, SHA256.type)


def _tensor_tables(distinct: Mapping[str | None, NDArray[Any] | None]) -> Iterator[pa.Table]:
    known = [(sha256, stored) for sha256, stored in distinct.items() if stored is not None]
    for some in batches(known, lambda one: one[1].nbytes, PART_BYTES):
        rows = [
            {"sha256": sha256, "byte_count": stored.nbytes, "data": stored.tobytes()}
            for sha256, stored in some
        ]
        yield pa.Table.from_pylist(rows, TENSORS)


class _Form(NamedTuple):
    """The memory layout of a tensor's elements, in bytes from its offset."""

    kind: np.dtype[Any]
    steps: _Ints
    byte_count: int
    span: int

    def problem(self, offset: int, data: memoryview | None) -> str | None:
        """Why the elements cannot be read at this offset; None if they can."""
        if data is None:
            return "no debug buffer"
        if offset < 0 or offset + self.span > len(data):
            return f"{OUTSIDE_BUFFER} ({len(data):,} bytes)"
        most = min(max(len(data), _FREE_BYTES), _MOST_BYTES)
        if self.byte_count > most:
            return f"{self.byte_count:,} bytes, wanted at most {most:,}"
        return None


def _locate(
    dtype: str, sizes: _Ints, strides: _Ints, *, offset: int, data: memoryview | None
) -> TensorValue:
    shape, form = list(sizes), _form_of(dtype, sizes, strides)
    if isinstance(form, str):
        return TensorValue(dtype, shape, None, form)
    if not form.byte_count:
        return TensorValue(dtype, shape, np.empty(sizes, form.kind))
    problem = form.problem(offset, data)
    if problem:
        return TensorValue(dtype, shape, None, problem)
    stored: NDArray[Any] = np.ndarray(sizes, form.kind, data, offset, form.steps)
    stored.flags.writeable = False
    return TensorValue(dtype, shape, stored)


@lru_cache(maxsize=1024)
def _form_of(dtype: str, sizes: _Ints, strides: _Ints) -> _Form | str:
    """The layout, or the problem with it."""
    problem = _sizes_problem(dtype, sizes)
    if problem:
        return problem
    kind = np.dtype(_STORED[dtype])
    if 0 in sizes:
        return _Form(kind, (), 0, 0)
    if len(strides) != len(sizes):
        return f"{len(strides)} strides, wanted {len(sizes)}"
    # The stride of a dimension of size 1 is never used.
    steps = [step if size > 1 else 0 for size, step in zip(sizes, strides, strict=True)]
    if min(steps, default=0) < 0:
        return "negative stride"
    last = sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    width = kind.itemsize
    return _Form(
        kind,
        tuple(step * width for step in steps),
        byte_count=math.prod(sizes) * width,
        span=(last + 1) * width,
    )


def _sizes_problem(dtype: str, sizes: _Ints) -> str | None:
    if dtype not in _STORED:
        return _unread(dtype)
    if min(sizes, default=0) < 0:
        return "negative size"
    if math.prod(size or 1 for size in sizes) >= _MOST_ELEMENTS:
        return f"shape too large, wanted fewer than {_MOST_ELEMENTS:,} elements"
    return None


def _unread(dtype: str) -> str:
    return f"elements of dtype {dtype} are not read"
