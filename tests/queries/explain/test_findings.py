from __future__ import annotations

from tests.support.explained import frame, programs, run_times
from tests.support.reports import group
from tracehouse.queries.explain.content import (
    Divergence,
    Fact,
    OperatorOrigin,
    Origin,
    ProgramChange,
)
from tracehouse.queries.explain.findings import list_findings

WHERE = "phone · net · xnnpack"


def findings(times=(), known=(), facts=(), divergences=(), **changes):
    return list_findings(group(**changes), times, known, facts, divergences)


def change(part="operator", **fields):
    known = {"change": "changed", "name": part, "base": "a", "head": "b"}
    return ProgramChange(part=part, **known | fields)


def origin(node, where="a kernel"):
    return Origin(where=where, nodes=[node], is_whole_call=False, modules=[], sources=[])


def operator(base, head):
    return OperatorOrigin(name="mm #1", delta=0.5, base=base, head=head, is_same=False)


def test_the_parts_with_most_of_the_change_are_named():
    layer = frame("layer (Linear)", 600.0, 1080.0, frame("mm #1", 600.0, 1080.0))
    times = run_times(layer, frame("add #1", 390.0, 400.0))
    assert findings([times]) == [
        f"{WHERE}, Execute: +500 ns per run (+50.0 %), of which mm #1 in layer (Linear) +480 ns."
    ]


def test_a_run_that_hardly_changed_names_the_operators_of_the_alert():
    parts = [frame("mm #1", 500.0, 520.0, is_member=True), frame("add #1", 490.0, 460.0)]
    (text,) = findings([run_times(*parts, head=1001.0)])
    assert text == (
        f"{WHERE}, Execute: +1 ns per run (+0.10 %), of which mm #1 +20 ns, add #1 −30 ns."
    )


def test_a_part_that_only_one_build_runs_is_named_by_its_outermost_module():
    act = frame("act (Softplus)", None, 600.0, frame("log1p #1", None, 600.0))
    texts = findings([run_times(act, frame("relu #1", 100.0, None))])
    assert texts[1:] == [
        f"{WHERE}, Execute: only the base runs relu #1.",
        f"{WHERE}, Execute: only the head runs act (Softplus).",
    ]


def test_equal_programs_clear_the_program():
    same = programs(base_etrecord="a" * 64, head_etrecord="a" * 64)
    (text,) = findings(known=[same])
    assert text.startswith(f"{WHERE}: both builds ran the same program: the cause is in")


def test_different_programs_without_a_difference_are_reported_as_alike():
    (text,) = findings(known=[programs()])
    assert text.endswith("the programs agree in calls, shapes, delegates and types of constants.")


def test_differences_are_counted_and_delegates_spelt_out():
    moved = change(change="moved", name="a: aten.add", base="() in Xnnpack", head="() in a kernel")
    delegate = change("delegate", name="Xnnpack", base="1 call of 2 operators", head=None)
    assert findings(known=[programs(moved, delegate, change("constant"))]) == [
        f"{WHERE}: the programs differ in 1 call, 1 delegate, 1 constant.",
        f"{WHERE}: a: aten.add runs in a kernel, ran in Xnnpack.",
        f"{WHERE}: Xnnpack has no call, had 1 call of 2 operators.",
    ]


def test_constants_with_other_values_of_the_same_size_are_reported():
    was = change("constant", change="removed", name="constants 1a2b", base="864 bytes", head=None)
    now = change("constant", change="added", name="constants 9f3c", base=None, head="864 bytes")
    texts = findings(known=[programs(was, now)])
    assert texts[1:] == [f"{WHERE}: the constants have other values, of the same size."]
    larger = now.model_copy(update={"head": "900 bytes"})
    assert len(findings(known=[programs(was, larger)])) == 1


def test_a_changed_operator_is_explained_by_its_shapes():
    was, now = (origin(f"aten.mm({size}) → {size}") for size in ("f32[2]", "f32[3]"))
    known = programs(base_etrecord=None, operators=[operator(was, now)])
    assert findings(known=[known]) == [
        f"{WHERE}: mm #1 (aten.mm) has other tensors or arguments: f32[2], f32[2] → f32[3], f32[3]."
    ]


def test_a_changed_operator_may_run_elsewhere_or_be_another_call():
    node = "aten.mm(f32[2]) → f32[2]"
    elsewhere = operator(origin(node, "Xnnpack"), origin(node))
    other = operator(origin(node), origin("aten.bmm(f32[2]) → f32[2]"))
    texts = findings(known=[programs(base_etrecord=None, operators=[elsewhere, other])])
    assert texts == [
        f"{WHERE}: mm #1 runs in a kernel, ran in Xnnpack.",
        f"{WHERE}: mm #1 runs other calls of the program.",
    ]


def test_missing_etrecords_are_explained_with_one_remedy():
    missing = "no dump of b1 has an ETRecord"
    known = programs(base_etrecord=None, missing=[missing])
    texts = findings(known=[known, known])
    assert texts[0] == f"{WHERE}: {missing}, so their programs are not compared."
    remedies = [text for text in texts if text.startswith("To compare programs, put the ETRecord")]
    assert remedies == texts[2:]
    assert len(remedies) == 1


def test_changed_facts_and_values_are_named():
    fact = Fact(
        where=WHERE, subject="environment", name="governor", base="a", head="b", is_changed=True
    )
    value = Divergence(
        where=WHERE, base_dump_id=1, head_dump_id=2, verdict="different", compared_count=5,
        equal_count=2, operator="mm #1", command="tracehouse numeric-gap 1 2 --first",
    )  # fmt: skip
    same = value.model_copy(update={"verdict": "equal"})
    texts = findings(
        facts=[fact, fact.model_copy(update={"is_changed": False})], divergences=[value, same]
    )
    assert texts == [
        f"{WHERE}: environment governor was a, is b.",
        f"{WHERE}: logged values first differ at mm #1; 2 of 5 compared values are equal.",
        f"{WHERE}: all 5 logged values are equal bit by bit.",
    ]


def test_findings_say_that_the_environment_explains_the_alert():
    (text,) = findings(is_of_environment=True)
    assert text.startswith("The environment explains every member")


def test_an_alert_without_places_to_compare_says_so():
    assert findings() == ["No place of the alert was recorded both before and since the change."]
