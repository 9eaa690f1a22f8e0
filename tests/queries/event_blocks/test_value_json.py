from __future__ import annotations

import hashlib

import numpy as np
import pytest

from tracehouse.ingest.debug_buffer import DebugBuffer, TensorValue
from tracehouse.queries.event_blocks.table import MOST_ELEMENTS, value_json


def tensor(dtype: str, *values: object) -> TensorValue:
    return TensorValue.of_array(dtype, np.array(values))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, True),
        (-7, -7),
        (0.5, 0.5),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (None, None),
        ([], []),
    ],
)
def test_a_plain_value_stays_and_a_float_that_is_not_finite_is_text(value, shown):
    found = value_json(value)
    assert (type(found), found) == (type(shown), shown)


def test_a_small_tensor_shows_its_values_flat_in_logical_order():
    array = np.asfortranarray([[1, 2], [3, 4]], dtype="<f4")
    assert value_json(TensorValue.of_array("float32", array)) == {
        "dtype": "float32",
        "shape": [2, 2],
        "sha256": hashlib.sha256(np.array([1, 2, 3, 4], "<f4").tobytes()).hexdigest(),
        "values": [1.0, 2.0, 3.0, 4.0],
    }


def test_elements_keep_their_kind():
    assert value_json(tensor("bool", True, False))["values"] == [True, False]
    assert value_json(tensor("uint64", 2**64 - 1))["values"] == [2**64 - 1]
    assert value_json(tensor("bfloat16", 0.5, np.nan))["values"] == [0.5, "NaN"]
    assert value_json(tensor("float32", np.inf, -np.inf))["values"] == ["Infinity", "-Infinity"]
    assert value_json(tensor("float32"))["values"] == []


def test_a_big_tensor_shows_its_hash_alone():
    assert "values" in value_json(tensor("uint8", *range(MOST_ELEMENTS)))
    assert value_json(tensor("uint8", *range(MOST_ELEMENTS + 1))).keys() == {
        "dtype",
        "shape",
        "sha256",
    }


def test_a_missing_tensor_says_why():
    missing = DebugBuffer(None).read("float32", [2], strides=[1], offset=0)
    shown = {"dtype": "float32", "shape": [2], "sha256": None, "missing": "no debug buffer"}
    assert value_json(missing) == shown
    assert value_json([missing, missing]) == [shown, shown]
