from __future__ import annotations

import math
import sys

import numpy as np
import pyarrow.compute as pc
import pytest

from tests.support.corpus import CORPUS
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import MODELS
from tests.support.event_blocks import integer, logged, run, timed
from tracehouse import decode_dumps
from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source
from tracehouse.queries.event_blocks.build import decode_tables, read_correlation
from tracehouse.queries.numeric_gap.gap import Operator, numeric_gap
from tracehouse.queries.numeric_gap.logged_operators import (
    LoggedRun,
    build_logged_operators,
    read_logged_operators,
)
from tracehouse.queries.numeric_gap.reference_run import run_reference
from tracehouse.warehouse.errors import QueryError

# Gaps that torch finds in the same tensors: debug handle, MSE, L1, SNR.
PREFILL = [
    (1, 0.0, 0.0, math.inf),
    (3, 2.3067553184437373e-15, 1.276843249797821e-06, 140.13313697273992),
    (4, 1.173337143590969e-15, 3.4598633646965027e-07, 139.23405343945268),
    (5, 6.488299481022252e-16, 3.7904828786849976e-07, 139.16221643188956),
]
DECODE = [
    (1, 0.0, 0.0, math.inf),
    (4, 1.7335525376305228e-15, 6.975606083869934e-07, 136.30310922658705),
]


def prefill_decode(backend, *, has_record=True, has_buffer=True):
    path = CORPUS / "real" / f"prefill_decode_{backend}_debug"
    return read_logged_operators(
        Source(f"{path}.etdp"),
        debug_buffer=Source(f"{path}.debug.bin") if has_buffer else None,
        etrecord=Source(str(MODELS / f"prefill_decode_{backend}.etrecord")) if has_record else None,
    )


def a_run(*numbers, method=None, index=0, handles=(1,)):
    tensors = [TensorValue.of_array("float32", np.float32(number)) for number in numbers]
    return LoggedRun(index, method, [Operator("op", 0, None, 0, handles, (), tensors)])


def operators_of(*events):
    batch = decode_dumps([build_etdump({"run_data": [run(*events)]})])
    [logged_run] = build_logged_operators(batch.tables)
    return logged_run.operators


def test_kernels_and_delegates_of_two_backends_are_compared_by_debug_handle():
    rows = numeric_gap(prefill_decode("portable"), prefill_decode("xnnpack")).to_pylist()
    for method, wanted in ("prefill", PREFILL), ("decode", DECODE):
        compared = [row for row in rows if row["method"] == method and row["mse"] is not None]
        gaps = [(r["debug_handle"], r["mse"], r["l1"], r["snr"]) for r in compared]
        assert [gap[0] for gap in gaps] == [gap[0] for gap in wanted]
        assert np.allclose(gaps, wanted, rtol=1e-12, atol=0)
        assert {row["joined_by"] for row in compared} == {"debug_handle"}
    [relu] = [row for row in rows if row["base_event"] == "native_call_relu.out"]
    assert (relu["head_event"], relu["head_debug_handles"]) == ("DELEGATE_CALL", [2, 3])
    assert (relu["base_run_index"], relu["head_run_index"]) == (1, 1)
    assert (relu["op_types"], relu["shape"]) == (["aten.relu.default"], [1, 4, 16])
    assert (relu["verdict"], relu["reason"]) == ("within_tolerance", None)
    linear = next(row for row in rows if row["base_event"] == "native_call_addmm.out")
    assert (linear["verdict"], linear["joined_by"]) == ("not_compared", None)
    assert linear["reason"] == "head: inside DELEGATE_CALL, instruction 1"


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("has_record", [True, False])
def test_a_dump_is_equal_to_itself_in_every_run(backend, has_record):
    runs = prefill_decode(backend, has_record=has_record)
    table = numeric_gap(runs, runs, is_every_run=True)
    assert len(pc.unique(table["base_run_index"])) == 5
    assert set(table["verdict"].to_pylist()) == {"equal"}
    assert set(table["mse"].to_pylist()) == {0.0}
    assert set(table["snr"].to_pylist()) == {math.inf}
    joined_by = "debug_handle" if has_record else "instruction"
    assert set(table["joined_by"].to_pylist()) == {joined_by}


def test_rows_without_a_debug_buffer_state_the_reason():
    runs = prefill_decode("portable")
    table = numeric_gap(prefill_decode("portable", has_buffer=False), runs)
    assert set(table["reason"].to_pylist()) == {"base: no debug buffer"}
    assert table["mse"].null_count == table.num_rows
    assert table["head_nan_count"].null_count == 0


def test_runs_correspond_method_by_method():
    base = [a_run(1, method="a"), a_run(2, method="b", index=1), a_run(3, method="a", index=2)]
    head = [a_run(2, method="b"), a_run(1, method="a", index=1), a_run(5, method="a", index=2)]
    first = numeric_gap(base, head, ["l1"]).to_pylist()
    assert [(row["method"], row["l1"]) for row in first] == [("a", 0), ("b", 0)]
    every = numeric_gap(base, head, ["l1"], is_every_run=True).to_pylist()
    assert [(r["base_run_index"], r["head_run_index"], r["l1"]) for r in every] == [
        (0, 1, 0), (1, 0, 0), (2, 2, 2),
    ]  # fmt: skip


