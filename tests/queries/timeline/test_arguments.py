"""What a trace tells of an event."""

from __future__ import annotations

from tracehouse.queries.timeline.events import TimedEvent, event_arguments, stack_trace
from tracehouse.warehouse.programs.method_origins import Hierarchy, Origin


def _event(origin: Origin) -> TimedEvent:
    return TimedEvent("DELEGATE_CALL", "delegate_call", 3, None, origin, None, 1)


def test_unknown_origins_give_no_arguments_and_no_stack_trace() -> None:
    assert event_arguments(_event(Origin())) == {"instruction": 3}
    assert stack_trace(_event(Origin())) is None


def test_long_lists_are_cut_and_say_so() -> None:
    told = event_arguments(_event(Origin(debug_handles=list(range(100)))))
    assert told["debug_handles"][62:] == [62, 63, "and 36 more"]


def test_facts_that_nodes_share_are_listed_once() -> None:
    where: Hierarchy = {"L__self__": ["", "Net"], "L__self__.a": ["a", "nn.Linear"]}
    event = _event(
        Origin(
            op_types=["aten.mm", "aten.mm"],
            stack_traces={"x": "File a", "y": "File a", "z": None},
            module_hierarchy={"x": where, "y": where, "z": None},
        )
    )
    told = event_arguments(event)
    assert (told["op_types"], told["modules"]) == (["aten.mm"], ["a (Linear)"])
    assert stack_trace(event) == "File a"


def test_modules_of_an_event_are_those_of_all_its_nodes() -> None:
    one: Hierarchy = {"": ["", "Net"], "a": ["a", "A"], "a.b": ["a.b", "B"]}
    other: Hierarchy = {"": ["", "Net"], "a": ["a", "A"], "a.c": ["a.c", "C"]}
    event = _event(Origin(module_hierarchy={"x": one, "y": other}))
    assert [module.path for module in event.modules] == ["", "a"]
    assert [module.path for module in event.innermost_modules] == ["a.b", "a.c"]


def test_long_stack_traces_are_cut() -> None:
    trace = stack_trace(_event(Origin(stack_traces={"x": "n" * 9_000})))
    assert trace is not None
    assert trace.endswith("n ...")
    assert len(trace) < 5_000
