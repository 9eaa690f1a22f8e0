"""Pairs the logged values of two runs. Pure.

With debug handles, the values of a handle in both runs (`run_values`) are a pair; if one of them is
hidden in a delegate, there is no pair. Where both runs have the same operators for a handle, in the
same order, all of their results are paired, not only the last.

Without debug handles, calls of the same instruction and name are paired, which works for two runs
of one program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.run_values import (
    Key,
    Operator,
    OperatorValue,
    Result,
    RunValues,
)
from tracehouse.queries.numeric_gap.shapes import is_same_order

__all__ = ["Operator", "OperatorValue", "Pair", "join_operators"]

_NONE: Mapping[int, int] = MappingProxyType({})


class Pair(NamedTuple):
    """Two corresponding values, or one without a counterpart; `reason` then says why.

    Attributes:
        base: Value of the reference run.
        head: Value of the run compared with it.
        debug_handle: Debug handle of the values; None if unknown.
        reason: Why one of the values is missing.
        is_view: Whether one is a view of the other, so that their shapes may differ.
    """

    base: OperatorValue | None
    head: OperatorValue | None
    debug_handle: int | None = None
    reason: str | None = None
    is_view: bool = False


def join_operators(
    base: Sequence[Operator],
    head: Sequence[Operator],
    *,
    is_by_handle: bool,
    views: tuple[Mapping[int, int], Mapping[int, int]] = (_NONE, _NONE),
) -> list[Pair]:
    """Pairs of all values of both runs, except the inputs of delegates with debug handles.

    Args:
        base: Operators of a run, in execution order.
        head: Operators of the run to compare with it, in execution order.
        is_by_handle: Join by debug handle where it is known, not by call only.
        views: For each run's program, the handles that only reshape the value of another.

    Returns:
        The pairs in the order of base; values only in head follow the value before them in head.
    """
    ours = RunValues(base, is_by_handle=is_by_handle)
    theirs = RunValues(head, is_by_handle=is_by_handle)
    ours.move_views(views[0], theirs)
    theirs.move_views(views[1], ours)
    return _ordered(
        [pair for key in ours.results | theirs.results for pair in _join(key, ours, theirs)]
    )


def _join(key: Key, ours: RunValues, theirs: RunValues) -> Iterator[Pair]:
    base, head = ours.results.get(key, []), theirs.results.get(key, [])
    if not (base and head):
        yield from _only_base(base, key, _absence(key, theirs, "head"))
        yield from _only_head(head, key, _absence(key, ours, "base"))
        return
    if isinstance(key, int) and ours.steps(key) != theirs.steps(key):
        earlier = f"an earlier step of debug handle {key}"
        hiders = ours.hiding_operator(key), theirs.hiding_operator(key)
        if any(hiders):
            yield from _only_base(
                base[-1:], key, earlier if hiders[0] else _absence(key, theirs, "head")
            )
            yield from _only_head(
                head[-1:], key, earlier if hiders[1] else _absence(key, ours, "base")
            )
        yield from _only_base(base[:-1], key, earlier)
        yield from _only_head(head[:-1], key, earlier)
        base, head = ([], []) if any(hiders) else (base[-1:], head[-1:])
    is_view = key in ours.viewed | theirs.viewed
    for one, other in zip(base, head, strict=True):
        for pair in _match(one, other):
            yield pair._replace(debug_handle=_handle(key), is_view=is_view)


def _match(base: Result, head: Result) -> Iterator[Pair]:
    """Pairs in order if the counts are equal; otherwise each of the fewer with its most similar."""
    if len(base) > len(head):
        yield from (pair._replace(base=pair.head, head=pair.base) for pair in _match(head, base))
        return
    left = list(head)
    for value in base:
        likest = left[0] if len(base) == len(head) else _likest(value.tensor, left)
        if likest is None:
            yield Pair(value, None, reason=f"{head[0].operator.name} has no such output")
        else:
            left.remove(likest)
            yield Pair(value, likest)
    reason = f"{base[0].operator.name} has no such output"
    yield from (Pair(None, value, None, reason) for value in left)


def _likest(tensor: TensorValue, others: Sequence[OperatorValue]) -> OperatorValue | None:
    """The first comparable value, preferably of the same shape and type."""

    def likeness(other: OperatorValue) -> tuple[bool, bool]:
        return other.tensor.shape == tensor.shape, other.tensor.dtype == tensor.dtype

    found = [other for other in others if is_same_order(other.tensor.shape, tensor.shape)]
    return max(found, key=likeness, default=None)


def _absence(key: Key, other: RunValues, name: str) -> str:
    """The reason that the other run has no value for a debug handle or call."""
    if not isinstance(key, int):
        return f"{name}: no such call"
    operator = other.hiding_operator(key)
    if operator is None:
        return f"{name}: nothing logged for debug handle {key}"
    place = f"{operator.name}, instruction {operator.instruction_id}"
    return f"{name}: inside {place}" if operator.values else f"{name}: not logged by {place}"


def _only_base(results: Sequence[Result], key: Key, reason: str) -> Iterator[Pair]:
    values = chain.from_iterable(results)
    return (Pair(value, None, _handle(key), reason) for value in values)


def _only_head(results: Sequence[Result], key: Key, reason: str) -> Iterator[Pair]:
    values = chain.from_iterable(results)
    return (Pair(None, value, _handle(key), reason) for value in values)


def _handle(key: Key) -> int | None:
    return key if isinstance(key, int) else None


def _ordered(pairs: Sequence[Pair]) -> list[Pair]:
    paired = sorted(
        (pair.head.position, pair.base.position) for pair in pairs if pair.base and pair.head
    )

    def place(pair: Pair) -> tuple[int, ...]:
        if pair.base:
            return pair.base.position, 0, pair.base.index
        if not pair.head:
            return ()
        before = bisect_left(paired, (pair.head.position + 1,))
        anchor = paired[before - 1][1] if before else -1
        return anchor, 1, pair.head.position, pair.head.index

    return sorted(pairs, key=place)
