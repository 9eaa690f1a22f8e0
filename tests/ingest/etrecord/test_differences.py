"""In what programs differ."""

from __future__ import annotations

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import build_etrecord, build_program, node
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.differences import compare_programs
from tracehouse.ingest.sources.places import Source

PROGRAMS = CORPUS.parent / "programs"


def compare(base, head):
    table = compare_programs(Source(str(base)), Source(str(head)))
    return {tuple(row.values())[:3]: (row["base"], row["head"]) for row in table.to_pylist()}


def program(name):
    return PROGRAMS / f"{name}.pte"


def record(name):
    return CORPUS / "models" / f"{name}.etrecord"


def test_wider_layers_are_other_operators_constants_and_sizes():
    found = compare(program("portable"), program("portable_wider"))
    assert found[None, "file", "program"] == (3424, 3968)
    sizes = [found[key] for key in found if key[2].startswith("constants ")]
    assert sizes == [(864, None), (None, 1280)]
    assert found["forward", "memory", "planned buffer 1"] == (608, 896)
    assert found["forward", "operator", "aten::relu.out float32[1, 16]"] == (1, None)
    assert found["forward", "operator", "aten::relu.out float32[1, 24]"] == (None, 1)
    assert ("forward", "operator", "aten::mul.out float32[1, 4]") not in found


def test_lowering_to_a_delegate_takes_the_operators_out():
    found = compare(program("portable"), program("xnnpack"))
    assert found["forward", "delegate", "XnnpackBackend"] == (None, 1)
    assert found["forward", "operator", "aten::mul.out float32[1, 4]"] == (1, None)
    (size,) = (found[key] for key in found if key[2].startswith("named data "))
    assert size == (None, 848)


def test_changed_values_of_a_constant_change_its_digest(tmp_path):
    data = bytearray(program("portable").read_bytes())
    data[-4] ^= 1  # in the last constant, which ends the file
    (tmp_path / "other.pte").write_bytes(data)
    found = compare(program("portable"), tmp_path / "other.pte")
    assert [(part, name.partition(" ")[0]) for _, part, name in found] == [
        ("constant", "constants"),
        ("constant", "constants"),
    ]
    assert list(found.values()) == [(864, None), (None, 864)]


def test_a_delegate_that_was_given_something_else_has_another_digest():
    found = compare(program("xnnpack"), program("xnnpack_wider"))
    names = [name for _, part, name in found if part == "delegate"]
    assert len(names) == 2
    assert all(name.startswith("XnnpackBackend #1 ") for name in names)


def test_etrecords_differ_by_delegates_where_one_is_lowered():
    found = compare(record("prefill_decode_portable"), record("prefill_decode_xnnpack"))
    delegates = {key: value for key, value in found.items() if key[1] == "delegate"}
    assert delegates == {
        ("decode", "delegate", "XnnpackBackend"): (None, 1),
        ("prefill", "delegate", "XnnpackBackend"): (None, 2),
    }


@pytest.mark.parametrize("path", [program("xnnpack"), record("cnn_xnnpack")])
def test_a_program_does_not_differ_from_itself(path):
    assert compare(path, path) == {}


def test_an_etrecord_is_not_compared_with_a_program():
    with pytest.raises(EtRecordError, match="wanted two of a kind"):
        compare(program("xnnpack"), record("cnn_xnnpack"))


def test_a_constant_of_absurd_size_is_shown_with_the_largest_number(tmp_path):
    files = []
    for name, size in (("a", 8), ("b", 10**190)):
        tensor = {"dtype": 7, "sizes": [{"as_int": size}]}
        graph = build_program(
            node("relu", outputs=""),
            inputs=[{"as_tensor": {"name": "p_weight"}}],
            tensor_values={"p_weight": tensor},
        )
        files.append(tmp_path / f"{name}.etrecord")
        files[-1].write_bytes(build_etrecord(edge_dialect_exported_program=graph))
    assert sorted(compare(*files).values(), key=str) == [(32, None), (None, 2**63 - 1)]
