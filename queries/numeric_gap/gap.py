"""How far the operators of two dumps are apart numerically, value by value.

Also of a dump and of a run of its exported program (`reference_run`): whatever gives `LoggedRun`s
can be compared, and be changed before: dequantize, permute, leave out.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from queries.numeric_gap.comparators import (
    COMPARATORS,
    Comparator,
    compare,
    count_nan,
    find_comparators,
    not_compared,
)
from queries.numeric_gap.logged_operators import LoggedRun
from queries.numeric_gap.operator_join import OperatorValue, Pair, join_operators
from warehouse.errors import QueryError


def _field(name: str, type_: pa.DataType, doc: str, *, nullable: bool = True) -> pa.Field:
    return pa.field(name, type_, nullable=nullable, metadata={"doc": doc})


_HANDLES = pa.list_(pa.int64())
_LEADING = [
    _field("method", pa.string(), "Method that ran; null if unknown."),
    _field("base_run_index", pa.int32(), "Run in the base dump; null for a run of the program."),
    _field("head_run_index", pa.int32(), "Run in the head dump."),
    _field("joined_by", pa.string(), "debug_handle or instruction; null without counterpart."),
    _field("debug_handle", pa.int64(), "Debug handle whose result it is; null if unknown."),
    _field("base_event", pa.string(), "Event that logged it in base; null without one."),
    _field("head_event", pa.string(), "Event that logged it in head; null without one."),
    _field("base_instruction_id", pa.int32(), "Instruction of the base event."),
    _field("head_instruction_id", pa.int32(), "Instruction of the head event."),
    _field("base_debug_handles", _HANDLES, "All debug handles that the base event computes."),
    _field("head_debug_handles", _HANDLES, "All debug handles that the head event computes."),
    _field("op_types", pa.list_(pa.string()), "Operators of the event with fewer handles."),
    _field("occurrence", pa.int32(), "Which call of its instruction in the run, from 0."),
    _field("base_value_index", pa.int32(), "Which of the values that the base event logged."),
    _field("head_value_index", pa.int32(), "Which of the values that the head event logged."),
    _field("base_dtype", pa.string(), "Element type in base."),
    _field("head_dtype", pa.string(), "Element type in head."),
    _field("shape", pa.list_(pa.int64()), "Shape, in base if they differ; null if unknown."),
    _field("base_nan_count", pa.int64(), "NaN elements in base; null if its elements are missing."),
    _field("head_nan_count", pa.int64(), "NaN elements in head; null if its elements are missing."),
]
_TRAILING = [
    _field("verdict", pa.string(), "equal, different or not_compared.", nullable=False),
    _field("reason", pa.string(), "Why it was not compared; null if it was."),
]


def numeric_gap(
    base: Sequence[LoggedRun],
    head: Sequence[LoggedRun],
    metrics: Iterable[str | Comparator] = tuple(COMPARATORS),
    *,
    is_every_run: bool = False,
) -> pa.Table:
    """The table of gaps between the intermediate values of two dumps.

    Values correspond by debug handle, if both runs have any; else by instruction. Runs correspond
    in order, method by method.

    Args:
        base: Runs of the reference.
        head: Runs to compare with it.
        metrics: What to compute of each pair of values, as `find_comparators` takes it.
        is_every_run: Whether to compare all runs, as many as both have; else the first of each
            method alone.

    Returns:
        One row per value of either side, in execution order, with a column per metric between
        head_nan_count and verdict, null where nothing was compared. Inputs that delegates log are
        left out, unless values correspond by instruction. An unknown metric raises QueryError.

    Raises:
        QueryError: if there are no runs to compare.
    """
    comparators = find_comparators(metrics)
    rows = [
        row
        for ours, theirs in _paired_runs(base, head, is_every_run)
        for row in _gaps(ours, theirs, comparators)
    ]
    columns = [_field(name, pa.float64(), "Metric of that name.") for name in comparators]
    return pa.Table.from_pylist(rows, pa.schema([*_LEADING, *columns, *_TRAILING]))


def _paired_runs(
    base: Sequence[LoggedRun], head: Sequence[LoggedRun], is_every_run: bool
) -> list[tuple[LoggedRun, LoggedRun]]:
    """Runs that correspond, in the order of base.

    Raises:
        QueryError: if there are none.
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
            "wanted a method that both ran"
        )
    return pairs


def _gaps(
    base: LoggedRun, head: LoggedRun, comparators: Mapping[str, Comparator]
) -> Iterator[dict[str, Any]]:
    is_by_handle = all(any(op.debug_handles for op in run.operators) for run in (base, head))
    place = {
        "method": base.method or head.method,
        "base_run_index": base.run_index,
        "head_run_index": head.run_index,
    }
    for pair in join_operators(base.operators, head.operators, is_by_handle=is_by_handle):
        joined_by = "instruction" if pair.debug_handle is None else "debug_handle"
        yield {
            **place,
            "joined_by": joined_by if pair.base and pair.head else None,
            **_value_columns(pair),
            **_comparison_columns(pair, comparators),
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


def _comparison_columns(pair: Pair, comparators: Mapping[str, Comparator]) -> dict[str, Any]:
    if pair.base and pair.head:
        comparison = compare(
            pair.base.tensor, pair.head.tensor, comparators.values(), ("base", "head")
        )
    else:
        comparison = not_compared(pair.reason, comparators.values())
    return {
        **dict(zip(comparators, comparison.metrics, strict=True)),
        "verdict": comparison.verdict,
        "reason": comparison.reason,
    }
