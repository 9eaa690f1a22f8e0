from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.event_blocks import blocks_of, integer, logged, run, timed
from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.output_gap import compare_results

OUTPUT = {"output": {"bool_val": True}}
DOUBLE = {"val": "Double", "double_value": {"double_val": 3.0}}


def rows_of(reference, *outputs):
    [block] = blocks_of(run(timed("a", 0, 1), *(logged(value | OUTPUT) for value in outputs)))
    return compare_results([replace(block, reference_output=reference)]).to_pylist()


def test_outputs_are_compared_with_their_references_in_order():
    tensor = TensorValue.of_array("float32", np.float32(1.5))
    rows = rows_of([7, tensor], integer(7), DOUBLE)
    assert [row["output_index"] for row in rows] == [0, 1]
    assert [row["verdict"] for row in rows] == ["equal", "different"]
    assert (rows[1]["mse"], rows[1]["cosine_similarity"]) == (2.25, 1)
    assert rows[1]["snr"] == pytest.approx(0)
    assert (rows[1]["reference_dtype"], rows[1]["run_dtype"]) == ("float32", "float64")


def test_numbers_are_not_rounded():
    [row] = rows_of([3.001], DOUBLE)
    assert row["mse"] == pytest.approx(1e-6)


def test_block_without_reference_says_so():
    [row] = rows_of(None, DOUBLE)
    assert (row["verdict"], row["reason"]) == ("not_compared", "no reference output")
    assert row["mse"] is None


def test_outputs_that_one_side_lacks_are_reported():
    assert [row["reason"] for row in rows_of([3.0, 4.0], DOUBLE)] == [
        None,
        "the run has no such output",
    ]
    assert [row["reason"] for row in rows_of([3.0], DOUBLE, DOUBLE)] == [
        None,
        "no such reference output",
    ]


def test_texts_and_missing_tensors_have_a_reason():
    tensor = {"scalar_type": "FLOAT", "sizes": [1], "strides": [1], "offset": 0}
    [text, missing] = rows_of(["a", 1.0], DOUBLE, {"val": "Tensor", "tensor": tensor})
    assert text["reason"] == "reference: not a number"
    assert missing["reason"] == "run: no debug buffer"


def test_a_block_without_outputs_has_no_rows():
    assert rows_of(None) == []
