"""Which logged value of one run corresponds to which of another. Pure.

By debug handle, each handle has one result per run: what the last operator with that handle puts
out. Where both runs have the same operators for a handle, in the same order, all of them
correspond, not only the last. A delegate computes many handles, but logs only its inputs and then
its outputs, the results of some of them.

Where no debug handle is known, a call corresponds to the call of the same instruction and name, as
it is in two runs of one program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import NamedTuple

from ingest.debug_buffer import TensorValue


class Operator(NamedTuple):
    """One call of an operator, with what it logged.

    Attributes:
        name: Name of its event, e.g. native_call_addmm.out.
        instruction_id: Instruction; None if it did not run as one.
        delegate_id: Delegate id; None if it did not run inside a delegate.
        occurrence: Which of the calls of its instruction and delegate id in the run, from 0.
        debug_handles: Debug handles that it computes, in execution order; empty if unknown.
        op_types: Operators of the exported graph with these handles; empty if unknown.
        values: What it logged, in order; scalars have no dimension, lists are flat.
        results: Of a delegate, the debug handle of each output, None where it cannot be told; the
            outputs are the last of the values. None if all values are of the last debug handle.
    """

    name: str
    instruction_id: int | None
    delegate_id: int | str | None
    occurrence: int
    debug_handles: tuple[int, ...]
    op_types: tuple[str, ...]
    values: Sequence[TensorValue]
    results: Sequence[int | None] | None = None


@dataclass(frozen=True, eq=False)
class OperatorValue:
    """The value at an index among those of the operator at a position in its run."""

    position: int
    operator: Operator
    index: int

    @property
    def tensor(self) -> TensorValue:
        """The value itself."""
        return self.operator.values[self.index]


class Pair(NamedTuple):
    """Two values that correspond, or one without counterpart; `reason` then says why."""

    base: OperatorValue | None
    head: OperatorValue | None
    debug_handle: int | None = None
    reason: str | None = None


_Result = list[OperatorValue]  # of one operator
_Key = int | tuple[object, ...]  # a debug handle, or else a call
_Results = dict[_Key, list[_Result]]  # in execution order


def join_operators(
    base: Sequence[Operator], head: Sequence[Operator], *, is_by_handle: bool
) -> list[Pair]:
    """Pairs of all values of both runs, but for the inputs of delegates with debug handles.

    Args:
        base: Operators of a run, in execution order.
        head: Operators of the run to compare with it, in execution order.
        is_by_handle: Whether to join by debug handle where it is known; else by call alone.

    Returns:
        The pairs in the order of base; what only head has follows what precedes it there.
    """
    bases, heads = _results(base, is_by_handle), _results(head, is_by_handle)
    pairs: list[Pair] = []
    for key in bases | heads:
        ours, theirs = bases.get(key, []), heads.get(key, [])
        if ours and theirs:
            pairs += _join_results(key, ours, theirs)
        else:
            pairs += _only_base(ours, key, _absence(key, head, "head"))
            pairs += _only_head(theirs, key, _absence(key, base, "base"))
    return _ordered(pairs)


def _results(operators: Sequence[Operator], is_by_handle: bool) -> _Results:
    found: _Results = defaultdict(list)
    for position, operator in enumerate(operators):
        outputs = _outputs(position, operator, is_by_handle)
        for key, result in groupby(outputs, itemgetter(0)):
            found[key].append([value for _, value in result])
    return found


def _outputs(
    position: int, operator: Operator, is_by_handle: bool
) -> list[tuple[_Key, OperatorValue]]:
    """The outputs, each with the debug handle whose result it is, or else with its call."""
    values = [OperatorValue(position, operator, index) for index in range(len(operator.values))]
    handles = operator.debug_handles if is_by_handle else ()
    call: _Key = (*operator[:4], handles)
    if operator.results is None or not is_by_handle:
        return [(handles[-1] if handles else call, value) for value in values]
    known = [call if handle is None else handle for handle in operator.results]
    return list(zip(reversed(known), reversed(values), strict=False))[::-1]


def _join_results(key: _Key, base: list[_Result], head: list[_Result]) -> Iterator[Pair]:
    if _names(base) != _names(head):
        reason = f"an earlier step of debug handle {key}"
        yield from _only_base(base[:-1], key, reason)
        yield from _only_head(head[:-1], key, reason)
        base, head = base[-1:], head[-1:]
    for ours, theirs in zip(base, head, strict=True):
        yield from (pair._replace(debug_handle=_handle(key)) for pair in _match(ours, theirs))


def _names(results: Iterable[_Result]) -> list[str]:
    return [result[0].operator.name for result in results]


def _match(base: _Result, head: _Result) -> Iterator[Pair]:
    """Pairs in order if both sides have as many; else each of the fewer with its likest."""
    if len(base) > len(head):
        yield from (Pair(b, a, h, reason) for a, b, h, reason in _match(head, base))
        return
    left = list(head)
    is_even = len(base) == len(head)
    for value in base:
        likest = left[0] if is_even else max(left, key=_likeness(value.tensor))
        left.remove(likest)
        yield Pair(value, likest)
    reason = f"{base[0].operator.name} has no such output"
    yield from (Pair(None, value, None, reason) for value in left)


def _likeness(tensor: TensorValue) -> Callable[[OperatorValue], tuple[bool, bool]]:
    return lambda other: (other.tensor.shape == tensor.shape, other.tensor.dtype == tensor.dtype)


def _absence(key: _Key, other: Sequence[Operator], name: str) -> str:
    """Why the other run has no value for a debug handle or call."""
    if not isinstance(key, int):
        return f"{name}: no such call"
    for operator in other:
        if key in operator.debug_handles:
            return f"{name}: inside {operator.name}, instruction {operator.instruction_id}"
    return f"{name}: nothing logged for debug handle {key}"


def _only_base(results: Iterable[_Result], key: _Key, reason: str) -> Iterator[Pair]:
    values = chain.from_iterable(results)
    return (Pair(value, None, _handle(key), reason) for value in values)


def _only_head(results: Iterable[_Result], key: _Key, reason: str) -> Iterator[Pair]:
    values = chain.from_iterable(results)
    return (Pair(None, value, _handle(key), reason) for value in values)


def _handle(key: _Key) -> int | None:
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
