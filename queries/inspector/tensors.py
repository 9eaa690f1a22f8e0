"""The drop-in's form of tensors: numpy arrays, or torch's tensors as in the Inspector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.errors import WrongValueError
from tracehouse.queries.inspector.frames import optional_module

TensorForm = Callable[[TensorValue], Any]  # returns None for a missing tensor

NUMPY, TORCH = "numpy", "torch"


def tensor_form(name: str) -> TensorForm:
    """The form of this name; "torch" raises QueryError if torch is not installed.

    Raises:
        WrongValueError: The name is neither numpy nor torch.
    """
    if name == NUMPY:
        return numpy_array
    if name != TORCH:
        raise WrongValueError(f"tensors={name!r}: wanted '{NUMPY}' or '{TORCH}'")
    torch = optional_module("torch", f"tensors='{TORCH}'")

    def torch_tensor(tensor: TensorValue) -> Any:
        """A tensor with its own memory."""
        if tensor.stored is None:
            return None
        if tensor.dtype == "bfloat16":
            return torch.from_numpy(tensor.stored.astype(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(np.array(tensor.array))

    return torch_tensor


def numpy_array(tensor: TensorValue) -> Any:
    """The tensor as an array, bfloat16 widened to float32."""
    return tensor.array
