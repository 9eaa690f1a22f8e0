from __future__ import annotations

import pytest

from tests.support.explained import key, node, operator, program, run_of
from tracehouse.queries.explain.operators import (
    EventOrigin,
    RunOrigins,
    read_operators,
    read_origins,
)

BACKEND = "XnnpackBackend"


def origins(run, own, **handles):
    """The origins of a run: handles of its events by name."""
    events = {
        one.event: EventOrigin(
            "forward",
            tuple(handles.get(name.event_name, ())),
            BACKEND if one.kind.startswith("delegate") else None,
        )
        for name, one in run.items()
    }
    return RunOrigins(run, own, events)


@pytest.fixture
def shared():
    """Softplus in one debug handle: its exp is delegated, its log1p and where are kernels."""
    run = run_of(
        DELEGATE_CALL=operator("delegate_call", 0, 1),
        native_call_log1p__out=operator("kernel", 1, 2),
    )
    nodes = [node(0, "aten.exp.default", 4, word="Exp"), node(1, "aten.log1p.default", 4)]
    own = program(*nodes, calls={0: ({4}, BACKEND), 1: ({4}, None)})
    return origins(run, own, **{"DELEGATE_CALL": [4], "native_call_log1p.out": [4]})


def test_a_kernel_runs_the_calls_of_a_shared_handle_that_have_its_name(shared):
    found = shared.find(key("native_call_log1p.out"))
    assert (found.where, found.nodes) == (
        "a kernel",
        ["aten.log1p.default(float32[2]) → float32[2]"],
    )


def test_a_delegate_runs_the_calls_of_a_shared_handle_that_no_kernel_runs(shared):
    found = shared.find(key("DELEGATE_CALL"))
    assert found.nodes == ["aten.exp.default(float32[2]) → float32[2]"]
    assert (found.where, found.is_whole_call) == (BACKEND, True)


def convolutions(*events):
    """A delegate call of three convolutions and a softmax, with these events in it."""
    run = run_of(
        DELEGATE_CALL=operator("delegate_call", 0, 1),
        **{name: operator("delegate_op", 0, number) for number, name in enumerate(events, 2)},
    )
    nodes = [
        node(
            number,
            "aten.convolution.default",
            number,
            word="Convolution",
            source=f"net.py:{number}",
        )
        for number in range(3)
    ]
    own = program(
        *nodes,
        node(3, "aten._softmax.default", 3, word="Softmax"),
        calls={0: ({0, 1, 2, 3}, BACKEND)},
    )
    return origins(run, own, DELEGATE_CALL=[0, 1, 2, 3])


def test_the_nth_event_is_the_nth_call_of_its_type_if_counts_are_equal():
    events = ["Convolution (F32) #1", "Softmax", "Convolution (F32) #2", "Convolution (F32) #3"]
    run = convolutions(*events)
    assert run.find(key(events[2])).sources == ["net.py:1"]
    assert run.find(key("Softmax")).nodes == ["aten._softmax.default(float32[2]) → float32[2]"]


def test_an_event_may_be_any_call_of_its_type_if_events_are_fewer_than_calls():
    found = convolutions("Convolution (F32) #1").find(key("Convolution (F32) #1"))
    assert (len(found.nodes), found.is_whole_call) == (3, False)


def test_an_event_without_a_known_word_may_be_the_whole_call():
    found = convolutions("Transpose").find(key("Transpose"))
    assert (len(found.nodes), found.is_whole_call) == (4, True)


def test_an_event_is_below_the_modules_that_contain_all_its_calls():
    run = run_of(native_call_addmm__out=operator("kernel", 0))
    around = [(("", "Net"), ("a", "A"), ("a.b", "B")), (("", "Net"), ("a", "A"), ("a.c", "C"))]
    nodes = [node(n, "aten.addmm.default", 7, modules=each) for n, each in enumerate(around)]
    own = program(*nodes, calls={0: ({7}, None)})
    found = origins(run, own, **{"native_call_addmm.out": [7]})
    assert found.modules(key("native_call_addmm.out")) == (("", "Net"), ("a", "A"))


def test_an_operator_that_the_build_lacks_has_no_origin(shared):
    assert shared.find(key("native_call_gelu.out")) is None


def test_a_call_that_no_instruction_runs_has_no_location(shared):
    assert shared.where(node(9, "aten.view_copy.default")) == ""


def test_real_events_have_methods_and_backends(softplus, place):
    (found,) = read_operators(softplus, [place])
    events = read_origins(softplus, found.etrecords.values())
    assert {event.etrecord_id for event in events} == set(found.etrecords.values())
    assert {origin.backend for origin in events.values()} == {None, BACKEND}
    assert {origin.method for origin in events.values()} == {"forward"}
