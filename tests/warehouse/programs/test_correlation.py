from __future__ import annotations

import pytest

from tests.support.corpus import CORPUS
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import EDGE, MODELS, build_etrecord, build_program, node
from tests.support.event_blocks import integer, logged, run
from tracehouse.ingest.etrecord.record import read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.event_blocks.build import (
    build_event_blocks,
    decode_tables,
    read_event_blocks,
)
from tracehouse.queries.event_blocks.table import event_blocks_json
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.correlation import Correlation, Place

FORWARD = "edge_dialect_exported_program__forward"


@pytest.fixture
def correlation(tmp_path):
    """Makes a Correlation of an ETRecord's members."""

    def make(graph=EDGE, **members):
        path = tmp_path / "model.etrecord"
        path.write_bytes(build_etrecord(**members))
        return Correlation(read_etrecord(Source(str(path))), graph=graph)

    return make


def edge(*targets, first=1):
    """An edge program with one node per operator, their debug handles counted from `first`."""
    nodes = [
        node(
            f"aten_{target}_default",
            f"executorch.exir.dialects.edge.ops.aten.{target}.default",
            debug_handle=str(handle),
        )
        for handle, target in enumerate(targets, first)
    ]
    return build_program(*nodes)


def kernel(operator, instruction):
    return Place(f"native_call_{operator}.out", "kernel", instruction, None)


def call(instruction):
    return Place("DELEGATE_CALL", "delegate_call", instruction, None)


def inside(delegate_id, instruction=0):
    return Place("", "delegate_op", instruction, delegate_id)


EXECUTE = Place("Method::execute", "method", None, None)


def blocks_of(dump, record, **options):
    return read_event_blocks(
        Source(str(CORPUS / "real" / f"{dump}.etdp")),
        etrecord=Source(str(MODELS / f"{record}.etrecord")),
        **options,
    )


def test_a_kernel_has_the_operators_traces_and_modules_of_its_handles(correlation):
    program = build_program(
        node(
            "conv",
            "executorch.exir.dialects.edge.ops.aten.convolution.default",
            debug_handle="7",
            stack_trace="line 1",
            nn_module_stack="L__self__,,Net;L__self__c1,c1,Conv2d",
        )
    )
    known = correlation(debug_handle_map={"forward": {"0": 7}}, **{FORWARD: program})
    [origin] = known.locate([kernel("convolution", 0)]).origins
    assert origin.debug_handles == 7
    assert origin.op_types == ["aten.convolution.default"]
    assert origin.stack_traces == {"conv_": "line 1"}
    assert origin.module_hierarchy == {
        "conv_": {"L__self__": ["", "Net"], "L__self__c1": ["c1", "Conv2d"]}
    }


def test_each_node_counts_once_however_often_its_handle_is_listed(correlation):
    nodes = [node(name, debug_handle="2") for name in ("a", "b")]
    known = correlation(
        debug_handle_map={"forward": {"0": [2, 2, 2]}}, **{FORWARD: build_program(*nodes)}
    )
    [origin] = known.locate([call(0)]).origins
    assert origin.debug_handles == [2, 2, 2]
    assert list(origin.stack_traces) == ["a_", "b_"]
    assert len(origin.op_types) == 2


@pytest.mark.parametrize(
    ("delegate_id", "handles"),
    [
        ("relu1", [1]),
        (15, [15]),
        (1, None),
        ("relu1 (fused, f32)", [1]),
        ("tile:relu1/0", [1]),
        ("relu1_2", None),
        ("relu12 (fused)", [12]),
        ("relu10", None),
        ("relu1+relu12", [1, 12]),
        ("op_x_x (fused)", [22]),
        ("surprise", None),
        ('{"operator": {"args": [15], "delegate_node_id": 5}, "kernel_name": "relu1"}', [5]),
        ('{"operator": {"delegate_node_id": 15, "args": [5]}, "operator_id": 5}', [15]),
        ('{"operator": {"args": [15], "delegate_node_id": 6}, "kernel_name": "relu1"}', None),
        ('{"operator":{"args":[15],"delegate_node_id":5},"kernel_name":"relu1"}', [5]),
        ('"delegate_node_id": 15', [15]),
        ('{"kernel_name": "relu1", "dispatch_id": 21}', [1]),
    ],
)
def test_a_delegate_id_is_looked_up_exactly_and_else_by_the_words_in_it(
    correlation, delegate_id, handles
):
    ids = {"15": [15], "5": [5], "relu12": [12], "relu1": [1], "op_x_x": [22], "op_x": [21]}
    known = correlation(
        debug_handle_map={"forward": {"0": [1, 5, 12, 15, 21, 22]}},
        delegate_map={"forward": {"0": {"name": "Some", "delegate_map": ids}}},
    )
    [origin] = known.locate([inside(delegate_id)]).origins
    assert origin.debug_handles == handles
    assert origin.delegate_backend_name == "Some"


