"""The time of a method in both builds as a tree: modules, delegate calls, operators. Pure.

The leaves are the parts of the method's change, with the numbers that its alert has. As in a flame
graph of one run (`queries.timeline.page`), an operator is below the modules that contain all of
its nodes, or, without modules, below the delegate call around it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tracehouse.queries.explain.content import FrameKind, TimeFrame
from tracehouse.queries.explain.operators import SIDES, Operator, OperatorKey, RunOperators, Sides
from tracehouse.queries.explain.origins import RunOrigins
from tracehouse.queries.report.parts import Breakdown, ChangePart
from tracehouse.queries.report.tables import part_names

Origins = Mapping[str, RunOrigins]  # by side

_Step = tuple[FrameKind, str]


@dataclass
class _Node:
    """A frame while its parts are added: its leaves, and the modules and calls in it."""

    leaves: list[TimeFrame] = field(default_factory=list)
    parts: dict[_Step, _Node] = field(default_factory=dict)


def method_frame(
    breakdown: Breakdown, sides: Sides, origins: Origins, members: Collection[OperatorKey]
) -> TimeFrame:
    """A method as a frame.

    Origins are what operators are in the programs, and members those that an alert names.
    """
    root, classes = _Node(), _Classes()
    for part, name in zip(breakdown.parts, part_names(breakdown.parts), strict=True):
        node, key = root, _key(part)
        if key is not None:
            classes.add(key, origins)
            for step in _around(key, sides, origins):
                node = node.parts.setdefault(step, _Node())
        node.leaves.append(
            TimeFrame(
                name=name,
                kind="rest" if key is None else "operator",
                base=part.base_ns,
                head=part.head_ns,
                change=part.cost_ns,
                is_member=key in members,
                parts=[],
            )
        )
    return TimeFrame(
        name=breakdown.run,
        kind="run",
        base=breakdown.base_ns,
        head=breakdown.head_ns,
        change=breakdown.cost_ns,
        is_member=False,
        parts=_frames(root, classes),
    )


class _Classes:
    """The classes of modules in base and head."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, str]] = defaultdict(dict)

    def add(self, key: OperatorKey, origins: Origins) -> None:
        for side, own in origins.items():
            for path, type_ in own.modules(key):
                self._found[path][side] = type_.rpartition(".")[2]

    def name(self, step: _Step) -> str:
        """The name of a module with its class, of which there may be two; or of a call."""
        found = self._found[step[1]] if step[0] == "module" else {}
        types = " → ".join(dict.fromkeys(found[side] for side in SIDES if found.get(side)))
        return f"{step[1]} ({types})" if types else step[1]


def _key(part: ChangePart) -> OperatorKey | None:
    if part.event_name is None or part.ordinal is None:
        return None
    return OperatorKey(part.event_name, part.delegate_id, part.ordinal)


def _around(key: OperatorKey, sides: Sides, origins: Origins) -> tuple[_Step, ...]:
    """Modules and the call around an operator, where it is since the change, else where it was."""
    for side in reversed(SIDES):
        if key in sides.get(side, {}):
            return _around_in(key, sides[side], origins.get(side))
    return ()


def _around_in(
    key: OperatorKey, run: RunOperators, origins: RunOrigins | None
) -> tuple[_Step, ...]:
    modules = origins.modules(key) if origins else ()
    own, call = run[key], None
    if not modules and own.kind == "delegate_op":
        same = (name for name, one in run.items() if _is_call_of(one, own))
        call = next(same, None)
    if call is None:
        return tuple(("module", path) for path, _ in modules if path)
    backend = origins.backend(call) if origins else None
    name = f"{backend} call #{call.ordinal}" if backend else str(call)
    return (*_around_in(call, run, origins), ("call", name))


def _is_call_of(one: Operator, inside: Operator) -> bool:
    return one.kind == "delegate_call" and one.instruction_id == inside.instruction_id


def _frames(node: _Node, classes: _Classes) -> list[TimeFrame]:
    """What a frame consists of, longest first."""
    found = [*node.leaves]
    for step, own in node.parts.items():
        parts = _frames(own, classes)
        found.append(
            TimeFrame(
                name=classes.name(step),
                kind=step[0],
                base=_sum(part.base for part in parts),
                head=_sum(part.head for part in parts),
                change=sum(part.change for part in parts),
                is_member=False,
                parts=parts,
            )
        )
    return sorted(found, key=lambda part: (-part.longest, part.name))


def _sum(times: Iterable[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return sum(known) if known else None
