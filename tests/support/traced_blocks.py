"""Blocks of any content for a tracer, and the reference reader's view of them."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.support.etdump_strategies import CLOCK, INT32, INT64, UINT64
from tests.support.reference_reader import read_reference
from tracehouse import ETDumpWriter

SCALAR_TYPES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "int8": "CHAR",
    "float16": "HALF",
    "uint16": "UINT16",
    "bool": "BOOL",
    "complex64": "COMPLEX64",
}
NAMES = st.none() | st.text(max_size=12) | st.just("native_call_add.out")
DELEGATE_IDS = INT32.filter(lambda number: number != -1) | st.text(max_size=12)
ARRAYS = st.sampled_from(["<f4", ">f8", "i1", "<f2", ">u2", "?", "c8"]).map(
    lambda dtype: np.zeros((2, 3), dtype)
)
PROFILES = st.tuples(st.just("profile"), NAMES, INT32, INT32, CLOCK, CLOCK)
DELEGATE_PROFILES = st.tuples(
    st.just("delegate"), DELEGATE_IDS, INT32, INT32, CLOCK, CLOCK, st.binary(max_size=9)
)
VALUES = st.tuples(
    st.just("value"),
    st.none() | DELEGATE_IDS,
    INT32,
    INT32,
    st.booleans(),
    st.booleans() | INT64 | st.floats() | ARRAYS | st.lists(ARRAYS, max_size=3),
)
BLOCKS = st.tuples(
    st.text(max_size=9),
    INT32,
    st.lists(st.tuples(st.text(max_size=9), UINT64), max_size=2),
    st.lists(PROFILES | DELEGATE_PROFILES | VALUES, max_size=6),
)


def write(*calls: Any) -> bytes:
    """The dump of a writer that got some calls, after `create_event_block`."""
    writer = ETDumpWriter(clock=count().__next__)
    writer.create_event_block("Execute")
    for method, *arguments in calls:
        getattr(writer, method)(*arguments)
    return writer.finish().etdump


def read_block(dump: bytes) -> dict[str, Any]:
    """The only block of a dump."""
    (run,) = read_reference(dump)["run_data"]
    return run


def read_value(value: Any, **options: Any) -> dict[str, Any]:
    """A logged value, as the reference reader returns it."""
    writer = ETDumpWriter()
    writer.create_event_block("Execute")
    writer.log_evalue(value, **options)
    return read_block(writer.finish().etdump)["events"][0]["debug_event"]["debug_entry"]


def trace_block(writer: ETDumpWriter, ticks: list[int], block: Any) -> dict[str, Any]:
    """Trace a block, and return the expected result of the reference reader."""
    name, bundled_input_index, allocations, events = block
    writer.set_bundled_input_index(bundled_input_index)
    writer.create_event_block(name)
    run = {"name": name, "bundled_input_index": bundled_input_index}
    ids = [writer.track_allocator(allocator) for allocator, _ in allocations]
    if allocations:
        run["allocators"] = [{"name": allocator} for allocator, _ in allocations]
    for allocator_id, (_, size) in zip(ids, allocations, strict=True):
        writer.track_allocation(allocator_id, size)
    if allocations or events:
        run["events"] = [
            {"allocation_event": {"allocator_id": allocator_id, "allocation_size": size}}
            for allocator_id, (_, size) in zip(ids, allocations, strict=True)
        ]
    for kind, label, chain, instruction, *rest in events:
        writer.set_chain_debug_handle(chain, instruction)
        trace = {"profile": _profile, "delegate": _delegate_profile, "value": _value}[kind]
        run["events"].append(trace(writer, ticks, label, (chain, instruction), *rest))
    return run


def _profile(writer, ticks, name, place, start, end):
    ticks += [start, end]
    writer.end_profiling(writer.start_profiling(name))
    named = {} if name is None else {"name": name}
    return {"profile_event": {**named, **_event(None, place), "start_time": start, "end_time": end}}


def _delegate_profile(writer, ticks, delegate_id, place, start, end, metadata):
    ticks += [start, end]
    writer.end_profiling_delegate(writer.start_profiling_delegate(delegate_id), metadata)
    times = {"start_time": start, "end_time": end}
    more = {"delegate_debug_metadata": list(metadata), **times}
    return {"profile_event": {**_event(delegate_id, place), **more}}


def _value(writer, ticks, delegate_id, place, is_output, value):
    if delegate_id is None:
        writer.log_evalue(value, is_output=is_output)
    else:
        writer.log_intermediate_output_delegate(delegate_id, value)
    entry = _entry(value)
    if is_output and delegate_id is None:
        entry["output"] = {"bool_val": True}
    event = _event(delegate_id, place)
    event["chain_index"] %= 2**64
    return {"debug_event": {**event, "debug_entry": entry}}


def _event(delegate_id, place):
    number = delegate_id if isinstance(delegate_id, int) else -1
    event = {"chain_index": place[0], "instruction_id": place[1], "delegate_debug_id_int": number}
    return event | ({"delegate_debug_id_str": delegate_id} if isinstance(delegate_id, str) else {})


def _entry(value):
    if isinstance(value, bool):
        return {"val": "Bool", "bool_value": {"bool_val": value}}
    if isinstance(value, int):
        return {"val": "Int", "int_value": {"int_val": value}}
    if isinstance(value, float):
        return {"val": "Double", "double_value": {"double_val": value}}
    if isinstance(value, list):
        return {"val": "TensorList", "tensor_list": {"tensors": [_tensor(item) for item in value]}}
    return {"val": "Tensor", "tensor": _tensor(value)}


def _tensor(array):
    scalar_type = SCALAR_TYPES[array.dtype.name]
    return {"scalar_type": scalar_type, "sizes": [2, 3], "strides": [3, 1], "offset": 0}


def comparable(value: Any) -> Any:
    """Content in which NaN equals NaN, without offsets and the order of keys."""
    if isinstance(value, dict):
        items = ((key, "any" if key == "offset" else item) for key, item in value.items())
        return sorted((key, comparable(item)) for key, item in items)
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return repr(value)
