from __future__ import annotations

from queries.explain.origins import EventOrigin, RunOrigins
from queries.explain.times import run_frame
from tests.support.explained import key, node, operator, program, run_of

LAYER = (("", "Net"), ("layer", "net.Layer"))
CALLS = {0: ({1}, None), 1: ({2, 3}, "XnnpackBackend")}


def shown(frame, depth=0):
    lines = [(f"{'.' * depth}{frame.name}", frame.base, frame.head)]
    return [*lines, *(line for part in frame.parts for line in shown(part, depth + 1))]


def execute(length, **others):
    return run_of(execute=operator("method", None, length), **others)


def test_the_method_has_its_own_time_beside_that_of_its_operators():
    base = execute(100.0, add=operator("kernel", 0, 60.0), mul=operator("kernel", 1, 30.0))
    head = execute(190.0, add=operator("kernel", 0, 150.0), mul=operator("kernel", 1, 30.0))
    found = run_frame("Execute", {"base": base, "head": head}, {}, [key("add")])
    assert shown(found) == [
        ("Execute", 100.0, 190.0),
        (".add #1", 60.0, 150.0),
        (".mul #1", 30.0, 30.0),
    ]
    assert [part.is_member for part in found.parts] == [True, False]


def test_what_a_delegate_runs_is_inside_its_call():
    run = execute(
        100.0, call=operator("delegate_call", 1, 80.0), gemm=operator("delegate_op", 1, 50.0)
    )
    found = run_frame("Execute", {"base": run}, {}, ())
    assert shown(found) == [
        ("Execute", 100.0, None),
        (".call #1", 80.0, None),
        ("..gemm #1", 50.0, None),
    ]


def test_parts_that_are_longer_than_the_whole_leave_it_nothing():
    run = execute(100.0, add=operator("kernel", 0, 130.0))
    assert shown(run_frame("Execute", {"base": run}, {}, ()))[0] == ("Execute", 130.0, None)


def test_times_of_another_clock_are_left_out():
    cycles = operator("delegate_op", 1, 9.0)._replace(unit="ticks")
    run = execute(100.0, call=operator("delegate_call", 1, 80.0), gemm=cycles)
    assert len(shown(run_frame("Execute", {"base": run}, {}, ()))) == 2


def located(*, layer=LAYER):
    run = execute(100.0, native_call_add__out=operator("kernel", 0, 60.0, 1))
    own = program(node(0, "aten.add.Tensor", 1, modules=layer), calls=CALLS)
    add = run.operators[key("native_call_add.out")]
    return run, RunOrigins(run, own, {add.event: EventOrigin("forward", (1,), None)})


def test_an_operator_is_below_the_modules_around_it():
    run, origins = located()
    found = run_frame("Execute", {"base": run}, {"base": origins}, ())
    assert shown(found) == [
        ("Execute", 100.0, None),
        (".layer (Layer)", 60.0, None),
        ("..native_call_add.out #1", 60.0, None),
    ]


def test_a_module_that_changed_its_class_is_one_frame():
    base, head = located(), located(layer=(*LAYER[:1], ("layer", "net.Other")))
    sides = {"base": base[0], "head": head[0]}
    found = run_frame("Execute", sides, {"base": base[1], "head": head[1]}, ())
    assert shown(found)[1] == (".layer (Layer → Other)", 60.0, 60.0)


def test_operators_of_one_name_that_an_insertion_renumbered_are_one_frame():
    base = execute(100.0, relu=operator("kernel", 3, 10.0))
    renumbered = {key("relu", 2): operator("kernel", 4, 12.0)}
    head = execute(100.0)
    head = head._replace(operators={**head.operators, **renumbered})
    found = run_frame("Execute", {"base": base, "head": head}, {}, ())
    assert shown(found)[1:] == [(".relu #1 → relu #2", 10.0, 12.0)]


def test_another_operator_in_its_place_is_no_renumbering():
    base = execute(100.0, relu=operator("kernel", 3, 10.0))
    head = execute(100.0, gelu=operator("kernel", 3, 30.0))
    found = run_frame("Execute", {"base": base, "head": head}, {}, ())
    assert shown(found)[1:] == [(".gelu #1", None, 30.0), (".relu #1", 10.0, None)]


def test_a_real_model_is_shown_by_module(explained):
    (times,) = explained.times
    assert (times.base_dumps, times.head_dumps, times.unit) == (8, 8, "ns")
    rows = {line[0].lstrip("."): line[1:] for line in shown(times.frame)}
    assert rows["body.0.act (Softplus)"][0] is None  # relu, which XNNPACK fuses, became softplus
    assert rows["native_call_log1p.out #1"][1] > 400_000
    base, head = rows["body.0.conv (Conv2d)"]
    assert 1.2 < head / base < 3
    assert "body.1.conv (Conv2d)" in rows