def test_a_delegate_phase_has_its_backend_and_no_nodes(correlation):
    known = correlation(
        debug_handle_map={"forward": {"0": [1]}},
        delegate_map={"forward": {"0": {"name": "VgfBackend", "delegate_map": {"1": [1]}}}},
    )
    [origin] = known.locate([Place("", "delegate_phase", 0, "VGF_EXECUTE")]).origins
    assert (origin.debug_handles, origin.delegate_backend_name) == (None, "VgfBackend")


def test_a_delegate_that_the_record_does_not_know_has_the_handles_of_its_call(correlation):
    known = correlation(debug_handle_map={"forward": {"0": [3, 4]}})
    [origin] = known.locate([inside("x")]).origins
    assert (origin.debug_handles, origin.delegate_backend_name) == ([3, 4], None)


def test_events_outside_instructions_have_no_handles():
    load, execute = blocks_of("mixed_xnnpack_n20", "mixed_xnnpack")
    named = {event.name: event for event in [*load.events, *execute.events]}
    for name in ("Method::init", "Program::load_method", "Method::execute"):
        assert named[name].instruction_id == 0
        assert named[name].debug_handles is None
    assert execute.events[3].debug_handles == [1, 2]


def test_an_unflagged_output_has_no_handles_though_its_instruction_is_0():
    for dump in ("dynscalar_portable_n3_debug", "multiout_portable_n3_debug"):
        block = blocks_of(dump, "mixed_xnnpack")[1]
        nameless = [event for event in block.events if not event.name]
        assert [(event.instruction_id, event.debug_handles) for event in nameless] == [(0, None)]


def test_values_logged_inside_an_instruction_without_times_have_its_handles():
    record = Source(str(MODELS / "mixed_xnnpack.etrecord"))
    events = [
        logged(integer(1), chain_index=chain, instruction_id=0, name=name)
        for chain, name in ((0, "inside"), (2**64 - 1, "outside"))
    ]
    data = build_etdump({"run_data": [run(*events)]})
    [block] = build_event_blocks(
        decode_tables(data, "dump"), correlation=Correlation(read_etrecord(record))
    )
    found = {event.name: event.debug_handles for event in block.events}
    assert found == {"inside": [1, 2], "outside": [1, 2]}


def test_blocks_are_told_apart_by_the_operators_of_their_methods():
    blocks = blocks_of("prefill_decode_portable", "prefill_decode_portable")
    assert [(block.method, block.notes) for block in blocks] == [
        (None, []), ("prefill", []), ("decode", []),
    ]  # fmt: skip
    for block in blocks[1:]:
        kernels = [event for event in block.events if event.kind == "kernel"]
        names = [event.name.removeprefix("native_call_").split(".")[0] for event in kernels]
        assert all(
            any(f".{name}." in op for op in event.op_types)
            for name, event in zip(names, kernels, strict=True)
        )


def test_the_method_need_not_be_called_forward():
    blocks = blocks_of("only_decode_portable", "only_decode_portable")
    assert {block.method for block in blocks} == {"decode"}
    assert blocks[1].events[0].op_types == ["aten.embedding.default"]


