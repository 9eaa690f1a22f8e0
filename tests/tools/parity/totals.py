"""Time spent in a module: right, and as the Inspector sums it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tests.tools.parity.bugs import Bug
from tests.tools.parity.durations import is_possible
from tests.tools.parity.grouping import Block, Json, Member, Signature

_ROOT = "L__self__"  # the key of the whole program, and the start of all others
_CALLS = ("DELEGATE_CALL", "delegate_execute")

Timed = tuple[Signature, Json]
IsInside = Callable[[Json | None], bool]


def module_total(
    blocks: Sequence[Block], answer: Sequence[Json], module: str, bugs: frozenset[Bug]
) -> float:
    """The time of a module, summed over all blocks of an answer.

    An event counts if it runs a node of the module, in full. Rightly, a module is named by its key
    or its path, together with all modules below it, and of the call of a delegate and the events
    inside it only the one or the others count. Keys with one path, as those of repeated calls have,
    are different modules.
    """
    total, is_inside = 0.0, _named(answer, module, bugs)
    for block, answered in zip(blocks, answer, strict=True):
        pairs = zip(block.events, answered["events"], strict=True)
        timed = [(signature, event) for signature, event in pairs if event["avg"] is not None]
        if Bug.I6 in bugs:
            named = (event for signature, event in timed if signature.name != "OPERATOR_CALL")
            total += sum(event["avg"] for event in named if _touches(event, is_inside))
        else:
            total += sum(
                sum(event["raw"]) / _run_count(block.events[signature])
                for signature, event in _counted(timed, is_inside)
            )
    return total


def _named(answer: Sequence[Json], module: str, bugs: frozenset[Bug]) -> IsInside:
    """Whether a node, by the modules that it is in, is in the one named."""
    if Bug.I6 in bugs:
        return lambda hierarchy: any(module in key for key in hierarchy or {})
    hierarchies = (
        hierarchy or {}
        for block in answer
        for event in block["events"]
        for hierarchy in event["module_hierarchy"].values()
    )
    if any(module in hierarchy for hierarchy in hierarchies):
        return lambda hierarchy: module in (hierarchy or {})
    wanted = re.sub(f"^({_ROOT})+", "", module)

    def is_inside(hierarchy: Json | None) -> bool:
        paths = [path for path, *_ in (hierarchy or {}).values()]
        return any(not wanted or f"{path}.".startswith(f"{wanted}.") for path in paths)

    return is_inside


def _run_count(runs: Sequence[Sequence[Member]]) -> int:
    """Runs in which the event has a duration."""
    profiles = [[member.profile for member in members] for members in runs]
    return sum(any(one and is_possible(one) for one in several) for several in profiles)


def _counted(timed: Sequence[Timed], is_inside: IsInside) -> Iterator[Timed]:
    calls: dict[int, list[Timed]] = defaultdict(list)
    inner: dict[int, list[Timed]] = defaultdict(list)
    for signature, event in timed:
        name = signature.profile_name or ""
        if signature.delegate_id is not None:
            inner[signature.instruction_id].append((signature, event))
        elif name in _CALLS:
            calls[signature.instruction_id].append((signature, event))
        elif name.startswith("native_call_") and _touches(event, is_inside):
            yield signature, event
    for instruction in dict.fromkeys([*calls, *inner]):
        one_of = _one_of(calls[instruction], inner[instruction], is_inside)
        yield from (pair for pair in one_of if _touches(pair[1], is_inside))


def _one_of(calls: list[Timed], inner: list[Timed], is_inside: IsInside) -> list[Timed]:
    """The call, if it is all in the module or nothing is known of the events inside; else those."""
    nodes = [node for _, call in calls for node in call["module_hierarchy"].values()]
    is_all = bool(nodes) and all(map(is_inside, nodes))
    is_known = any(event["debug_handles"] is not None for _, event in inner)
    return inner if is_known and not is_all else calls or inner


def _touches(event: Json, is_inside: IsInside) -> bool:
    return any(map(is_inside, event["module_hierarchy"].values()))
