from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tracehouse.warehouse.programs.event_modules import (
    EventModule,
    counted_of_group,
    groups_of_instruction,
    modules_above,
    modules_of_events,
)


class Event(NamedTuple):
    name: str
    kind: str
    instruction_id: int | None
    debug_handles: int | list[int] | None
    module_hierarchy: dict


def event(kind, instruction, *paths, name="", handles=1):
    """An event with one node per path; the hierarchy has the modules that are called."""
    nodes = {f"node{i}_": hierarchy(path) for i, path in enumerate(paths)}
    return Event(name, kind, instruction, handles if paths else None, nodes)


def hierarchy(path):
    """Lists, whose names are letters, are never called."""
    if path is None:
        return None
    called = [part for part in modules_above(path) if not part[-1:].isalpha() or part == path]
    return {f"L__self__{part}": [part, f"Class of {part}"] for part in called}


def counted(*events):
    """The events that count for each module, in total and of its own."""
    found = {}
    for one, module in modules_of_events(events):
        total, own = found.setdefault(module.module_path, ([], []))
        total += [one.name] * module.is_total
        own += [one.name] * module.is_own
    return found


def test_a_kernel_counts_for_its_module_and_those_around_it():
    kernel = event("kernel", 0, "layers.0.attn")
    assert list(modules_of_events([kernel])) == [
        (kernel, EventModule("", "Class of ", True, False)),
        (kernel, EventModule("layers", None, True, False)),
        (kernel, EventModule("layers.0", "Class of layers.0", True, False)),
        (kernel, EventModule("layers.0.attn", "Class of layers.0.attn", True, True)),
    ]


def test_a_list_of_modules_has_the_class_that_another_event_knows():
    events = [event("kernel", 0, "a.0"), event("kernel", 1, "a")]
    types = {module.module_path: module.module_type for _, module in modules_of_events(events)}
    assert types["a"] == "Class of a"


def test_framework_events_and_events_without_modules_count_for_none():
    kinds = ("operator_call", "other", "method", "load", "control", "delegate_phase")
    events = [event(kind, 0, "a") for kind in kinds]
    assert counted(*events, event("kernel", 0), event("kernel", 1, None)) == {}


def test_a_call_counts_for_modules_that_hold_all_its_nodes_else_events_inside_it():
    events = [
        event("delegate_op", 0, "a", name="in a"),
        event("delegate_op", 0, "b", name="in b"),
        event("delegate_call", 0, "a", "b", name="call"),
    ]
    assert counted(*events) == {
        "": (["call"], []),
        "a": (["in a"], ["in a"]),
        "b": (["in b"], ["in b"]),
    }


def test_a_call_counts_for_a_module_even_if_inner_events_have_its_nodes():
    events = [
        event("delegate_op", 0, "a", name="in a"),
        event("delegate_op", 0, "a.b", name="in b"),
        event("delegate_call", 0, "a", "a.b", name="call"),
    ]
    assert counted(*events) == {
        "": (["call"], []),
        "a": (["call"], ["in a"]),
        "a.b": (["in b"], ["in b"]),
    }


def test_a_call_counts_where_the_events_inside_it_cannot_be_placed():
    events = [event("delegate_op", 0, name="in"), event("delegate_call", 0, "a", "b", name="call")]
    assert counted(*events)["a"] == (["call"], ["call"])


def test_calls_of_other_instructions_are_told_apart():
    events = [
        event("delegate_op", 1, "a", name="in 1"),
        event("delegate_call", 0, "a", "b", name="call 0"),
        event("delegate_call", 1, "a", "b", name="call 1"),
    ]
    assert counted(*events)["a"] == (["call 0", "in 1"], ["call 0", "in 1"])


def test_equal_events_both_count():
    twins = [event("delegate_op", 0, "a", name="x") for _ in range(2)]
    assert counted(*twins)["a"] == (["x", "x"], ["x", "x"])


class CountedNodes(dict):
    """Nodes of an event that count how often they are looked through."""

    looks = 0

    def values(self):
        self.looks += 1
        return super().values()


def test_events_are_looked_through_a_few_times_however_many_modules_there_are():
    nodes = CountedNodes({f"n{i}": hierarchy(f"m.{i}") for i in range(500)})
    call = Event("call", "delegate_call", 0, [1], nodes)
    inner = [event("delegate_op", 0, f"m.{i}", name=f"in {i}") for i in range(500)]
    assert len(counted(call, *inner)) == 502
    assert nodes.looks < 20


PATHS = st.sampled_from([None, "", "a", "a.0", "a.0.b", "a.01", "b"])
EVENTS = st.builds(
    lambda kind, instruction, paths: event(kind, instruction, *paths),
    st.sampled_from(["kernel", "delegate_call", "delegate_op", "operator_call"]),
    st.sampled_from([None, 0, 1]),
    st.lists(PATHS, max_size=3),
)


@given(events=st.lists(EVENTS, max_size=8))
def test_modules_of_all_events_are_what_the_rule_says_of_each_module(events):
    events = [one._replace(name=str(i)) for i, one in enumerate(events)]
    modules = counted(*events)
    for path in ("", "a", "a.0", "a.0.b", "a.01", "b"):
        total, own = modules.get(path, ([], []))
        groups = list(groups_of_instruction(events))
        expected = [e.name for g in groups for e in counted_of_group(g, lies_in(path))]
        assert total == expected
        expected = [e.name for g in groups for e in counted_of_group(g, ends_in(path))]
        assert own == expected


def lies_in(module):
    def is_inside(nodes):
        paths = [path for path, _ in (nodes or {}).values()]
        return any(not module or f"{path}.".startswith(f"{module}.") for path in paths)

    return is_inside


def ends_in(module):
    return lambda nodes: [path for path, _ in (nodes or {}).values()][-1:] == [module]