def test_methods_that_would_answer_differently_are_both_left_out(correlation):
    handles = {"0": 1, "1": 2}
    programs = {
        f"edge_dialect_exported_program__{name}": build_program(
            *(node(f"{name}_{handle}", debug_handle=str(handle)) for handle in (1, 2))
        )
        for name in ("alpha", "beta")
    }
    known = correlation(debug_handle_map={"alpha": handles, "beta": handles}, **programs)
    block = known.locate([kernel("relu", 0), kernel("relu", 1), EXECUTE])
    assert (block.method, block.method_candidates) == (None, ["alpha", "beta"])
    assert block.notes == ["these can be events of alpha or beta, which differ"]
    assert {origin.debug_handles for origin in block.origins} == {None}


def test_methods_that_would_answer_alike_are_both_named_and_the_answer_given(correlation):
    known = correlation(debug_handle_map={"alpha": {"0": 1}, "beta": {"0": 1}})
    block = known.locate([kernel("relu", 0), EXECUTE])
    assert (block.method, block.method_candidates, block.notes) == (None, ["alpha", "beta"], [])
    assert block.origins[0].debug_handles == 1


def test_a_completed_run_excludes_methods_with_more_instructions(correlation):
    known = correlation(debug_handle_map={"long": {"0": 1, "1": 2}, "short": {"0": 5}})
    assert known.locate([kernel("relu", 0), EXECUTE]).method == "short"
    assert known.locate([kernel("relu", 0)]).method is None


def test_a_delegate_tells_methods_apart(correlation):
    known = correlation(
        debug_handle_map={"plain": {"0": 1}, "lowered": {"0": [1]}},
        delegate_map={"plain": {}, "lowered": {"0": {"name": "B", "delegate_map": {}}}},
    )
    assert known.locate([call(0), EXECUTE]).method == "lowered"
    assert known.locate([kernel("relu", 0), EXECUTE]).method == "plain"


ENCODE = ("linear", "relu", "linear", "sigmoid", "add")
LARGER = (*ENCODE, "view_copy", "convolution", "mul", "_softmax", "linear", "tanh", "gelu")
NAMES = [
    "Fully Connected (NC, F32) GEMM #1", "Fully Connected (NC, F32) GEMM #2", "Sigmoid (NC) #1",
    "Add (ND) #1",
]  # fmt: skip


@pytest.fixture
def lowered(correlation):
    """Makes a Correlation of methods that are each one call of a delegate with these operators."""

    def make(ids=lambda handles: {}, **methods):
        handles = {name: [*range(1, len(targets) + 1)] for name, targets in methods.items()}
        return correlation(
            debug_handle_map={name: {"0": of} for name, of in handles.items()},
            delegate_map={
                name: {"0": {"name": "B", "delegate_map": ids(of)}} for name, of in handles.items()
            },
            **{
                f"edge_dialect_exported_program__{name}": edge(*targets)
                for name, targets in methods.items()
            },
        )

    return make


def test_a_method_that_would_log_much_more_inside_its_delegate_did_not_run(lowered):
    known = lowered(encode=ENCODE, forward=LARGER)
    events = [*map(inside, NAMES), call(0)]
    assert known.locate([*events, EXECUTE]).method == "encode"
    # A run that failed may have been of either.
    assert known.locate(events).method_candidates == ["encode", "forward"]
    more = ["Convolution (NHWC, F32) #1", "Multiply (ND) #1", "Softmax #1", "TanH #1", "GELU #1"]
    assert known.locate([*events, *map(inside, more), EXECUTE]).method == "forward"


@pytest.mark.parametrize(
    "more", [("relu", "view_copy"), ("permute_copy", "_native_batch_norm_legit_no_training")]
)
def test_operators_that_leave_no_event_do_not_tell_methods_apart(lowered, more):
    known = lowered(encode=ENCODE, forward=(*ENCODE, *more))
    block = known.locate([*map(inside, NAMES), call(0), EXECUTE])
    assert block.method_candidates == ["encode", "forward"]


def test_names_that_speak_of_no_operator_do_not_tell_what_is_missing(lowered):
    known = lowered(encode=ENCODE, forward=LARGER)
    block = known.locate([inside("partition #1"), inside("partition #2"), call(0), EXECUTE])
    assert block.method_candidates == ["encode", "forward"]


