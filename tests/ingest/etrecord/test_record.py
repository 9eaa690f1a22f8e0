from __future__ import annotations

import io
import json
import random
import zipfile

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import (
    EDGE,
    MODELS,
    build_etrecord,
    build_program,
    build_torch_archive,
    build_zip,
    node,
    read_members,
)
from tracehouse.ingest.errors import EtRecordError, SourceError
from tracehouse.ingest.etrecord.graphs import render_graph
from tracehouse.ingest.etrecord.maps import DelegateMap
from tracehouse.ingest.etrecord.record import EtRecord, build_etrecord_tables, read_etrecord
from tracehouse.ingest.schemas.programs import PROGRAM_TABLES
from tracehouse.ingest.sources.places import Source


@pytest.fixture
def read(tmp_path):
    """Reads an ETRecord of these bytes, called r.etrecord."""
    path = tmp_path / "r.etrecord"

    def call(data: bytes) -> EtRecord:
        path.write_bytes(data)
        return read_etrecord(Source(str(path)))

    return call


def model(name: str) -> EtRecord:
    return read_etrecord(Source(str(MODELS / f"{name}.etrecord")))


def refusal(call, *args) -> str:
    """What an EtRecordError says after the path of the file."""
    with pytest.raises(EtRecordError) as caught:
        call(*args)
    message = str(caught.value)
    assert "\n" not in message
    return message.partition("r.etrecord")[2]


def use_all_of(record: EtRecord) -> None:
    for use in (
        lambda: build_etrecord_tables(record),
        lambda: [render_graph(graph) for graph in record.graphs],
        lambda: record.reference_outputs,
        lambda: record.representative_inputs,
    ):
        try:
            use()
        except EtRecordError as error:
            assert str(error).startswith(f"{record.source}!")  # noqa: PT017


@pytest.mark.parametrize("name", ["dyn_portable_bundled", "mapping_demo", "mixed_xnnpack"])
def test_nodes_of_a_debug_handle_are_those_that_the_inspector_finds(name):
    golden = json.loads((MODELS / f"{name}.golden.json").read_text())
    graph = model(name).edge_graph("forward")
    for handles, wanted in golden.items():
        sought = json.loads(handles)
        nodes = [
            node
            for handle in (sought if isinstance(sought, list) else [sought])
            for node in graph.nodes
            if handle in node.debug_handles
        ]
        assert [node.target for node in nodes] == wanted["op_types"]
        assert {f"{node.name}_": node.stack_trace for node in nodes} == wanted["stack_traces"]
        assert {f"{node.name}_": node.module_hierarchy for node in nodes} == wanted[
            "module_hierarchy"
        ]


def test_maps_have_integer_instructions_and_handles_in_the_files_form():
    record = model("mixed_xnnpack")
    assert record.debug_handles["forward"] == {
        0: [1, 2], 1: 3, 2: [4, 5, 6], 3: 7, 4: [8], 5: 9, 6: [10],
    }  # fmt: skip
    assert record.delegates["forward"][0] == DelegateMap("XnnpackBackend", {})
    assert record.num_outputs == {"forward": {0: 1, 2: 1, 4: 1, 6: 1}}
    handles = model("mapping_demo").delegates["forward"][0].handles
    assert handles == {"0": [1, 2], "1": [3, 4], "2": [5], "3": [5], "4": [5]}


def test_all_methods_are_read():
    record = model("twins_portable")
    assert list(record.debug_handles) == ["alpha", "beta"]
    assert [(graph.name, graph.method) for graph in record.graphs] == [
        (EDGE, "alpha"), (EDGE, "beta"),
    ]  # fmt: skip
    assert record.edge_graph("alpha").nodes == record.edge_graph("beta").nodes
    assert record.edge_graph("forward") is None
    only = record.select(method="beta")
    assert (list(only.debug_handles), [key.method for key in only.programs]) == (["beta"], ["beta"])


def test_lone_program_belongs_to_the_only_method_though_it_is_filed_as_forward():
    record = model("only_decode_portable")
    assert list(record.debug_handles) == ["decode"]
    assert record.edge_graph("decode").method == "decode"


