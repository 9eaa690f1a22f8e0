from __future__ import annotations

from collections import Counter

from tests.support.corpus import CORPUS
from tests.support.store_template import copy_new_store
from tracehouse import Warehouse
from tracehouse.queries.explain.operators import read_operators
from tracehouse.queries.explain.stored_programs import read_programs


def real_pair(store, place):
    (found,) = read_operators(store, [place])
    return [
        read_programs(store, *found.etrecords.values())[id_] for id_ in found.etrecords.values()
    ]


def test_calls_have_the_types_of_their_tensors_modules_and_source(softplus, place):
    good, bad = real_pair(softplus, place)
    convolution = good.nodes["forward"][2]
    assert convolution.types.startswith(
        "aten.convolution.default(float32[1, 16, 32, 32], float32[32, 16, 3, 3], float32[32], "
    )
    assert convolution.types.endswith(" → float32[1, 32, 32, 32]")
    assert (convolution.module, convolution.source) == ("body.0.conv", "/src/net.py:29")
    assert [node.operator for node in bad.nodes["forward"][3:9]] == [
        "mul", "exp", "log1p", "div", "gt", "where",
    ]  # fmt: skip


def test_constants_have_their_types(softplus, place):
    good, bad = real_pair(softplus, place)
    assert good.constants["forward"]["p_body_0_conv_weight"] == "float32[32, 16, 3, 3]"
    assert bad.constants["forward"]["p_body_0_conv_weight"] == "float32[48, 16, 3, 3]"


def test_instructions_have_handles_and_backends(softplus, place):
    good, bad = real_pair(softplus, place)
    counts = [Counter(backend for _, backend in program.calls.values()) for program in (good, bad)]
    assert counts == [{"XnnpackBackend": 2, None: 1}, {"XnnpackBackend": 4, None: 4}]


def test_operators_fused_by_a_backend_are_read_where_it_lists_them(tmp_path):
    copy_new_store(tmp_path / "s")
    with Warehouse.open(tmp_path / "s") as store:
        dump, record = CORPUS / "real/mapping_demo_n3.etdp", CORPUS / "models/mapping_demo.etrecord"
        store.ingest([dump], etrecord=record, manifest={"device": "d", "model": "m", "build": "b"})
        (id_,) = store.sql("SELECT etrecord_id FROM etrecords")["etrecord_id"].to_pylist()
        program = read_programs(store, id_, None)[id_]
    assert max(map(len, program.fusions.values())) > 1


def test_unknown_etrecords_have_no_programs(softplus):
    assert read_programs(softplus, None, 1) == {}
