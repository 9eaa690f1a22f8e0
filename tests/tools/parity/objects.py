"""The drop-in's objects beside our event blocks in JSON, which the parity of blocks judges."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.tools.parity.comparison import is_same
from tests.tools.parity.durations import STATISTICS
from tests.tools.parity.goldens import Json
from tests.tools.parity.tensors import plain_number
from tracehouse import Event, EventBlock

_FIELDS = (
    "name", "op_types", "delegate_debug_identifier", "debug_handles", "num_outputs", "stack_traces",
    "is_delegated_op", "delegate_backend_name", "start_time",
)  # fmt: skip


def object_faults(blocks: Sequence[Json], objects: Sequence[EventBlock]) -> Iterator[str]:
    """Sentences on where the objects and the JSON differ."""
    if len(blocks) != len(objects):
        yield f"the drop-in has {len(objects)} blocks, the JSON {len(blocks)}"
        return
    for i, (block, twin) in enumerate(zip(blocks, objects, strict=True)):
        names = ("name", "bundled_input_index")
        yield from _unequal(
            f"block {i}", {name: (block[name], getattr(twin, name)) for name in names}
        )
        yield from _unequal_values(f"block {i}: run_output", block["run_output"], twin.run_output)
        if block["reference_output"] is not None:
            place = f"block {i}: reference_output"
            yield from _unequal_values(place, block["reference_output"], twin.reference_output)
        for j, (event, other) in enumerate(zip(block["events"], twin.events, strict=True)):
            yield from _event_faults(f"block {i} event {j}", event, other)


def _event_faults(place: str, event: Json, twin: Event) -> Iterator[str]:
    pairs = {name: (event[name], getattr(twin, name)) for name in _FIELDS}
    if twin.perf_data is None:
        pairs["raw"] = (event["raw"] or None, None)
    else:
        numbers = ("raw", *STATISTICS)
        pairs |= {name: (event[name], getattr(twin.perf_data, name)) for name in numbers}
    modules = {
        node: hierarchy and {key: list(module) for key, module in hierarchy.items()}
        for node, hierarchy in twin.module_hierarchy.items()
    }
    metadata = [data.hex() for data in twin.raw_delegate_debug_metadatas]
    pairs["module_hierarchy"] = (event["module_hierarchy"], modules)
    pairs["raw_delegate_debug_metadatas"] = (event["raw_delegate_debug_metadatas"], metadata)
    yield from _unequal(place, pairs)
    yield from _unequal_values(f"{place}: debug_data", event["debug_data"], twin.debug_data)


def _unequal(place: str, pairs: dict[str, tuple[Any, Any]]) -> Iterator[str]:
    for name, (one, other) in pairs.items():
        if not is_same(one, other):
            yield f"{place}: {name}: the JSON has {one!r:.200}, the drop-in {other!r:.200}"


def _unequal_values(place: str, values: Any, objects: Any) -> Iterator[str]:
    if isinstance(values, list):
        if not isinstance(objects, list) or len(values) != len(objects):
            yield f"{place}: the JSON has {values!r:.200}, the drop-in {objects!r:.200}"
            return
        for value, twin in zip(values, objects, strict=True):
            yield from _unequal_values(place, value, twin)
    elif isinstance(values, dict):
        yield from _tensor_faults(place, values, objects)
    else:
        yield from _unequal(place, {"value": (values, plain_number(objects))})


def _tensor_faults(place: str, tensor: Json, array: Any) -> Iterator[str]:
    if tensor["sha256"] is None or array is None:
        yield from _unequal(place, {"missing": (tensor["sha256"] is None, array is None)})
        return
    pairs: dict[str, tuple[Any, Any]] = {"shape": (tensor["shape"], list(array.shape))}
    if array.dtype.name == tensor["dtype"] != "bool":
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        pairs["sha256"] = (tensor["sha256"], digest)
    yield from _unequal(place, pairs)