def test_bodies_of_control_flow_and_lowered_modules_are_graphs_too():
    edge = [graph for graph in model("map_portable").graphs if graph.name == EDGE]
    assert [graph.scope for graph in edge] == ["", "map_impl.submodule_0"]
    assert [node.target for node in edge[1].nodes if node.op == "call_function"] == [
        "aten.sin.default", "aten.add.Tensor",
    ]  # fmt: skip
    main, lowered = model("mapping_demo").graphs
    assert [node.target for node in main.nodes] == ["x", "executorch_call_delegate", "output"]
    assert lowered.scope == "executorch_call_delegate.lowered_module_0"
    assert sorted(handle for node in lowered.nodes for handle in node.debug_handles) == [
        1, 2, 3, 4, 5,
    ]  # fmt: skip


def test_a_graph_is_rendered_as_code():
    graph = model("dyn_portable_bundled").edge_graph("forward")
    lines = render_graph(graph)
    assert lines[0] == "# edge_dialect_exported_program, method forward"
    assert lines[1].startswith("def forward(p_l1_weight: float32[16, 8], ")
    assert lines[2:4] == [
        "    sym_size: SymInt(s77) = torch.ops.aten.sym_size.int(x, dim=0)"
        "  # handle 1, _empty_nn_module_stack_from_metadata_hook",
        "    aten_permute_copy_default: float32[8, 16] = edge.ops.aten.permute_copy.default("
        "p_l1_weight, dims=[1, 0])  # handle 2, L__self__l1",
    ]
    assert lines[-2:] == [
        "    aten_view_copy_default: float32[3*s77] = edge.ops.aten.view_copy.default("
        "aten_addmm_default_1, size=[mul])  # handle 6, L__self__",
        "    return (aten_view_copy_default,)",
    ]


def test_reference_outputs_and_inputs_are_tensors_by_case():
    record = model("dyn_portable_bundled")
    [first, *_] = record.reference_outputs["forward"]
    assert [case[0].shape for case in record.reference_outputs["forward"]] == [[3], [6], [9]]
    assert first[0].array.tolist() == pytest.approx([0.3416, -0.3811, 0.1848], abs=5e-5)
    [given] = record.representative_inputs
    assert (given.dtype, given.shape) == ("float32", [1, 8])
    assert model("mapping_demo").reference_outputs == {}
    assert model("mapping_demo").representative_inputs is None


def test_tables_have_their_schemas_and_a_row_for_every_handle():
    record = model("mixed_xnnpack")
    tables = build_etrecord_tables(record)
    assert {name: table.schema for name, table in tables.items()} == PROGRAM_TABLES
    for table in tables.values():
        table.validate(full=True)
        assert set(table["etrecord_id"].to_pylist()) == {int(record.sha256[:16], 16) % 2**63}
    assert tables["debug_handles"].select(range(2, 7)).slice(0, 3).to_pylist() == [
        {"instruction_id": 0, "position": 0, "debug_handle": 1, "is_list": True, "output_count": 1},
        {"instruction_id": 0, "position": 1, "debug_handle": 2, "is_list": True, "output_count": 1},
        {
            "instruction_id": 1, "position": 0, "debug_handle": 3, "is_list": False,
            "output_count": None,
        },
    ]  # fmt: skip
    assert tables["delegates"]["delegate_id"].to_pylist() == [None] * 4
    demo = build_etrecord_tables(model("mapping_demo"))
    assert demo["delegates"]["debug_handle"].to_pylist() == [1, 2, 3, 4, 5, 5, 5]
    rows = demo["graph_nodes"].to_pylist()
    [relu] = [row for row in rows if row["node"] == "aten_relu_default"]
    assert (relu["scope"], relu["debug_handle"]) == (
        "executorch_call_delegate.lowered_module_0", 2,
    )  # fmt: skip
    assert relu["module_path"] == "conv_layer.relu1"


