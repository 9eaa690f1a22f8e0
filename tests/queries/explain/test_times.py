from __future__ import annotations

import pytest

from tests.support.explained import key, node, operator, program, run_of
from tracehouse.queries.explain.explanation import method_frame
from tracehouse.queries.explain.operators import EventOrigin, RunOrigins
from tracehouse.queries.report.parts import Breakdown, Work, break_down

LAYER = (("", "Net"), ("layer", "net.Layer"))
CALLS = {0: ({1}, None), 1: ({2, 3}, "XnnpackBackend")}
PLACE = {"device": "phone", "model": "net", "backend": None, "run": "Execute"}


def shown(frame, depth=0):
    lines = [(f"{'.' * depth}{frame.name}", frame.base, frame.head)]
    return [*lines, *(line for part in frame.parts for line in shown(part, depth + 1))]


def method(base: float, head: float, *works: tuple[str, str, float | None, float | None]):
    parts = [
        Work({"event_name": name, "delegate_id": None, "ordinal": 1}, *times, (kind, kind))
        for kind, name, *times in works
    ]
    return break_down(PLACE, (base, head), parts, None)


def frame_of(found: Breakdown, sides=None, origins=None, members=()):
    return method_frame(found, sides or {}, origins or {}, members)


def test_the_costs_of_a_change_are_those_of_the_leaves():
    found = method(100.0, 190.0, ("kernel", "add", 60.0, 150.0), ("kernel", "mul", 30.0, None))
    frame = frame_of(found, members=[key("add")])
    assert shown(frame) == [
        ("Execute", 100.0, 190.0),
        (".add #1", 60.0, 150.0),
        (".mul #1", 30.0, None),
        (".irregular runs", None, None),
    ]
    assert [part.is_member for part in frame.parts] == [True, False, False]
    assert sum(part.change for part in frame.parts) == frame.change == found.cost_ns


def test_operators_of_a_delegate_stand_under_its_call():
    run = run_of(call=operator("delegate_call", 1), gemm=operator("delegate_op", 1))
    works = ("delegate_call", "call", 80.0, 95.0), ("delegate_op", "gemm", 50.0, 60.0)
    frame = frame_of(method(100.0, 115.0, *works), {"head": run})
    assert shown(frame)[1:] == [
        (".call #1", 50.0, 60.0),
        ("..gemm #1", 50.0, 60.0),
        (".delegates' own", 30.0, 35.0),
        (".irregular runs", None, None),
    ]


def located(*, layer=LAYER):
    run = run_of(native_call_add__out=operator("kernel", 0, 1))
    own = program(node(0, "aten.add.Tensor", 1, modules=layer), calls=CALLS)
    add = run[key("native_call_add.out")]
    return run, RunOrigins(run, own, {add.event: EventOrigin("forward", (1,), None)})


ADD = ("kernel", "native_call_add.out", 60.0, 70.0)


def test_an_operator_is_below_the_modules_around_it():
    run, origins = located()
    frame = frame_of(method(100.0, 110.0, ADD), {"base": run}, {"base": origins})
    assert shown(frame)[:3] == [
        ("Execute", 100.0, 110.0),
        (".layer (Layer)", 60.0, 70.0),
        ("..add #1", 60.0, 70.0),
    ]


def test_a_module_that_changed_its_class_is_one_frame():
    base, head = located(), located(layer=(*LAYER[:1], ("layer", "net.Other")))
    sides = {"base": base[0], "head": head[0]}
    origins = {"base": base[1], "head": head[1]}
    frame = frame_of(method(100.0, 110.0, ADD), sides, origins)
    assert shown(frame)[1] == (".layer (Layer → Other)", 60.0, 70.0)


def test_an_operator_that_moved_stands_under_its_new_module():
    base, head = located(), located(layer=(*LAYER[:1], ("other", "net.Other")))
    sides = {"base": base[0], "head": head[0]}
    origins = {"base": base[1], "head": head[1]}
    frame = frame_of(method(100.0, 110.0, ADD), sides, origins)
    assert shown(frame)[1] == (".other (Other)", 60.0, 70.0)


def test_a_real_model_is_shown_by_module(explained):
    (times,) = explained.times
    rows = {line[0].lstrip("."): line[1:] for line in shown(times.frame)}
    assert rows["body.0.act (Softplus)"][0] is None  # relu, which XNNPACK fuses, became softplus
    assert rows["log1p #1"][1] > 300_000
    base, head = rows["body.0.conv (Conv2d)"]
    assert 1.2 < head / base < 3
    assert "body.1.conv (Conv2d)" in rows
    assert sum(part.change for part in times.frame.parts) == pytest.approx(times.frame.change)
