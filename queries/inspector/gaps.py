"""The Inspector's numeric gaps: a pandas DataFrame with the values. Needs pandas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.event_blocks.blocks import EventBlock
from tracehouse.queries.inspector.tensors import TensorForm, numpy_array
from tracehouse.queries.numeric_gap.comparators import (
    DebugHandle,
    IntermediateOutput,
    IntermediateOutputMapping,
    NumericalComparator,
    as_float,
)
from tracehouse.queries.numeric_gap.gap import numeric_gap
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun, first_logged_run
from tracehouse.queries.numeric_gap.reference_run import ReferenceRun
from tracehouse.warehouse.programs.correlation import Correlation

_KEPT_AS = "keep"


def logged_runs(blocks: Sequence[EventBlock], correlation: Correlation | None) -> list[LoggedRun]:
    """The present logged values of each block's events; blocks without values are left out."""
    runs = [first_logged_run(index, block, correlation) for index, block in enumerate(blocks)]
    return [run for run in runs if run.operators]


def gap_frame(
    reference: ReferenceRun,
    head: Sequence[LoggedRun],
    comparator: NumericalComparator,
    form: TensorForm = numpy_array,
) -> Any:
    """The DataFrame of `NumericalComparatorBase.compare`, with the stack traces of each row.

    The pairs are those of `numeric_gap` that can be compared, without empty elements of lists, as
    the Inspector leaves out such lists. Errors of both functions are passed on.
    """
    mapping, runtime_names = _paired_values(reference.run, head, form)
    frame = comparator.compare(mapping, reference.node_names, runtime_names)
    if len(frame):
        frame["gap"] = [[as_float(gap) for gap in gaps] for gaps in frame["gap"]]
        frame["stacktraces"] = [
            {name: reference.stack_traces.get(name) for name in names} for names in frame["aot_ops"]
        ]
    return frame


def _paired_values(
    base: LoggedRun, head: Sequence[LoggedRun], form: TensorForm
) -> tuple[IntermediateOutputMapping, dict[DebugHandle, list[str]]]:
    """Corresponding values with their debug handles, and the events of each debug handle."""
    kept: list[tuple[NDArray[Any], NDArray[Any]]] = []
    lists = {operator.debug_handles for operator in base.operators if len(operator.values) > 1}

    def keep(reference: NDArray[Any], value: NDArray[Any]) -> float:
        """Store the values, and return their index."""
        kept.append((reference, value))
        return len(kept) - 1

    mapping: IntermediateOutputMapping = {}
    names: dict[DebugHandle, list[str]] = defaultdict(list)
    for row in numeric_gap([base], head, [keep]).to_pylist():
        if row[_KEPT_AS] is None:
            continue
        reference, value = kept[int(row[_KEPT_AS])]
        base_handles, handles = (tuple(row[f"{side}_debug_handles"]) for side in ("base", "head"))
        if not reference.size and base_handles in lists:
            continue
        key = base_handles, _hashable(form(TensorValue.of_array(row["base_dtype"], reference)))
        mapping[key] = handles, _hashable(form(TensorValue.of_array(row["head_dtype"], value)))
        if row["head_event"] not in names[handles]:
            names[handles].append(row["head_event"])
    return mapping, names


def _hashable(value: Any) -> Any:
    """The value, hashable; torch's tensors are."""
    return value.view(IntermediateOutput) if isinstance(value, np.ndarray) else value
