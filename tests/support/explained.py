"""Parts of explanations made by hand."""

from __future__ import annotations

from typing import Any

from tests.support.reports import group
from tracehouse.queries.explain.content import (
    Explanation,
    Place,
    ProgramChange,
    Programs,
    RunTimes,
    TimeFrame,
)
from tracehouse.queries.explain.operators import EventKey, Operator, OperatorKey, RunOperators
from tracehouse.queries.explain.stored_programs import Node, Program
from tracehouse.queries.report.parts import break_down

PLACE = Place(device="phone", pool=None, model="net", backend="xnnpack", base="b1", head="b2")


def frame(
    name: str, base: float | None, head: float | None, *parts: TimeFrame, **changes: Any
) -> TimeFrame:
    """A frame; one with parts is a module, one without an operator."""
    fields = {
        "kind": "module" if parts else "operator",
        "is_member": False,
        "change": (head or 0.0) - (base or 0.0),
    }
    return TimeFrame(name=name, base=base, head=head, parts=list(parts), **fields | changes)


def run_times(*parts: TimeFrame, base: float = 1000.0, head: float = 1500.0) -> RunTimes:
    """A run that took 1 us and takes 1.5 us, with these parts."""
    whole = frame("Execute", base, head, *parts, kind="run")
    own = {"device": PLACE.device, "model": PLACE.model, "backend": PLACE.backend, "run": "Execute"}
    method = break_down(own, (base, head), [], None)
    return RunTimes(place=PLACE, breakdown=method, frame=whole)


def programs(*changes: ProgramChange, **others: Any) -> Programs:
    """Programs that differ in these changes."""
    known = {"base_etrecord": "a" * 64, "head_etrecord": "b" * 64, "missing": [], "operators": []}
    return Programs(place=PLACE, changes=list(changes), **known | others)


def explanation(**changes: Any) -> Explanation:
    """An explanation with one run and one difference."""
    fields: dict[str, Any] = {
        "as_of": "b3",
        "group": group(first_bad="b2", last_good="b1"),
        "findings": ["The programs differ."],
        "place_count": 1,
        "times": [run_times(frame("conv", 900.0, 1400.0, is_member=True))],
        "programs": [
            programs(
                ProgramChange(
                    change="changed",
                    part="operator",
                    name="layer: aten.mm.default",
                    base="(float32[2]) → float32[2] in a kernel",
                    head="(float32[3]) → float32[3] in a kernel",
                )
            )
        ],
        "facts": [],
        "divergences": [],
        "commands": ["tracehouse compare b1 b2"],
    }
    return Explanation(**fields | changes)


def key(name: str, ordinal: int = 1, delegate_id: str | None = None) -> OperatorKey:
    """An operator's key."""
    return OperatorKey(name, delegate_id, ordinal)


def operator(kind: str, instruction: int | None, number: int = 0) -> Operator:
    """An operator, whose name `run_of` adds; `number` is that of its event."""
    return Operator(kind, "", instruction, EventKey(1, 1, number))


def run_of(**operators: Operator) -> RunOperators:
    """A run of these operators; ``__`` in a name stands for a dot."""
    named = {name.replace("__", "."): one for name, one in operators.items()}
    return {key(name): one._replace(name=name) for name, one in named.items()}


def node(number: int, target: str, *handles: int, **changes: Any) -> Node:
    """A call of a program."""
    found = Node(("", number), target, f"{target}(float32[2]) → float32[2]", handles, (), None, "")
    return found._replace(**changes)


def program(*nodes: Node, calls: dict[int, tuple[set[int], str | None]], **changes: Any) -> Program:
    """A program with one method; `calls` has the handles and backend of each instruction."""
    own = {("forward", number): (frozenset(of), name) for number, (of, name) in calls.items()}
    return Program("a" * 64, {"forward": nodes}, {}, own, {})._replace(**changes)
