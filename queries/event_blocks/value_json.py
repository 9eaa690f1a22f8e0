"""Logged values -> plain values for a JSON writer. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.event_blocks.logged_values import LoggedValue

MOST_ELEMENTS = 64


def value_json(value: LoggedValue) -> Any:
    """The value; floats that are not finite are the texts NaN, Infinity and -Infinity.

    A tensor has dtype, shape and sha256 (of its bytes in logical C order), and `values`, flat in
    logical C order, if it has at most MOST_ELEMENTS elements. A tensor whose elements are missing
    has the reason as `missing`, and its sha256 is null.
    """
    if isinstance(value, TensorValue):
        return _tensor(value)
    if isinstance(value, list):
        return [_tensor(tensor) for tensor in value]
    return _scalar(value)


def _tensor(tensor: TensorValue) -> dict[str, Any]:
    columns = {"dtype": tensor.dtype, "shape": tensor.shape, "sha256": tensor.sha256}
    if tensor.stored is None:
        return columns | {"missing": tensor.missing}
    if tensor.stored.size > MOST_ELEMENTS or tensor.array is None:
        return columns
    return columns | {"values": [_scalar(element) for element in tensor.array.ravel().tolist()]}


def _scalar(value: float | None) -> float | str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value
