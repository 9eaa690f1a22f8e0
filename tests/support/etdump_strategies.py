"""Hypothesis strategies for the content of ETDumps, over the full range of every field.

Ids and names are drawn from a small pool half of the time, so that events repeat and collide.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.etdump_schema import ENUMS

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
UINT64 = st.integers(0, 2**64 - 1)
Content = st.SearchStrategy[dict[str, Any]]


def _without_minus_zero(number: float) -> float:
    """Minus zero equals the default, so FlatBuffers does not write it."""
    return number or 0.0


TEXT = (
    st.sampled_from(["", "a", "b", "x" * 63, "x" * 64, "y" * 200])
    | st.sampled_from(["OPERATOR_CALL", "native_call_a.out", "x::a.out"])
    | st.text("ab\0\né永🔥", max_size=20)
    | st.binary(max_size=6).map(lambda raw: raw + b"\xff")  # never UTF-8
)
INSTRUCTION = st.sampled_from([-1, 0, 1]) | INT32
CLOCK = st.sampled_from([0, 5, 2**32 - 1, 2**33, 2**63, 2**64 - 1]) | UINT64


def _table(required: dict[str, st.SearchStrategy[Any]], **optional: Any) -> Content:
    return st.fixed_dictionaries(required, optional=optional)


def _enum(name: str) -> st.SearchStrategy[str | int]:
    known = ENUMS[name]
    unknown = sorted(set(range(-128, 128)) - known.keys())
    return st.sampled_from(sorted(known.values())) | st.sampled_from(unknown)


LONGS = st.lists(INT64, max_size=4)
TENSOR = _table({"scalar_type": _enum("ScalarType"), "offset": INT64}, sizes=LONGS, strides=LONGS)
BOOL = _table({"bool_val": st.booleans()})
VALUE = _table(
    {"val": _enum("ValueType")},
    tensor=TENSOR,
    tensor_list=_table({}, tensors=st.lists(TENSOR, max_size=3)),
    int_value=_table({"int_val": INT64}),
    float_value=_table({"float_val": st.floats(width=32).map(_without_minus_zero)}),
    double_value=_table({"double_val": st.floats().map(_without_minus_zero)}),
    bool_value=BOOL,
    output=BOOL,
)
DEBUG_EVENT = _table(
    {
        "chain_index": st.sampled_from([0, 2**64 - 1]) | UINT64,
        "instruction_id": INSTRUCTION,
        "delegate_debug_id_int": INSTRUCTION,
    },
    debug_entry=VALUE,
    delegate_debug_id_str=TEXT,
    name=TEXT,
)
PROFILE_EVENT = _table(
    {
        "chain_index": st.sampled_from([0, -1]) | INT32,
        "instruction_id": INSTRUCTION,
        "delegate_debug_id_int": INSTRUCTION,
        "start_time": CLOCK,
        "end_time": CLOCK,
    },
    name=TEXT,
    delegate_debug_id_str=TEXT,
    delegate_debug_metadata=st.lists(st.integers(0, 255), max_size=5),
)
ALLOCATION_EVENT = _table({"allocator_id": st.integers(-1, 3) | INT32, "allocation_size": UINT64})
EVENT = _table(
    {},
    profile_event=PROFILE_EVENT,
    allocation_event=ALLOCATION_EVENT,
    debug_event=DEBUG_EVENT,
)
SINGLE_EVENT = st.one_of(
    _table({"profile_event": PROFILE_EVENT}), _table({"debug_event": DEBUG_EVENT})
)


def runs(event: Content = EVENT) -> Content:
    """Content of one run."""
    return _table(
        {"bundled_input_index": st.just(-1) | INT32},
        name=TEXT,
        allocators=st.lists(_table({}, name=TEXT), max_size=2),
        events=st.lists(event, max_size=5),
    )


def etdumps(event: Content = EVENT) -> Content:
    """Content of one dump, every scalar field given."""
    version = st.integers(0, 2**32 - 1)
    return _table({"version": version}, run_data=st.lists(runs(event), max_size=3))
