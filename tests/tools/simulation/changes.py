"""Changes of code in a farm: their effect on a program, and what a comparison should find.

Pure. There is at most one change per pair of consecutive builds, so that each can be found alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import cycle
from typing import Any, TypeVar

import numpy as np

from tests.tools.simulation.programs import OperatorKey, TemplateEvent, TemplateProgram

_LEAST_NS = 30_000.0  # of an operator whose speed changes, to be visible on coarse clocks
_LEAST_CHANGE = 0.001  # of an operator that is listed as affected


T = TypeVar("T")


class ChangeKind(StrEnum):
    """Kinds of changes."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    MOVE_OUT = "delegate_move_out"
    REPAIR = "repair"
    POOL_REGRESSION = "pool_regression"
    MOVE_IN = "delegate_move_in"


_RATIOS = {
    ChangeKind.REGRESSION: (1.08, 1.35),
    ChangeKind.POOL_REGRESSION: (1.1, 1.4),
    ChangeKind.IMPROVEMENT: (0.7, 0.9),
    ChangeKind.MOVE_OUT: (3.0, 6.0),
    ChangeKind.MOVE_IN: (0.2, 0.4),
}


@dataclass(frozen=True)
class Change:
    """A change of one operator.

    Attributes:
        build: Position of the first build with the change.
        family: Position of the changed program.
        origin: Origin of the operator.
        ratio: Time of the operator afterwards, relative to before.
        pool: The only affected device pool; None for all.
    """

    kind: ChangeKind
    build: int
    family: int
    origin: int
    ratio: float
    pool: str | None = None

    def apply(self, program: TemplateProgram) -> TemplateProgram:
        """The program with the change."""
        match self.kind:
            case ChangeKind.MOVE_OUT:
                return program.move_out(self.origin, self.ratio)
            case ChangeKind.MOVE_IN:
                return program.move_in(self.origin, self.ratio)
            case _:
                return program.change_speed(self.origin, self.ratio)


def change_program(program: TemplateProgram, changes: Sequence[Change]) -> TemplateProgram:
    """The program with all changes applied in order."""
    for change in changes:
        program = change.apply(program)
    return program


def plan_changes(
    programs: Sequence[TemplateProgram],
    build_count: int,
    pools: Sequence[str],
    rng: np.random.Generator,
) -> list[Change]:
    """Changes of all kinds in turn, in order of builds, each in another operator.

    A repair undoes the latest regression.
    """
    count = min(build_count - 1, max(len(ChangeKind), build_count // 3))
    builds = sorted((rng.permutation(build_count - 1)[:count] + 1).tolist())
    changes: list[Change] = []
    for build, kind in zip(builds, cycle(ChangeKind), strict=False):
        if kind is ChangeKind.REPAIR:
            changes += _plan_repair(changes, build)
            continue
        found = _find_options(programs, changes, kind)
        if found:
            family, origin = _choose(_choose(found, rng), rng)
            ratio = round(rng.uniform(*_RATIOS[kind]), 3)
            pool = _choose(pools, rng) if kind is ChangeKind.POOL_REGRESSION else None
            changes.append(Change(kind, build, family, origin, ratio, pool))
    return changes


def _find_options(
    programs: Sequence[TemplateProgram], changes: Sequence[Change], kind: ChangeKind
) -> list[list[tuple[int, int]]]:
    """Unchanged operators that such a change may affect, for each family with such operators."""
    used = {(change.family, change.origin) for change in changes}
    options = []
    for family, program in enumerate(programs):
        own = [change for change in changes if change.family == family]
        origins = _options(change_program(program, own), kind)
        options.append([(family, origin) for origin in origins if (family, origin) not in used])
    return [some for some in options if some]


def _plan_repair(changes: Sequence[Change], build: int) -> Iterator[Change]:
    repaired = {
        (change.family, change.origin) for change in changes if change.kind is ChangeKind.REPAIR
    }
    for change in reversed(changes):
        is_repaired = (change.family, change.origin) in repaired
        if change.kind is ChangeKind.REGRESSION and not is_repaired:
            yield replace(change, kind=ChangeKind.REPAIR, build=build, ratio=1 / change.ratio)
            return


def _choose(options: Sequence[T], rng: np.random.Generator) -> T:
    return options[int(rng.integers(len(options)))]


def describe_effect(
    before: TemplateProgram, after: TemplateProgram, change: Change
) -> dict[str, Any]:
    """The expected result of a comparison of builds for a change.

    The operator itself before and after, its relative time, and affected operators: those that
    contain it, and those now counted under another operator's name and ordinal. The ratios of
    affected operators are those of the template; on a device they depend on its mix of speeds.
    """
    base, head = before.key_operators(), after.key_operators()
    old, new = (_find(keyed, change.origin) for keyed in (base, head))
    ratios = {
        key: head[key].total_ns / base[key].total_ns
        for key in head
        if key in base and base[key].total_ns > 0 and (old != new or key != new)
    }
    return {
        "operator": old._asdict(),
        "operator_in_head": new._asdict(),
        "ratio": change.ratio,
        "follows": [
            {**key._asdict(), "ratio": round(ratio, 4)}
            for key, ratio in ratios.items()
            if abs(ratio - 1) > _LEAST_CHANGE
        ],
        "removed": [key._asdict() for key in base if key not in head],
        "appeared": [key._asdict() for key in head if key not in base],
    }


def _find(keyed: dict[OperatorKey, TemplateEvent], origin: int) -> OperatorKey:
    return next(key for key, event in keyed.items() if event.origin == origin and not event.parts)


def _options(program: TemplateProgram, kind: ChangeKind) -> list[int]:
    """Origins of the operators that such a change may affect."""
    match kind:
        case ChangeKind.MOVE_OUT:
            return program.list_last_delegated()
        case ChangeKind.MOVE_IN:
            return program.list_after_delegate()
        case _:
            return [
                part.origin
                for call in program.execute.parts
                for part in call.parts
                if part.own_ns >= _LEAST_NS
            ]