def test_ids_of_a_delegate_map_that_no_event_has_are_missing(lowered):
    known = lowered(
        lambda handles: {str(handle): [handle] for handle in handles}, encode=ENCODE, forward=LARGER
    )
    assert known.locate([*map(inside, range(1, 6)), call(0), EXECUTE]).method == "encode"
    assert known.locate([*map(inside, range(1, 10)), call(0), EXECUTE]).method == "forward"


def test_an_instruction_unknown_to_the_export_excludes_no_method(correlation):
    known = correlation(
        debug_handle_map={"a": {"0": 1, "1": 2}, "b": {"0": 1}},
        edge_dialect_exported_program__a=edge("relu", "add"),
        edge_dialect_exported_program__b=edge("relu"),
    )
    block = known.locate([kernel("relu", 0), kernel("add", 1), kernel("copy_", 2), EXECUTE])
    assert (block.method, block.notes) == ("a", [])


def test_the_record_of_another_program_is_noted():
    [_, execute] = blocks_of("cnn_portable_n20", "mixed_xnnpack")
    [note] = execute.notes
    assert "is it of this program?" in note
    assert execute.method == "forward"


def test_an_etrecord_without_a_matching_method_is_noted():
    load, execute = blocks_of("cnn_portable_n20", "prefill_decode_portable")
    assert (load.notes, execute.notes) == ([], ["no method of the ETRecord is like this block"])
    assert all(event.debug_handles is None for event in execute.events)


def test_a_record_without_programs_still_tells_handles(correlation):
    known = correlation(debug_handle_map={"forward": {"0": 1}})
    block = known.locate([kernel("relu", 0)])
    assert (block.origins[0].debug_handles, block.origins[0].op_types) == (1, [])
    assert block.notes == []


def test_an_unreadable_program_is_noted_but_debug_handles_are_traced(correlation):
    known = correlation(debug_handle_map={"forward": {"0": 1}}, **{FORWARD: {"graph_module": 3}})
    block = known.locate([kernel("relu", 0)])
    assert block.origins[0].debug_handles == 1
    assert "edge_dialect_exported_program/forward" in block.notes[0]


def test_another_graph_of_the_record_can_tell_the_operators(correlation):
    members = {
        "debug_handle_map": {"forward": {"0": 1}},
        FORWARD: edge("convolution"),
        "aten_dialect__forward": build_program(
            node("conv", "torch.ops.aten.conv2d.default", debug_handle="1")
        ),
        "aten_dialect__forward_state_dict": b"",
    }
    [origin] = (
        correlation("aten_dialect/forward", **members).locate([kernel("convolution", 0)]).origins
    )
    assert origin.op_types == ["conv2d.default"]
    with pytest.raises(
        QueryError, match="has no graph 'nope'; there are aten_dialect/forward, edge"
    ):
        correlation("nope", **members)


def test_reference_outputs_go_by_bundled_input_and_none_without_one():
    blocks = blocks_of("bundled_cpp_dyn_portable", "dyn_portable_bundled")
    assert [block.bundled_input_index for block in blocks] == [-1] * len(blocks)
    assert [block.reference_output for block in blocks] == [None] * len(blocks)


def test_num_outputs_is_that_of_the_delegate_call(correlation):
    known = correlation(
        debug_handle_map={"forward": {"0": [1], "1": 2}},
        delegate_map={"forward": {"0": {"name": "B", "delegate_map": {}}}},
        instruction_id_to_num_outs_map={"forward": {"0": 3}},
    )
    origins = known.locate([call(0), kernel("relu", 1)]).origins
    assert [origin.num_outputs for origin in origins] == [3, 1]


def test_json_carries_what_the_record_tells():
    document = event_blocks_json(blocks_of("mixed_xnnpack_n20", "mixed_xnnpack"))
    event = document["event_blocks"][1]["events"][3]
    assert event["name"] == "DELEGATE_CALL"
    assert event["delegate_backend_name"] == "XnnpackBackend"
    assert event["op_types"] == ["aten.convolution.default", "aten.relu.default"]
    assert event["num_outputs"] == 1
    assert [*event["stack_traces"]] == [*event["module_hierarchy"]]
    assert document["event_blocks"][1]["method"] == "forward"
