from __future__ import annotations

from tests.support.documents import ROOT
from tests.support.explained import node, operator, program, run_of
from tracehouse.ingest.etrecord.differences import compare_programs
from tracehouse.ingest.sources.places import parse_source
from tracehouse.queries.explain.operators import RunOrigins
from tracehouse.queries.explain.programs import changes_of_files, compare_stored, diff_calls

BACKEND = "XnnpackBackend"
ADD = "aten.add.Tensor"


def compare(base, head):
    """The differences of two programs whose kernels run nothing by name."""
    run = run_of(Method__execute=operator("method", None))
    return [
        (one.change, one.part, one.name, one.base, one.head)
        for one in compare_stored(base, head, RunOrigins(run, base, {}), RunOrigins(run, head, {}))
    ]


def net(*nodes, backend=None, **changes):
    handles = {handle for one in nodes for handle in one.handles}
    return program(*nodes, calls={0: (handles, backend)}, **changes)


def test_equal_programs_do_not_differ():
    one = net(node(0, ADD, 1), node(1, ADD, 2))
    assert compare(one, one) == []


def test_a_call_is_matched_by_module_and_target_wherever_it_is():
    layer = (("", "Net"), ("layer", "Layer"))
    base = net(node(0, ADD, 1, modules=layer))
    head = net(node(0, "aten.mul.Tensor", 1), node(5, ADD, 2, modules=layer))
    call = "(float32[2]) → float32[2] in a kernel"
    assert compare(base, head) == [("added", "operator", "aten.mul.Tensor", None, call)]
    assert compare(head, base) == [("removed", "operator", "aten.mul.Tensor", call, None)]


def test_another_shape_makes_a_changed_call():
    wide = node(0, ADD, 1, types=f"{ADD}(float32[3]) → float32[3]")
    assert compare(net(node(0, ADD, 1)), net(wide)) == [
        (
            "changed",
            "operator",
            ADD,
            "(float32[2]) → float32[2] in a kernel",
            "(float32[3]) → float32[3] in a kernel",
        )
    ]


def test_the_second_call_of_a_target_is_numbered():
    one, two = node(0, ADD, 1), node(1, ADD, 2)
    assert compare(net(one), net(one, two))[0][2] == f"{ADD} #2"


def test_a_call_that_lost_its_delegate_moved():
    found = compare(net(node(0, ADD, 1), backend=BACKEND), net(node(0, ADD, 1)))
    call = "(float32[2]) → float32[2] in"
    assert found == [
        ("moved", "operator", ADD, f"{call} {BACKEND}", f"{call} a kernel"),
        ("removed", "delegate", BACKEND, "1 call of 1 operator", None),
    ]


def test_constants_and_fusions_are_compared():
    nodes = node(0, ADD, 1), node(1, "aten.relu.default", 2)
    types = [{"forward": {"p_w": f"float32[{size}]"}} for size in (2, 3)]
    fused = {("forward", 0, "7"): frozenset({1, 2})}
    base = net(*nodes, backend=BACKEND, constants=types[0], fusions=fused)
    head = net(*nodes, backend=BACKEND, constants=types[1])
    assert compare(base, head) == [
        ("removed", "fusion", "add + relu", "1 time", None),
        ("changed", "constant", "p_w", "float32[2]", "float32[3]"),
    ]


def test_files_are_compared_by_their_parts():
    files = [
        parse_source(str(ROOT / "tests/data/programs" / name))
        for name in ("portable.pte", "portable_wider.pte")
    ]
    found = changes_of_files(compare_programs(*files))
    assert {one.part for one in found} >= {"operator", "constant", "file"}
    (softmax,) = [one for one in found if "softmax" in one.name]
    assert (softmax.change, softmax.base, softmax.head) == ("added", None, "1")
    (size,) = [one for one in found if one.part == "file"]
    assert (size.change, str(size.base).endswith(" bytes")) == ("changed", True)


def test_a_call_with_other_tensors_shows_only_what_differs():
    was = "(f32[1, 2], f32[2], stride=[1, 1], groups=1) → f32[1, 2] in a kernel"
    now = "(f32[1, 3], f32[2], stride=[2, 2], groups=1) → f32[1, 3] in a kernel"
    assert diff_calls(was, now) == (
        "f32[1, 2], stride=[1, 1], f32[1, 2]",
        "f32[1, 3], stride=[2, 2], f32[1, 3]",
    )


def test_a_call_that_moved_to_another_backend_is_shown_whole():
    was, now = "(f32[1]) → f32[1] in a kernel", "(f32[2]) → f32[2] in Xnnpack"
    assert diff_calls(was, now) == (was, now)
    assert diff_calls(None, now) == ("–", now)
