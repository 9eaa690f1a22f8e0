"""Values of every run of a block, with tensors from the debug buffer."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from tests.support.corpus import CORPUS, read_dump, read_golden
from tests.support.event_blocks import Content, blocks_of, integer, logged, run, timed
from tracehouse import decode_dumps
from tracehouse.queries.event_blocks.blocks import EventBlock
from tracehouse.queries.event_blocks.build import build_event_blocks
from tracehouse.queries.event_blocks.logged_values import ValuesByRun
from tracehouse.queries.event_blocks.table import value_json

OUTPUT = {"output": {"bool_val": True}}
HERE = {"chain_index": 0, "instruction_id": 1}
NAN = struct.pack("<2f", float("nan"), 1)


def tensor(offset: int, size: int = 2) -> Content:
    return {"scalar_type": "FLOAT", "sizes": [size], "strides": [1], "offset": offset}


def lone(offset: int, size: int = 2) -> Content:
    return {"val": "Tensor", "tensor": tensor(offset, size)}


def listed(*offsets: int) -> Content:
    return {"val": "TensorList", "tensor_list": {"tensors": [tensor(at) for at in offsets]}}


def double(value: float) -> Content:
    return {"val": "Double", "double_value": {"double_val": value}}


def values_of(*runs: list[Content], buffer: bytes | None = NAN * 2) -> ValuesByRun:
    """What runs that log these values for one event give for it."""
    contents = [
        run(timed("op", 0, 1, **HERE), *(logged(value, **HERE) for value in values))
        for values in runs
    ]
    [block] = blocks_of(*contents, debug_buffer=buffer)
    [event] = block.events
    return event.values


def read_blocks(name: str) -> list[EventBlock]:
    buffer = (CORPUS / f"{name}.debug.bin").read_bytes()
    return build_event_blocks(decode_dumps([read_dump(name)]).tables, debug_buffer=buffer)


def test_each_run_keeps_its_own_values_and_their_number():
    values = values_of([integer(1)], [integer(2), integer(3)], [integer(1)])
    assert [values.of_run(run) for run in values.runs] == [[1], [2, 3], [1]]
    assert values.first == [1]


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ([integer(1)], [integer(1)], True),
        ([integer(1)], [integer(2)], False),
        ([integer(1)], [double(1)], False),
        ([integer(1)], [{"val": "Bool", "bool_value": {"bool_val": True}}], False),
        ([integer(1)], [integer(1), integer(1)], False),
        ([double(float("nan"))], [double(float("nan"))], True),
        ([double(0.5)], [double(0.25)], False),
        ([{"val": "Int"}], [{"val": "Int"}], True),
        ([lone(0)], [lone(8)], True),
        ([lone(0)], [lone(4)], False),
        ([lone(0)], [lone(0, size=1)], False),
        ([lone(0)], [listed(0)], False),
        ([listed(0, 8)], [listed(8, 0)], True),
        ([listed(0, 8)], [listed(0, 4)], False),
        ([listed(0, 8)], [listed(0)], False),
        ([lone(0)], [lone(12)], None),
        ([lone(0), integer(1)], [lone(12), integer(2)], False),
    ],
)
def test_runs_are_the_same_if_type_shape_and_bits_are(first, second, is_same):
    assert values_of(first, second).is_same_in_all_runs is is_same
    assert values_of(first, first, second).is_same_in_all_runs is is_same


def test_without_a_debug_buffer_only_different_shapes_are_noticed():
    assert values_of([lone(0)], [lone(8)], buffer=None).is_same_in_all_runs is None
    assert values_of([lone(0)], [lone(8, size=1)], buffer=None).is_same_in_all_runs is False
    assert values_of([lone(0)], buffer=None).is_same_in_all_runs is True


def test_outputs_differ_if_a_run_has_none():
    first, second = run(), run(logged(integer(1) | OUTPUT))
    [block] = blocks_of(first, second)
    assert [block.outputs.of_run(run) for run in (0, 1)] == [[], [1]]
    assert block.outputs.first == [1]
    assert block.outputs.is_same_in_all_runs is False


def test_runs_that_log_on_several_chains_are_told_apart_by_their_profile_events():
    def chains(first: int, second: int) -> Content:
        return run(
            logged(integer(1), chain_index=0, instruction_id=1, name="value"),
            logged(integer(2), chain_index=1, instruction_id=1, name="value"),
            timed("op", 0, 1, chain_index=first, instruction_id=1),
            timed("op", 0, 1, chain_index=second, instruction_id=1),
        )

    def one_chain(chain: int) -> Content:
        here = {"chain_index": chain, "instruction_id": 1}
        there = {"chain_index": 1 - chain, "instruction_id": 1}
        return run(
            timed("op", 0, 1, **here),
            logged(integer(chain), **here),
            logged(integer(5), **there, name="alone"),
        )

    [both] = blocks_of(chains(0, 1), chains(1, 0))
    assert [both.events[0].values.of_run(run) for run in (0, 1)] == [[1, 2], [1, 2]]
    [block] = blocks_of(one_chain(0), one_chain(1))
    assert [[event.values.of_run(run) for run in (0, 1)] for event in block.events] == [
        [[0], [1]],
        [[5], [5]],
    ]


def test_runs_that_log_in_another_order_keep_their_values_apart():
    def ordered(*ids: int) -> Content:
        values = [logged(integer(id_), chain_index=0, instruction_id=id_) for id_ in ids]
        return run(
            *(timed(f"op{i}", 0, 1, chain_index=0, instruction_id=i) for i in (1, 2)), *values
        )

    [block] = blocks_of(ordered(1, 2), ordered(2, 1))
    assert [event.values.of_run(1) for event in block.events] == [[1], [2]]
    assert [event.values.is_same_in_all_runs for event in block.events] == [True, True]


# The Inspector raises for all of these: logged values must not change between runs (I11).
@pytest.mark.parametrize(
    ("name", "has_same_outputs", "verdicts"),
    [
        ("real/stateful_portable_n3_debug", False, {False}),
        ("real/nan_portable_n2_debug", True, {True}),
        ("real/dyn_portable_shapes_debug", False, {True, False}),
        ("real/bundled_cpp_mlp_portable_3cases_debug", False, {True, False}),
        ("synthetic/values_output_differs", False, set()),
        ("synthetic/values_tensorlist_output_twice", True, set()),
    ],
)
def test_values_that_change_between_runs_are_reported(name, has_same_outputs, verdicts):
    assert "exception" in read_golden(name)["variants"]["debug"]
    *_, block = read_blocks(name)
    assert block.outputs.is_same_in_all_runs is has_same_outputs
    assert {e.values.is_same_in_all_runs for e in block.events if e.debug_data} == verdicts


def test_a_mutable_buffer_shows_its_state_in_every_run():
    *_, block = read_blocks("real/stateful_portable_n3_debug")
    states = [
        [value_json(value)["values"] for value in block.outputs.of_run(run)]
        for run in block.outputs.runs
    ]
    assert len({str(state) for state in states}) == 3


def test_outputs_keep_the_shape_of_their_run():
    *_, block = read_blocks("real/dyn_portable_shapes_debug")
    shapes = [block.outputs.of_run(run)[0].shape for run in block.outputs.runs]
    assert len({str(shape) for shape in shapes}) > 1
    assert all(block.outputs.of_run(run)[0].missing is None for run in block.outputs.runs)


def test_bfloat16_values_are_read():
    [block] = read_blocks("synthetic/value_bfloat16")
    [value] = map(value_json, block.events[0].debug_data)
    assert (value["dtype"], len(value["values"])) == ("bfloat16", 2)


def test_a_negative_size_makes_its_tensor_missing_and_nothing_else():
    [block] = read_blocks("synthetic/value_negative_size")
    [value] = map(value_json, block.events[0].debug_data)
    assert value["missing"] == "negative size"
    assert block.events[0].perf_data is not None


STRIDES = "I10: strides are ignored"
DIGITS = "I5: flatc prints 12 decimals of a double, 6 of a float"
MIXED = "I1: of two chains with the same instruction, the last one wins"
BITS = "the Inspector reads bits16 as uint16; here a dtype keeps its name"
DIFFERENT = {
    "capi/values": {0: MIXED, 4: DIGITS, 18: BITS, 21: STRIDES},
    "synthetic/values_all": {6: DIGITS, 9: DIGITS, 10: DIGITS, 14: DIGITS, 25: BITS, 29: STRIDES},
}


@pytest.mark.parametrize(
    "name",
    [
        "capi/values",
        "real/dynscalar_portable_n3_debug",
        "real/multiout_portable_n3_debug",
        "real/traced_int_n1_debug",
        "synthetic/value_misaligned_offset",
        "synthetic/values_all",
    ],
)
def test_values_equal_the_inspectors_where_it_is_right(name):
    theirs = read_golden(name)["variants"]["debug"]["event_blocks"]
    different = set()
    for ours, golden in zip(read_blocks(name), theirs, strict=True):
        assert _texts(map(value_json, ours.run_output)) == _texts(golden["run_output"])
        for event, expected in zip(ours.events, golden["events"], strict=True):
            if _texts(map(value_json, event.debug_data)) != _texts(expected["debug_data"]):
                different.add(event.instruction_id)
    assert different == DIFFERENT.get(name, {}).keys()


def _texts(values: Any) -> list[str]:
    """Values in one form, by which 1, 1.0 and true differ, and NaN is the same as itself."""
    return [json.dumps(_plain(value), sort_keys=True) for value in values]


def _plain(golden: Any) -> Any:
    match golden:
        case {"$tensor": content}:
            return {key: _plain(value) for key, value in content.items()}
        case {"$list": values}:
            return _plain(values)
        case {"$float": text}:
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[text]
        case list():
            return [_plain(value) for value in golden]
    return golden
