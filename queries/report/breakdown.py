"""What the change of a method consists of: parts that add up to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

from pydantic import Field

from queries.report.parts import ModelPart, Part
from warehouse.catalogue.sql_files import read_statement
from warehouse.queryable import Queryable

Kind = Literal[
    "operator",
    "new operator",
    "removed operator",
    "delegate call",
    "delegates' own",
    "framework",
    "irregular runs",
]
PLACE = ("device", "model", "backend", "run")  # of a method
_WORK = ("kernel", "delegate_op", "delegate_call")


class ChangePart(Part):
    """A part of a method's change; a nanosecond is in one part."""

    kind: Kind
    event_name: str | None = Field(description="Null unless it is an operator or delegate call.")
    delegate_id: str | None
    ordinal: int | None
    base_ns: float | None = Field(description="Median over dumps; null where there is none.")
    head_ns: float | None
    cost_ns: float = Field(description="Part of the method's change per run.")
    note: str | None = Field(default=None, description="What is uncertain about it.")


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


class Framework:
    """Typical times outside of kernels and delegate calls, as a store has them."""

    def __init__(self, store: Queryable) -> None:
        self._store = store

    def times(
        self, place: Mapping[str, Any], sides: Sequence[Sequence[str]]
    ) -> tuple[float, float] | None:
        """The median over the builds of base and head; None if either is unknown."""
        params = {**place, "builds": [build for side in sides for build in side]}
        rows = self._store.sql(read_statement("framework_times"), params).to_pylist()
        times = {row["build"]: row["tax_ns"] for row in rows if row["tax_ns"] is not None}
        base, head = ([times[build] for build in side if build in times] for side in sides)
        return (median(base), median(head)) if base and head else None


class Work(NamedTuple):
    """A kernel, delegated operator or delegate call of a method, with its typical times.

    Attributes:
        keys: Its kind, event_name, delegate_id, ordinal and op_type.
        base_ns: Its time in the base; None if the base lacks it.
        head_ns: Its time in the head; None if the head lacks it.
    """

    keys: Mapping[str, Any]
    base_ns: float | None
    head_ns: float | None

    @property
    def cost_ns(self) -> float:
        """What it adds to the method's change."""
        return (self.head_ns or 0.0) - (self.base_ns or 0.0)


def break_down(
    place: Mapping[str, Any],
    method: tuple[float, float],
    works: Iterable[Work],
    framework: tuple[float, float] | None,
) -> Breakdown:
    """The parts of a method's change.

    Args:
        place: device, model, backend and run of the method.
        method: Its times in base and head.
        works: All its kernels, delegated operators and delegate calls.
        framework: Typical time of base and head outside of kernels and delegate calls; None if
            unknown.
    """
    works = [work for work in works if work.keys["kind"] in _WORK]
    parts = sorted(_list_parts(works), key=lambda part: -abs(part.cost_ns))
    parts += _delegates_own(works)
    if framework is not None:
        base, head = framework
        parts.append(_part("framework", base_ns=base, head_ns=head, cost_ns=head - base))
    cost = method[1] - method[0]
    rest = cost - sum(part.cost_ns for part in parts)
    parts.append(_part("irregular runs", cost_ns=rest))
    own = {name: place[name] for name in PLACE}
    return Breakdown(**own, base_ns=method[0], head_ns=method[1], cost_ns=cost, parts=parts)


def _list_parts(works: list[Work]) -> Iterable[ChangePart]:
    """The operators; and the delegate calls, if their operators are not known."""
    types = Counter(work.keys["op_type"] for work in works)
    is_inside_known = any(work.keys["kind"] == "delegate_op" for work in works)
    for work in works:
        is_call = work.keys["kind"] == "delegate_call"
        if is_call and is_inside_known:
            continue
        kind: Kind = "delegate call" if is_call else "operator"
        if not is_call and work.base_ns is None:
            kind = "new operator"
        elif not is_call and work.head_ns is None:
            kind = "removed operator"
        like, note = types[work.keys["op_type"]], None
        if kind in ("new operator", "removed operator") and like > 1:
            note = f"one of {like} alike: which one it is, their order and times tell"
        names = {name: work.keys[name] for name in ("event_name", "delegate_id", "ordinal")}
        yield ChangePart(
            kind=kind,
            **names,
            base_ns=work.base_ns,
            head_ns=work.head_ns,
            cost_ns=work.cost_ns,
            note=note,
        )


def _delegates_own(works: list[Work]) -> list[ChangePart]:
    """The time of delegate calls outside of their operators, if these are known."""
    calls = [work for work in works if work.keys["kind"] == "delegate_call"]
    inside = [work for work in works if work.keys["kind"] == "delegate_op"]
    if not (calls and inside):
        return []
    base, head = (
        sum(getattr(work, side) or 0.0 for work in calls)
        - sum(getattr(work, side) or 0.0 for work in inside)
        for side in ("base_ns", "head_ns")
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
