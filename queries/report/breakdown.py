"""What the change of a method consists of: parts that add up to it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field

from tracehouse.queries.report.parts import ModelPart, Part
from tracehouse.warehouse.alignment.alignment import Guess
from tracehouse.warehouse.alignment.programs import CALL, DELEGATED, KERNEL

Kind = Literal[
    "operator",
    "new operator",
    "removed operator",
    "like operators",
    "delegate call",
    "delegates' own",
    "framework",
    "irregular runs",
]
PLACE = ("device", "model", "backend", "run")  # of a method
OPERATOR = ("event_name", "delegate_id", "ordinal")  # of its runs
_WORK = (KERNEL, DELEGATED, CALL)


class ChangePart(Part):
    """A part of a method's change; a nanosecond is in one part."""

    kind: Kind = Field(
        description="Of like operators, which of them is new or removed cannot be told: they are "
        "one part."
    )
    event_name: str | None = Field(
        description="Null unless it is an operator or delegate call; of like operators the first."
    )
    delegate_id: str | None
    ordinal: int | None
    base_count: int | None = Field(
        default=None, description="How many the base has of like operators; null for other parts."
    )
    head_count: int | None = Field(default=None, description="How many the head has.")
    base_ns: float | None = Field(description="Median over dumps; null where there is none.")
    head_ns: float | None
    cost_ns: float = Field(description="Part of the method's change per run.")


class Breakdown(ModelPart):
    """The change of a method on a device, and the parts that add up to it."""

    run: str = Field(description="Name of the runs, stable across builds: 'Execute #2'.")
    base_ns: float
    head_ns: float
    cost_ns: float
    parts: list[ChangePart] = Field(
        description="Operators by cost, then what delegate calls spend outside of their operators, "
        "the framework, and irregular runs: interruptions that no operator typically has."
    )


class Work(NamedTuple):
    """A kernel, delegated operator or delegate call of a method, with its typical times.

    Attributes:
        keys: Its event_name, delegate_id and ordinal.
        base_ns: Its time in the base; None if the base lacks it.
        head_ns: Its time in the head; None if the head lacks it.
        kinds: Its kind in the base and in the head; a kernel may have been delegated.
    """

    keys: Mapping[str, Any]
    base_ns: float | None
    head_ns: float | None
    kinds: tuple[str, str]

    @property
    def key(self) -> tuple[object, ...]:
        """The name of the operator in its runs."""
        return tuple(self.keys[name] for name in OPERATOR)

    @property
    def cost_ns(self) -> float:
        """What it adds to the method's change."""
        return self.time(1) - self.time(0)

    def time(self, side: int) -> float:
        """Its time in the base (0) or the head (1); 0 in a build that lacks it."""
        return (self.base_ns, self.head_ns)[side] or 0.0


def break_down(
    place: Mapping[str, Any],
    method: tuple[float, float],
    works: Iterable[Work],
    framework: tuple[float, float] | None,
    guesses: Iterable[Guess] = (),
) -> Breakdown:
    """The parts of a method's change.

    Args:
        place: device, model, backend and run of the method.
        method: Its times in base and head.
        works: All its kernels, delegated operators and delegate calls.
        framework: Typical time of base and head outside of kernels and delegate calls; None if
            unknown.
        guesses: Like operators of which one is new or removed, but which is a guess.
    """
    works = [work for work in works if work.kinds[1] in _WORK]
    parts = sorted(_list_parts(works, guesses), key=lambda part: -abs(part.cost_ns))
    parts += _delegates_own(works)
    if framework is not None:
        base, head = framework
        parts.append(_part("framework", base_ns=base, head_ns=head, cost_ns=head - base))
    cost = method[1] - method[0]
    rest = cost - sum(part.cost_ns for part in parts)
    parts.append(_part("irregular runs", cost_ns=rest))
    own = {name: place[name] for name in PLACE}
    return Breakdown(**own, base_ns=method[0], head_ns=method[1], cost_ns=cost, parts=parts)


def order_breakdowns(found: Iterable[Breakdown]) -> list[Breakdown]:
    """Breakdowns by cost, the largest first."""
    return sorted(found, key=lambda one: (-abs(one.cost_ns), one.where, one.run))


def _list_parts(works: Sequence[Work], guesses: Iterable[Guess]) -> Iterable[ChangePart]:
    """The operators; like ones are one part if which of them is new or removed is a guess."""
    is_inside_known = any(DELEGATED in work.kinds for work in works)
    operators = [work for work in works if not (is_inside_known and CALL in work.kinds)]
    for guess in guesses:
        keys = list(dict.fromkeys([*guess.head, *guess.base]))
        own = [work for work in operators if work.key in keys]
        operators = [work for work in operators if work.key not in keys]
        yield _like_operators(sorted(own, key=lambda work: keys.index(work.key)))
    for work in operators:
        kind: Kind = "delegate call" if CALL in work.kinds else "operator"
        if kind == "operator" and work.base_ns is None:
            kind = "new operator"
        elif kind == "operator" and work.head_ns is None:
            kind = "removed operator"
        yield ChangePart(
            kind=kind,
            **{name: work.keys[name] for name in OPERATOR},
            base_ns=work.base_ns,
            head_ns=work.head_ns,
            cost_ns=work.cost_ns,
        )


def _like_operators(works: Sequence[Work]) -> ChangePart:
    base, head = (
        [time for work in works if (time := getattr(work, side)) is not None]
        for side in ("base_ns", "head_ns")
    )
    return ChangePart(
        kind="like operators",
        **{name: works[0].keys[name] for name in OPERATOR},
        base_count=len(base),
        head_count=len(head),
        base_ns=sum(base),
        head_ns=sum(head),
        cost_ns=sum(work.cost_ns for work in works),
    )


def _delegates_own(works: Sequence[Work]) -> list[ChangePart]:
    """The time of delegate calls outside of their operators, if these are known."""
    kinds = {kind for work in works for kind in work.kinds}
    if not {CALL, DELEGATED} <= kinds:
        return []
    base, head = (
        sum(work.time(side) for work in works if work.kinds[side] == CALL)
        - sum(work.time(side) for work in works if work.kinds[side] == DELEGATED)
        for side in (0, 1)
    )
    return [_part("delegates' own", base_ns=base, head_ns=head, cost_ns=head - base)]


def _part(
    kind: Kind, *, cost_ns: float, base_ns: float | None = None, head_ns: float | None = None
) -> ChangePart:
    return ChangePart(
        kind=kind,
        event_name=None,
        delegate_id=None,
        ordinal=None,
        base_ns=base_ns,
        head_ns=head_ns,
        cost_ns=cost_ns,
    )
