"""Programs of several methods: which one a dump ran, inferred or stated."""

from __future__ import annotations

import json

import pytest

from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import build_etrecord, build_program, node
from tests.support.event_blocks import run, timed
from tests.support.stores import contents, ingest, write
from tracehouse import Warehouse
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.record import decode_etrecord, etrecord_id
from tracehouse.warehouse.programs.correlation import Correlation, Place

METHODS = {"decode": ("linear", "tanh"), "prefill": ("linear", "sigmoid", "linear")}
CALL = Place("DELEGATE_CALL", "delegate_call", 0, None)
EXECUTE = Place("Method::execute", "method", None, None)


def program_of(method, operators):
    """A program whose operators, with debug handles from 1, are modules named after them."""
    return build_program(
        *(
            node(
                f"aten_{operator}_{handle}",
                f"executorch.exir.dialects.edge.ops.aten.{operator}.default",
                debug_handle=str(handle),
                nn_module_stack=f"L__self__,,{method};L__self__{operator},{operator},Module",
            )
            for handle, operator in enumerate(operators, 1)
        )
    )


def etrecord_of(methods=METHODS, **delegate_maps):
    """An ETRecord whose methods are each one call of a delegate."""
    return build_etrecord(
        debug_handle_map={m: {"0": list(range(1, 1 + len(o)))} for m, o in methods.items()},
        delegate_map={
            method: {"0": {"name": "B", "delegate_map": delegate_maps.get(method, {})}}
            for method in methods
        },
        **{
            f"edge_dialect_exported_program__{method}": program_of(method, operators)
            for method, operators in methods.items()
        },
    )


def located(record, *delegate_ids):
    """The block of a run with these events inside its only delegate."""
    inside = [Place("", "delegate_op", 0, id_) for id_ in delegate_ids]
    return Correlation(record).locate([*inside, CALL, EXECUTE])


@pytest.fixture
def record():
    return decode_etrecord(etrecord_of(), "r.etrecord")


@pytest.mark.parametrize(
    ("names", "method"),
    [
        (["Fully Connected (NC, F32) GEMM #1", "Sigmoid (NC) #1"], "prefill"),
        (["Fully Connected (NC, F32) GEMM #1", "TanH (NC) #1"], "decode"),
        (["Fully Connected (NC, F32) GEMM #1", "Fully Connected (NC, F32) GEMM #2"], "prefill"),
    ],
)
def test_names_inside_a_delegate_tell_methods_apart(record, names, method):
    block = located(record, *names)
    assert (block.method, block.notes) == (method, [])
    operators = block.origins[len(names)].op_types
    assert [target.split(".")[-2] for target in operators] == list(METHODS[method])


@pytest.mark.parametrize("name", ["Fully Connected (NC, F32) GEMM #1", "Softmax (NC) #1"])
def test_names_that_fit_every_method_leave_the_method_unknown(record, name):
    block = located(record, name)
    assert (block.method, block.method_candidates) == (None, ["decode", "prefill"])
    assert block.notes == ["these can be events of decode or prefill, which differ"]


def test_ids_of_a_delegate_tell_methods_apart():
    record = decode_etrecord(etrecord_of(decode={"7": [2]}), "r.etrecord")
    block = located(record, 7)
    assert (block.method, block.origins[0].debug_handles) == ("decode", [2])


def test_names_inside_a_delegate_do_not_contradict_the_method_that_is_stated(record):
    block = located(record.of_method("decode"), "Sigmoid (NC) #1")
    assert (block.method, block.method_candidates, block.notes) == ("decode", ["decode"], [])


def test_record_of_a_method_has_an_id_of_its_own_unless_it_has_no_other_method(record):
    methods = [None, "decode", "prefill"]
    assert len({etrecord_id(record.of_method(method)) for method in methods}) == 3
    only = decode_etrecord(etrecord_of({"decode": METHODS["decode"]}), "r.etrecord")
    assert only.of_method("decode") is only
    nothing = decode_etrecord(build_etrecord(), "r.etrecord")
    assert nothing.of_method("decode") is nothing


def test_record_without_the_method_says_which_it_has(record):
    message = r"^r\.etrecord: has no method 'forward', wanted one of 'decode', 'prefill'$"
    with pytest.raises(EtRecordError, match=message):
        record.of_method("forward")


def dump_of(start):
    """A run whose only event inside the delegate tells no method."""
    inside = {"instruction_id": 0, "chain_index": 0}
    events = [
        timed("", start, start + 5, delegate_debug_id_str="GEMM #1", **inside),
        timed("DELEGATE_CALL", start, start + 10, **inside),
        timed("Method::execute", start, start + 20, instruction_id=0, chain_index=-1),
    ]
    return build_etdump({"run_data": [run(*events)]})


@pytest.fixture
def folder(tmp_path):
    """Three dumps of one run signature, of which two state their method, and one ETRecord."""
    write(tmp_path / "in/r.etrecord", etrecord_of())
    for number, name in enumerate(("silent", *METHODS)):
        write(tmp_path / f"in/{name}.etdp", dump_of(1_000 * number))
        stated = {} if name == "silent" else {"method": name}
        write(tmp_path / f"in/{name}.json", json.dumps(stated).encode())
    return tmp_path / "in"


def module_totals(warehouse, **filters):
    rows = warehouse.query("module_totals", **filters).to_pylist()
    return {row["module_path"]: row["run_ns"] for row in rows}


@pytest.mark.slow
def test_module_totals_are_those_of_the_method_that_each_dump_states(tmp_path, folder):
    manifests = {
        name: {"device": name, "build": "b", "model": "m"} for name in ("silent", *METHODS)
    }
    for name, manifest in manifests.items():
        assert not ingest(tmp_path / "store", folder / f"{name}.etdp", manifest=manifest).refused
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        totals = {name: module_totals(warehouse, device=name) for name in manifests}
        operators = warehouse.sql(
            "SELECT DISTINCT method, len(op_types) AS n FROM event_origins "
            "WHERE len(op_types) > 0 ORDER BY method"
        )
    assert totals == {
        "silent": {},
        "decode": {"": 10, "linear": 10, "tanh": 10},
        "prefill": {"": 10, "linear": 10, "sigmoid": 10},
    }
    assert operators.to_pylist() == [{"method": "decode", "n": 2}, {"method": "prefill", "n": 3}]


@pytest.mark.slow
def test_dumps_of_several_methods_come_in_one_batch_as_they_do_one_by_one(tmp_path, folder):
    ingest(tmp_path / "batch", folder)
    for dump in sorted(folder.glob("*.etdp")):
        ingest(tmp_path / "singly", dump)
    batch, singly = contents(tmp_path / "batch"), contents(tmp_path / "singly")
    assert batch == singly
    assert len(batch["etrecords"]) == 3


def test_record_that_lacks_the_stated_method_is_refused_and_the_dump_kept(tmp_path, folder):
    write(folder / "decode.json", b'{"method": "forward"}')
    summary = ingest(tmp_path / "store", folder / "decode.etdp", folder / "prefill.etdp")
    assert summary.n_dumps == 2
    [refusal] = summary.refused
    assert refusal.detail == "has no method 'forward', wanted one of 'decode', 'prefill'"
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        linked = "SELECT count(*), count(etrecord_id) FROM dumps"
        assert [tuple(row.values()) for row in warehouse.sql(linked).to_pylist()] == [(2, 1)]
