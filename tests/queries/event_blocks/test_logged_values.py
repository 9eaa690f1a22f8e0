from __future__ import annotations

from tests.support.event_blocks import integer, json_of, logged, run, timed


def test_the_name_of_a_logged_value_replaces_that_of_the_event():
    [block] = json_of(
        run(
            timed("native_call_add", 0, 1, chain_index=0, instruction_id=1),
            logged(integer(1), chain_index=0, instruction_id=1, name="add"),
            timed("native_call_mul", 0, 1, chain_index=0, instruction_id=2),
            logged(integer(2), chain_index=0, instruction_id=2),
        )
    )
    assert [event["name"] for event in block["events"]] == ["add", "native_call_mul"]


def test_logged_values_keep_their_type():
    tensor = {"scalar_type": "FLOAT", "sizes": [2, 3], "strides": [3, 1], "offset": 32}
    values = [
        {"val": "Bool", "bool_value": {"bool_val": True}},
        integer(-7),
        {"val": "Double", "double_value": {"double_val": 0.5}},
        {"val": "Double", "double_value": {"double_val": float("nan")}},
        {"val": "Float", "float_value": {"float_val": float("-inf")}},
        {"val": "Tensor", "tensor": tensor},
        {"val": "TensorList", "tensor_list": {"tensors": [tensor, tensor]}},
        {"val": "TensorList", "tensor_list": {"tensors": []}},
        {"val": "Tensor"},
        {"val": "Int"},
        {"val": "Null"},
    ]
    [block] = json_of(run(*(logged(value, instruction_id=1) for value in values)))
    shown = {"dtype": "float32", "shape": [2, 3], "sha256": None, "missing": "no debug buffer"}
    [event] = block["events"]
    assert event["debug_data"] == [
        True, -7, 0.5, "NaN", "-Infinity", shown, [shown, shown], [], None, None, None,
    ]  # fmt: skip
    assert event["debug_data"][0] is True
    assert event["raw"] is event["start_time"] is event["avg"] is None


def test_values_belong_to_the_events_of_their_instruction_and_chain():
    here = {"chain_index": 0, "instruction_id": 1}
    there = {"chain_index": 1, "instruction_id": 1}
    [block] = json_of(
        run(
            timed("native_call_add", 0, 1, **here),
            logged(integer(1), **here),
            timed("OPERATOR_CALL", 0, 1, **here),
            logged(integer(2), **here),
            logged(integer(3), **there, name="alone"),
            logged(integer(4), chain_index=2**64 - 1, instruction_id=1, name="outside"),
            timed("Method::execute", 0, 1, chain_index=-1, instruction_id=1),
        )
    )
    assert [(event["name"], event["debug_data"]) for event in block["events"]] == [
        ("native_call_add", [1, 2]),
        ("OPERATOR_CALL", [1, 2]),
        ("alone", [3]),
        ("outside", [4]),
        ("Method::execute", []),
    ]


def test_values_that_differ_between_runs_are_those_of_the_first():
    output = {"output": {"bool_val": True}}
    [block] = json_of(
        run(logged(integer(1), instruction_id=1)),
        run(logged(integer(2), instruction_id=1), logged(integer(8) | output)),
        run(logged(integer(3), instruction_id=1), logged(integer(9) | output)),
    )
    assert [event["debug_data"] for event in block["events"]] == [[1]]
    assert block["run_output"] == [8]