def test_older_layout_has_one_edge_program_and_a_graph_map(read):
    program = build_program(node("a", debug_handle="7"))
    record = read(
        build_etrecord(**{
            EDGE: program, f"{EDGE}_state_dict": b"",
            "aten_dialect__forward": program, "aten_dialect__forward_state_dict": b"",
            "plain": program, "plain_state_dict": b"", "program_buffer": b"ET12",
        })
    )  # fmt: skip
    assert [(graph.name, graph.method) for graph in record.graphs] == [
        (EDGE, "forward"), ("aten_dialect/forward", "forward"), ("plain", "forward"),
    ]  # fmt: skip
    assert record.edge_graph("forward").nodes[0].debug_handles == [7]


def test_every_part_may_be_absent(read):
    record = read(build_etrecord())
    assert (record.debug_handles, record.delegates, record.num_outputs) == ({}, {}, {})
    assert (record.graphs, record.edge_graph("forward")) == ([], None)
    assert {name: len(table) for name, table in build_etrecord_tables(record).items()} == {
        "etrecords": 1, "graph_nodes": 0, "debug_handles": 0, "delegates": 0,
    }  # fmt: skip


@pytest.mark.parametrize("part", ["_constants", "_state_dict", "_example_inputs"])
def test_missing_weights_do_not_matter(read, part):
    members = read_members(MODELS / "map_portable.etrecord")
    kept = {name: data for name, data in members.items() if not name.endswith(part)}
    assert len(kept) < len(members)
    assert read(build_zip(kept)).edge_graph("forward") == model("map_portable").edge_graph(
        "forward"
    )


def test_an_unreadable_etrecord_part_fails_only_when_it_is_read(read):
    members = read_members(MODELS / "dyn_portable_bundled.etrecord")
    members |= {"reference_outputs": b"\x80\x02N.", "exported_program": b"{"}
    record = read(build_zip(members))
    assert record.debug_handles["forward"][0] == 1
    assert len(record.edge_graph("forward").nodes) == 14
    assert record.representative_inputs is not None
    told = refusal(lambda: record.reference_outputs)
    assert told == "!reference_outputs: is not a zip of torch.save; save it with a newer ExecuTorch"
    assert refusal(lambda: record.graphs).startswith("!exported_program: is not JSON (Expecting ")


