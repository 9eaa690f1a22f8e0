"""Compares the operators of two dumps numerically, value by value.

A dump can also be compared with a run of its exported program (`reference_run`). Anything that
yields `LoggedRun`s can be compared, and the runs can be changed first: dequantized, permuted,
filtered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.comparators import (
    COMPARATORS,
    DIFFERENT,
    WITHIN,
    Comparison,
    Distance,
    NumericalComparator,
    column,
    compare,
    comparison_columns,
    count_nan,
    find_comparators,
    metric_table,
    not_compared,
)
from tracehouse.queries.numeric_gap.divergence import TOLERANCE_DB, find_divergences, is_within
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun
from tracehouse.queries.numeric_gap.run_values import (
    Key,
    Operator,
    OperatorValue,
    Result,
    RunValues,
    differ_in_kind,
    is_same_order,
    reshape_like,
)
from tracehouse.warehouse.errors import QueryError

__all__ = ["Operator", "OperatorValue", "Pair", "join_operators"]

_NONE: Mapping[int, int] = MappingProxyType({})

_HANDLES = pa.list_(pa.int64())
_LEADING = [
    column("method", pa.string(), "Method that ran; null if unknown."),
    column("base_run_index", pa.int32(), "Run in the base dump; null for a run of the program."),
    column("head_run_index", pa.int32(), "Run in the head dump."),
    column("joined_by", pa.string(), "debug_handle or instruction; null without a counterpart."),
    column("debug_handle", pa.int64(), "Debug handle of the value; null if unknown."),
    column("base_event", pa.string(), "Event that logged the value in base; null if none did."),
    column("head_event", pa.string(), "Event that logged the value in head; null if none did."),
    column("base_instruction_id", pa.int32(), "Instruction of the base event."),
    column("head_instruction_id", pa.int32(), "Instruction of the head event."),
    column("base_debug_handles", _HANDLES, "All debug handles that the base event computes."),
    column("head_debug_handles", _HANDLES, "All debug handles that the head event computes."),
    column("op_types", pa.list_(pa.string()), "Operators of whichever event has fewer handles."),
    column("occurrence", pa.int32(), "Number of the call of its instruction in the run, from 0."),
    column("base_value_index", pa.int32(), "Position among the values that the base event logged."),
    column("head_value_index", pa.int32(), "Position among the values that the head event logged."),
    column("base_dtype", pa.string(), "Element type in base."),
    column("head_dtype", pa.string(), "Element type in head."),
    column("shape", pa.list_(pa.int64()), "Shape (in base, if they differ); null if unknown."),
    column("base_nan_count", pa.int64(), "NaN elements in base; null if its elements are missing."),
    column("head_nan_count", pa.int64(), "NaN elements in head; null if its elements are missing."),
]
_TRAILING = [
    column("divergence", pa.string(), "origin, inherited or suspect; null within the tolerance."),
    column(
        "input_debug_handles", _HANDLES, "Nearest compared values that the value is computed from."
    ),
]


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
    return _order_pairs(
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


def _order_pairs(pairs: Sequence[Pair]) -> list[Pair]:
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


def numeric_gap(
    base: Sequence[LoggedRun],
    head: Sequence[LoggedRun],
    metrics: Iterable[str | Distance | NumericalComparator] = tuple(COMPARATORS),
    *,
    is_every_run: bool = False,
    tolerance_db: float = TOLERANCE_DB,
) -> pa.Table:
    """The table of gaps between the intermediate values of two dumps.

    Values are paired by debug handle if both runs have any, and otherwise by instruction. Runs of
    the same method are paired in order.

    Args:
        base: Runs of the reference.
        head: Runs to compare with the reference.
        metrics: What to compute for each pair of values, as for `find_comparators`.
        is_every_run: Compare all runs that both have, not only the first of each method.
        tolerance_db: Lowest signal-to-noise ratio at which values agree, for `divergence`.

    Returns:
        One row per value of either side, in execution order, with a column per metric between
        head_nan_count and verdict, null where nothing was compared. Where shapes differ but hold
        the same elements in the same order, head is reshaped like base. Inputs that delegates log
        are left out, unless values are paired by instruction. An unknown metric raises QueryError.

    Raises:
        QueryError: if there are no runs to compare.
    """
    comparators = find_comparators(metrics)
    rows = [
        row
        for ours, theirs in _pair_runs(base, head, is_every_run)
        for row in _gaps(ours, theirs, comparators, tolerance_db)
    ]
    return metric_table(rows, _LEADING, comparators, _TRAILING)


def _pair_runs(
    base: Sequence[LoggedRun], head: Sequence[LoggedRun], is_every_run: bool
) -> list[tuple[LoggedRun, LoggedRun]]:
    """Pairs of runs, in the order of base.

    Raises:
        QueryError: if there is no pair.
    """
    is_known = all(run.method is not None for run in [*base, *head])
    waiting: dict[str | None, deque[LoggedRun]] = defaultdict(deque)
    for run in head:
        waiting[run.method if is_known else None].append(run)
    pairs = []
    for run in base:
        method = run.method if is_known else None
        if waiting[method]:
            pairs.append((run, waiting[method].popleft()))
            if not is_every_run:
                waiting[method].clear()
    if not pairs:
        ran = [", ".join(sorted({str(run.method) for run in runs})) for runs in (base, head)]
        raise QueryError(
            f"base logged values of {ran[0] or 'no method'}, head of {ran[1] or 'no method'}; "
            "compare dumps that ran the same method"
        )
    return pairs


def _gaps(
    base: LoggedRun,
    head: LoggedRun,
    comparators: Mapping[str, NumericalComparator],
    tolerance_db: float,
) -> Iterator[dict[str, Any]]:
    is_by_handle = all(any(op.debug_handles for op in run.operators) for run in (base, head))
    views = [run.flow.views if run.flow else {} for run in (base, head)]
    pairs = join_operators(
        base.operators, head.operators, is_by_handle=is_by_handle, views=(views[0], views[1])
    )
    compared = [_compare_pair(pair, comparators, tolerance_db) for pair in pairs]
    flow = (base.flow or head.flow) if is_by_handle else None
    divergences = find_divergences(
        [pair.debug_handle for pair in pairs],
        [agrees for _, agrees in compared],
        flow.inputs if flow else None,
    )
    for pair, (comparison, _), divergence in zip(pairs, compared, divergences, strict=True):
        joined_by = "instruction" if pair.debug_handle is None else "debug_handle"
        yield {
            "method": base.method or head.method,
            "base_run_index": base.run_index,
            "head_run_index": head.run_index,
            "joined_by": joined_by if pair.base and pair.head else None,
            **_value_columns(pair),
            **comparison_columns(comparison, comparators),
            "divergence": divergence.kind,
            "input_debug_handles": divergence.inputs,
        }


def _value_columns(pair: Pair) -> dict[str, Any]:
    values = [value for value in (pair.base, pair.head) if value]
    operators = [value.operator for value in values]
    narrow = min(operators, key=lambda op: (not op.op_types, len(op.debug_handles)))
    return {
        "debug_handle": pair.debug_handle,
        **_side_columns("base", pair.base),
        **_side_columns("head", pair.head),
        "op_types": list(narrow.op_types),
        "occurrence": operators[0].occurrence,
        "shape": values[0].tensor.shape,
    }


def _side_columns(side: str, value: OperatorValue | None) -> dict[str, Any]:
    if value is None:
        return {}
    operator, tensor = value.operator, value.tensor
    return {
        f"{side}_event": operator.name,
        f"{side}_instruction_id": operator.instruction_id,
        f"{side}_debug_handles": list(operator.debug_handles),
        f"{side}_value_index": value.index,
        f"{side}_dtype": tensor.dtype,
        f"{side}_nan_count": count_nan(tensor),
    }


def _compare_pair(
    pair: Pair, comparators: Mapping[str, NumericalComparator], tolerance_db: float
) -> tuple[Comparison, bool | None]:
    """The comparison, and whether the two agree; None if that is unknown."""
    metrics = comparators.values()
    if not pair.base or not pair.head:
        return not_compared(pair.reason, metrics), None
    base = pair.base.tensor
    head = reshape_like(pair.head.tensor, base.shape, is_view=pair.is_view)
    if differ_in_kind(base, head):
        reason = f"kinds of elements differ: {base.dtype} and {head.dtype}"
        return not_compared(reason, metrics), None
    comparison = compare(base, head, metrics, ("base", "head"))
    agrees = is_within(base, head, tolerance_db)
    if agrees and comparison.verdict == DIFFERENT:
        comparison = comparison._replace(verdict=WITHIN)
    return comparison, agrees
