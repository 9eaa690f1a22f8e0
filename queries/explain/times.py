"""The time of a run in both builds as a tree: modules, delegate calls, operators. Pure.

As in a flame graph of one run (`queries.timeline.stacks`), an event is below the modules that
contain all of its nodes, or, without modules, below the event around it. Times are medians, so the
parts of a run add up to its length except for noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from queries.explain.content import FrameKind, TimeFrame
from queries.explain.operators import SIDES, Operator, OperatorKey, RunOperators, Sides
from queries.explain.origins import RunOrigins

Origins = Mapping[str, RunOrigins]  # by side

_Step = tuple[FrameKind, str, str]  # kind and name, and the class of a module


@dataclass
class _Node:
    """A frame while its parts are added up: its own time, and its module's class, by side."""

    own: dict[str, float] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    is_member: bool = False
    parts: dict[tuple[FrameKind, str], _Node] = field(default_factory=dict)


def run_frame(
    run: str, sides: Sides, origins: Origins, members: Collection[OperatorKey]
) -> TimeFrame:
    """The whole run as a frame.

    Origins are what operators are in the programs, and members those that an alert names.
    """
    root = _Node()
    for side, operators in sides.items():
        for path, key, own in _placed(operators, origins.get(side)):
            node = root
            node.own.setdefault(side, 0.0)
            for kind, name, type_ in path:
                node = node.parts.setdefault((kind, name), _Node())
                node.own.setdefault(side, 0.0)
                node.types[side] = type_
            node.own[side] += own
            node.is_member |= key in members
    return _frame("run", run, root)


def _placed(
    run: RunOperators, origins: RunOrigins | None
) -> Iterator[tuple[tuple[_Step, ...], OperatorKey, float]]:
    """The path of each operator below the run, and its time without operators inside it."""
    method = run.method
    unit = "ns" if method is None else method.unit
    timed = {
        key: one for key, one in run.operators.items() if one.value is not None and one.unit == unit
    }
    calls = {one.instruction_id: key for key, one in timed.items() if one.kind == "delegate_call"}
    inside = {
        key: calls[one.instruction_id]
        for key, one in timed.items()
        if one.kind == "delegate_op" and one.instruction_id in calls
    }
    own = _own_times(timed, inside)
    for key, one in timed.items():
        if one.kind == "method":
            yield (), key, own[key]
        else:
            yield _path(key, timed, inside, origins), key, own[key]


def _own_times(
    timed: Mapping[OperatorKey, Operator], inside: Mapping[OperatorKey, OperatorKey]
) -> dict[OperatorKey, float]:
    own = {key: one.value or 0.0 for key, one in timed.items()}
    method = next((key for key, one in timed.items() if one.kind == "method"), None)
    for key, one in timed.items():
        around = method if one.kind in ("kernel", "delegate_call") else inside.get(key)
        if around is not None:
            own[around] -= one.value or 0.0
    return {key: max(0.0, value) for key, value in own.items()}


def _path(
    key: OperatorKey,
    timed: Mapping[OperatorKey, Operator],
    inside: Mapping[OperatorKey, OperatorKey],
    origins: RunOrigins | None,
) -> tuple[_Step, ...]:
    is_call = timed[key].kind == "delegate_call"
    backend = origins.backend(key) if origins and is_call else None
    own: _Step = (
        "call" if is_call else "operator",
        f"{backend} call #{key.ordinal}" if backend else str(key),
        "",
    )
    around = origins.modules(key) if origins else ()
    if not around and key in inside:
        return (*_path(inside[key], timed, {}, origins), own)
    named = ((path, type_.rpartition(".")[2]) for path, type_ in around if path)
    return (*(("module", *module) for module in named), own)


def _frame(kind: FrameKind, name: str, node: _Node) -> TimeFrame:
    parts = _renumbered([_frame(*step, part) for step, part in node.parts.items()])
    totals = {
        side: own + sum(part.time(side) or 0.0 for part in parts) for side, own in node.own.items()
    }
    types = " → ".join(dict.fromkeys(node.types[side] for side in SIDES if node.types.get(side)))
    return TimeFrame(
        name=f"{name} ({types})" if types else name,
        kind=kind,
        base=totals.get("base"),
        head=totals.get("head"),
        is_member=node.is_member,
        parts=sorted(parts, key=lambda part: (-part.longest, part.name)),
    )


def _renumbered(parts: Sequence[TimeFrame]) -> list[TimeFrame]:
    """The parts, where an operator of either build alone is joined with one of equal name.

    Operators are numbered through the whole run, so one that is inserted renumbers later ones.
    """
    lost: dict[str, list[TimeFrame]] = defaultdict(list)
    for part in parts:
        if part.head is None and part.kind == "operator":
            lost[_unnumbered(part)].append(part)
    found = []
    for part in parts:
        is_operator, alone = part.kind == "operator", lost[_unnumbered(part)]
        if is_operator and part.base is None and alone:
            own = alone.pop(0)
            is_member = own.is_member or part.is_member
            name = f"{own.name} → {part.name}"
            part = part.model_copy(update={"name": name, "base": own.base, "is_member": is_member})
            found.append(part)
        elif part.head is not None or not is_operator:
            found.append(part)
    return [*found, *chain.from_iterable(lost.values())]


def _unnumbered(frame: TimeFrame) -> str:
    return frame.name.partition(" #")[0]