@pytest.mark.parametrize(
    ("map_", "problem"),
    [
        (b"", "is not JSON (Expecting value: line 1 column 1 (char 0))"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        ([], "found a list, wanted an object"),
        ({"forward": 1}, "found 1, wanted an object"),
        ({"forward": {"x": 1}}, "found 'x', wanted an integer of 32 bits"),
        ({"forward": {"4294967296": 1}}, "found '4294967296', wanted an integer of 32 bits"),
        ({"forward": {"0": 1.5}}, "found 1.5, wanted an integer of 64 bits"),
        ({"forward": {"0": True}}, "found True, wanted an integer of 64 bits"),
        ({"forward": {"0": [[1]]}}, "found a list, wanted an integer of 64 bits"),
        (b'{"forward": {"0": 1' + b"0" * 5000 + b"}}", None),
        (b'{"\\ud800": {}}', None),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_malformed_map_is_named_with_what_is_wrong(read, map_, problem):
    told = refusal(read, build_etrecord(debug_handle_map=map_))
    assert told.startswith(f"!debug_handle_map: {problem or ''}")
    assert told.endswith("; save the ETRecord again")


def test_malformed_delegates_are_refused(read):
    for delegate in (1, {"name": 2}, {"delegate_map": []}, {"delegate_map": {"a": "b"}}):
        told = refusal(read, build_etrecord(delegate_map={"forward": {"0": delegate}}))
        assert told.startswith("!delegate_map: found ")


def test_absent_handles_are_left_out(read):
    record = read(
        build_etrecord(
            debug_handle_map={"forward": {"0": None, "1": []}, "other": None},
            delegate_map={"forward": {"1": {"delegate_map": {"a": None, "b": 3}}, "2": {}}},
        )
    )
    assert record.debug_handles == {"forward": {1: []}, "other": {}}
    assert record.delegates["forward"] == {
        1: DelegateMap(None, {"b": 3}), 2: DelegateMap(None, {}),
    }  # fmt: skip
    assert build_etrecord_tables(record)["debug_handles"]["debug_handle"].to_pylist() == [None]


@pytest.mark.parametrize(
    "program",
    [
        {},
        {"graph_module": {"graph": []}},
        {"graph_module": {"graph": {}}},
        {"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": {}}}},
        build_program({"name": "a"}),
        build_program(node("a") | {"target": 5}),
        build_program(node("a", stack_trace=5)),
        build_program(node("a", debug_handle=str(2**64))),
        build_program(node("a", debug_handle=[1])),
        build_program(node("a") | {"inputs": None}),
        build_program(
            node("a", "torch.ops.higher_order.executorch_call_delegate")
            | {"inputs": [{"name": "m", "arg": {"as_string": "{"}}]}
        ),
    ],
)
def test_program_of_another_form_is_refused(read, program):
    record = read(build_etrecord(**{f"{EDGE}__forward": program}))
    assert refusal(lambda: record.graphs).startswith(f"!{EDGE}/forward: ")


def test_odd_arguments_are_shown_as_well_as_may_be(read):
    mask = {"name": "m"}
    arguments = [
        {"name": "", "arg": {"as_graph": {"name": "body"}}},
        {"name": "dtype", "arg": {"as_scalar_type": 7}},
        {"name": "dtype", "arg": {"as_scalar_type": "x"}},
        {"name": "device", "arg": {"as_device": {"type": "cpu", "index": None}}},
        {"name": "mask", "arg": {"as_optional_tensors": [{"as_none": []}, {"as_tensor": mask}]}},
        {"name": "text", "arg": {"as_string": "it's"}},
        {"name": "", "arg": {"as_string": "x" * 100}},
        {"name": "new", "arg": {"as_future": {"a": 1, "b": 2}}},
        {"name": "deep", "arg": json.loads("[" * 50 + "]" * 50)},
        5,
    ]  # fmt: skip
    program = build_program(
        node("a", nn_module_stack="L,,M;odd;k[1, 2],p(3, 4),T") | {"inputs": arguments},
        inputs=[{"as_none": []}, {"as_tensor": {"name": "x"}}],
        outputs=[{"as_tensor": {"name": "a"}}, {"as_int": 3}],
        tensor_values={"x": {"dtype": 99, "sizes": [{"as_int": 2}]}, "a": {}},
    )
    graph = read(build_etrecord(**{EDGE: program})).edge_graph("forward")
    assert render_graph(graph)[1:] == [
        "def forward(input_0, x: unknown[2]):",
        f"    a: ? = torch.ops.aten.relu.default(body, dtype=float32, dtype=unknown, device=cpu, "
        f"mask=[None, m], text=\"it's\", '{'x' * 60}'..., new=?, deep=[[[[[[[[...]]]]]]]], ?)"
        "  # k[1, 2]",
        "    return (a, 3)",
    ]
    assert graph.nodes[2].module_hierarchy == {
        "L": ["", "M"], "odd": [], "k[1, 2]": ["p(3, 4)", "T"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("target", "op_type"),
    [
        ("executorch.exir.dialects.edge.ops.aten.add.Tensor", "aten.add.Tensor"),
        ("executorch.exir.dialects.edge.ops.aten.relu.default", "aten.relu.default"),
        ("executorch.exir.dialects.backend.ops.my.op.out", "my.op.out"),
        ("torch.ops.aten.sym_size.int", "sym_size.int"),
        ("torch.ops.higher_order.cond", "cond"),
        ("_operator.mul", "mul"),
        ("executorch.exir.memory.view", "view"),
        ("alloc", "alloc"),
    ],
)
def test_target_is_the_name_that_the_inspector_shows(read, target, op_type):
    graph = read(build_etrecord(**{EDGE: build_program(node("a", target))})).edge_graph("forward")
    assert graph.nodes[0].target == op_type


@pytest.mark.parametrize(
    ("opcodes", "problem"),
    [
        (b"K\x01", "has a int, wanted values by method"),
        (b"}X\x01\x00\x00\x00fK\x01s", "has a int, wanted a list"),
        (b"}X\x01\x00\x00\x00f]](ctorch\nSize\nK\x01eas", "has a value that is neither"),
        (
            b"}(X\x01\x00\x00\x00f](" + b"N" * 2000 + b"eq\x00"
            b"X\x01\x00\x00\x00g](" + b"h\x00" * 2000 + b"eu",
            "has more than 1,000,000 values",
        ),
        (b"}X\x01\x00\x00\x00f]q\x00h\x00as", "has a value that is neither"),
    ],
)
def test_reference_outputs_of_another_form_are_refused(read, opcodes, problem):
    archive = build_torch_archive(b"\x80\x02" + opcodes + b".")
    record = read(build_etrecord(reference_outputs=archive))
    told = refusal(lambda: record.reference_outputs)
    assert told.startswith(f"!reference_outputs: {problem}")


def test_a_file_that_is_no_etrecord_is_refused_with_what_it_is(read, tmp_path):
    dump = (CORPUS / "real" / "load_only.etdp").read_bytes()
    cases = {
        dump: ", but an ETDump",
        b"\0\0\0\0ET12": ", but an ExecuTorch program",
        b"<!doctype html>": ", but an HTML page, such as a login or an error: download the file "
        "itself",
        b"": "",
    }
    for data, found in cases.items():
        assert refusal(read, data) == f": not an ETRecord (a zip){found}"
    assert (
        refusal(read, build_zip({"a": b""})) == ": is a zip without ETRECORD_V0; wanted an ETRecord"
    )
    assert refusal(read, b"PK\x03\x04").startswith(": unreadable zip (its end with")
    with pytest.raises(SourceError, match="does not exist"):
        read_etrecord(Source(str(tmp_path / "gone")))


def test_hostile_zips_are_refused_before_they_are_unpacked(read):
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = _zip_twice("debug_handle_map")
    assert (
        refusal(read, twice)
        == "!debug_handle_map: the zip has several members of this name, wanted one"
    )
    handles = {"ETRECORD_V0": b"", "debug_handle_map": b"{}" + b" " * (65 << 20)}
    bomb = build_zip(handles, zipfile.ZIP_DEFLATED)
    assert "would take 68,157,442 bytes, wanted at most" in refusal(read, bomb)
    packed = build_zip({"ETRECORD_V0": b"", "debug_handle_map": b"{}"}, zipfile.ZIP_BZIP2)
    assert "is packed with bzip2; pack it stored or deflated" in refusal(read, packed)
    plain = bytearray(build_etrecord(debug_handle_map={}))
    entry = plain.rindex(b"PK\x01\x02")
    plain[entry + 8] |= 1
    assert "is encrypted; unpack" in refusal(read, bytes(plain))


def _zip_twice(name: str) -> bytes:
    file = io.BytesIO(build_etrecord(**{name: {}}))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, b"{}")
    return file.getvalue()


@pytest.mark.parametrize("seed", range(60))
def test_damaged_file_is_read_or_refused(read, seed):
    rng = random.Random(seed)  # noqa: S311
    name = rng.choice(["dyn_portable_bundled", "map_portable", "mapping_demo"])
    members = read_members(MODELS / f"{name}.etrecord")
    if seed % 3:  # damage inside a member, where no checksum tells
        for victim in rng.sample(sorted(members), 2):
            members[victim] = _damage(rng, members[victim])
        data = build_zip(members)
    else:
        data = _damage(rng, build_zip(members))
    try:
        record = read(data)
    except EtRecordError:
        return
    use_all_of(record)


def _damage(rng: random.Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    if not damaged or rng.random() < 0.3:
        return bytes(damaged[: rng.randrange(len(damaged) + 1)])
    for _ in range(rng.randrange(1, 6)):
        damaged[rng.randrange(len(damaged))] = rng.choice(b'{}[]":,0x\xff\x00')
    return bytes(damaged)
