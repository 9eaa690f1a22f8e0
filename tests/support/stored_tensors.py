"""Tensors of a store, read back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracehouse.ingest.debug_buffer import DebugBuffer, TensorValue


def read_stored(dtype: str, sizes: Sequence[int], data: bytes) -> TensorValue:
    """The tensor of this type and shape with these bytes, from a row of the table tensors."""
    strides = [math.prod(sizes[first:]) for first in range(1, len(sizes) + 1)]
    return DebugBuffer(data).read(dtype, sizes, strides=strides, offset=0)
