"""Tensors of the drop-in: numpy arrays, or torch's tensors as in the Inspector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.etrecord.maps import RecordedValue
from tracehouse.queries.errors import WrongValueError
from tracehouse.queries.event_blocks.blocks import Event, EventBlock
from tracehouse.queries.event_blocks.frames import optional_module

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


def show_tensors(block: EventBlock, form: TensorForm) -> None:
    """Replace the logged values of a block by tensors that users see, in objects of their own."""
    block.run_output = [_show(value, form) for value in block.run_output or []]
    if block.reference_output is not None:
        block.reference_output = [_show(value, form) for value in block.reference_output]
    for event in block.events:
        _own(event)
        event.debug_data = [_show(value, form) for value in event.debug_data]


def _own(event: Event) -> None:
    """Copy what events of one node share, as users may change it."""
    handles = event.debug_handles
    if handles is not None and not isinstance(handles, int):
        event.debug_handles = list(handles)
    event.op_types = list(event.op_types)
    event.stack_traces = dict(event.stack_traces)
    event.module_hierarchy = {
        node: None if modules is None else {key: tuple(one) for key, one in modules.items()}
        for node, modules in event.module_hierarchy.items()
    }


def _show(value: RecordedValue, form: TensorForm) -> Any:
    if isinstance(value, list):
        return [form(tensor) for tensor in value]
    return form(value) if isinstance(value, TensorValue) else value
