"""Compares the operators of two dumps numerically, value by value.

A dump can also be compared with a run of its exported program (`reference_run`). Anything that
yields `LoggedRun`s can be compared, and the runs can be changed first: dequantized, permuted,
filtered.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tracehouse.queries.numeric_gap.comparators import (
    COMPARATORS,
    DIFFERENT,
    WITHIN,
    Comparator,
    Comparison,
    compare,
    count_nan,
    find_comparators,
    not_compared,
)
from tracehouse.queries.numeric_gap.divergence import TOLERANCE_DB, find_divergences, is_within
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun
from tracehouse.queries.numeric_gap.metric_table import column, comparison_columns, metric_table
from tracehouse.queries.numeric_gap.operator_join import OperatorValue, Pair, join_operators
from tracehouse.queries.numeric_gap.shapes import differ_in_kind, reshaped
from tracehouse.warehouse.errors import QueryError

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


def numeric_gap(
    base: Sequence[LoggedRun],
    head: Sequence[LoggedRun],
    metrics: Iterable[str | Comparator] = tuple(COMPARATORS),
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
        for ours, theirs in _paired_runs(base, head, is_every_run)
        for row in _gaps(ours, theirs, comparators, tolerance_db)
    ]
    return metric_table(rows, _LEADING, comparators, _TRAILING)


def _paired_runs(
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
    base: LoggedRun, head: LoggedRun, comparators: Mapping[str, Comparator], tolerance_db: float
) -> Iterator[dict[str, Any]]:
    is_by_handle = all(any(op.debug_handles for op in run.operators) for run in (base, head))
    views = [run.flow.views if run.flow else {} for run in (base, head)]
    pairs = join_operators(
        base.operators, head.operators, is_by_handle=is_by_handle, views=(views[0], views[1])
    )
    compared = [_compared(pair, comparators, tolerance_db) for pair in pairs]
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


def _compared(
    pair: Pair, comparators: Mapping[str, Comparator], tolerance_db: float
) -> tuple[Comparison, bool | None]:
    """The comparison, and whether the two agree; None if that is unknown."""
    metrics = comparators.values()
    if not pair.base or not pair.head:
        return not_compared(pair.reason, metrics), None
    base = pair.base.tensor
    head = reshaped(pair.head.tensor, base.shape, is_view=pair.is_view)
    if differ_in_kind(base, head):
        reason = f"kinds of elements differ: {base.dtype} and {head.dtype}"
        return not_compared(reason, metrics), None
    comparison = compare(base, head, metrics, ("base", "head"))
    agrees = is_within(base, head, tolerance_db)
    if agrees and comparison.verdict == DIFFERENT:
        comparison = comparison._replace(verdict=WITHIN)
    return comparison, agrees