def test_runs_of_unknown_methods_correspond_in_order():
    base = [a_run(1, method="a"), a_run(2)]
    table = numeric_gap(base, [a_run(1), a_run(4)], ["l1"], is_every_run=True)
    assert table["l1"].to_pylist() == [0, 2]


def test_runs_of_other_methods_are_refused():
    with pytest.raises(QueryError, match="base logged values of a, head of b; compare dumps"):
        numeric_gap([a_run(1, method="a")], [a_run(1, method="b")])


def test_a_custom_metric_has_a_column_of_its_name():
    def largest(reference, value):
        return float(np.abs(reference - value).max())

    [row] = numeric_gap([a_run(1)], [a_run(4)], [largest, "mse"]).to_pylist()
    assert (row["largest"], row["mse"]) == (3, 9)
    assert "snr" not in row


def of_shapes(*sides, dtypes=("float32", "float32")):
    """The row of two runs of one operator whose values have these shapes."""
    runs = []
    for shape, dtype in zip(sides, dtypes, strict=True):
        count = math.prod(shape)
        value = TensorValue.of_array(dtype, np.arange(count, dtype=dtype).reshape(shape))
        runs.append([LoggedRun(0, None, [Operator("op", 0, None, 0, (1,), (), [value])])])
    [row] = numeric_gap(*runs).to_pylist()
    return row


def test_shapes_of_the_same_order_are_compared_in_that_of_base():
    row = of_shapes([1, 5, 32], [5, 32])
    assert (row["verdict"], row["shape"], row["reason"]) == ("equal", [1, 5, 32], None)
    assert of_shapes([2, 5, 32], [10, 32])["verdict"] == "equal"
    assert of_shapes([4, 6], [6, 4])["reason"] == "shapes differ: [4, 6] and [6, 4]"


def test_fractions_are_not_compared_with_integers():
    row = of_shapes([4], [4], dtypes=("float32", "int8"))
    assert row["verdict"] == "not_compared"
    assert row["reason"] == "kinds of elements differ: float32 and int8"


def test_an_operator_of_the_record_that_logged_nothing_is_among_the_operators():
    path = CORPUS / "real" / "prefill_decode_portable_debug"
    tables = dict(decode_tables(read_source(Source(f"{path}.etdp")), "dump"))
    record = read_correlation(Source(str(MODELS / "prefill_decode_portable.etrecord")))
    [full, *_] = build_logged_operators(tables, None, record)
    left = full.operators[1].instruction_id
    values = tables["debug_values"]
    tables["debug_values"] = values.filter(pc.not_equal(values["instruction_id"], left))
    [run, *_] = build_logged_operators(tables, None, record)
    shown = [(op.name, op.debug_handles, len(op.values)) for op in run.operators]
    wanted = [(op.name, op.debug_handles, len(op.values)) for op in full.operators]
    wanted[1] = (*wanted[1][:2], 0)
    assert shown == wanted


def test_every_column_is_documented():
    assert all(field.metadata[b"doc"] for field in numeric_gap([a_run(1)], [a_run(1)]).schema)


def test_each_call_of_an_instruction_is_an_operator_of_its_own():
    place = {"chain_index": 0, "instruction_id": 3}
    step = [logged(integer(1), **place), logged(integer(2), **place)]
    kernel = [timed("native_call_add", 0, 1, **place), timed("OPERATOR_CALL", 0, 2, **place)]
    operators = operators_of(*step, *kernel, *step, *kernel)
    assert [(op.name, op.occurrence, len(op.values)) for op in operators] == [
        ("native_call_add", 0, 2),
        ("native_call_add", 1, 2),
    ]


def test_program_outputs_are_no_operators():
    place = {"chain_index": 0, "instruction_id": 0}
    operators = operators_of(
        logged(integer(1), **place),
        timed("native_call_add", 0, 1, **place),
        logged(integer(2) | {"output": {"bool_val": True}}, chain_index=2**64 - 1),
        logged(integer(3), chain_index=2**64 - 1, instruction_id=0),
    )
    assert [[tensor.array for tensor in op.values] for op in operators] == [[1]]


def test_dump_without_intermediate_values_is_refused():
    path = CORPUS / "real" / "level_outputs_only.etdp"
    with pytest.raises(QueryError, match=r"level_outputs_only\.etdp: has no intermediate values"):
        read_logged_operators(Source(str(path)))


def test_running_the_program_without_executorch_tells_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "executorch", None)
    with pytest.raises(QueryError, match=r"pip install '\.\[executorch\]' in a checkout"):
        run_reference(Source(str(MODELS / "prefill_decode_portable.etrecord")))
