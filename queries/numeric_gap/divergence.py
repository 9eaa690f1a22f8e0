"""Where two runs begin to differ: which differences cause the others. Pure.

Values within the tolerance agree. A value that differs is an *origin* if all of its inputs agree
and *inherited* otherwise. It is *suspect* if everything computed from it agrees: then the pair is
probably wrong, or the difference does not matter. The inputs of a value are the nearest compared
values before it in the program's graph; without a graph, all values before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.numeric_gap.comparators import snr

ORIGIN, INHERITED, SUSPECT = "origin", "inherited", "suspect"
TOLERANCE_DB = 60.0

_RUN = ("method", "base_run_index", "head_run_index")


class Divergence(NamedTuple):
    """A value's part in the differences of its run.

    Attributes:
        kind: origin, inherited or suspect; None if it agrees or was not compared.
        inputs: Debug handles of the nearest compared values it is computed from; None if unknown.
    """

    kind: str | None
    inputs: list[int] | None


def is_within(reference: TensorValue, value: TensorValue, tolerance_db: float) -> bool | None:
    """Whether two tensors of the same shape agree; None if elements are missing.

    They agree if the same elements are NaN and the signal-to-noise ratio is at least the tolerance.
    """
    a, b = reference.array, value.array
    if a is None or b is None or a.shape != b.shape:
        return None
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return False
    return snr(a, b) >= tolerance_db


def first_divergence(gaps: pa.Table) -> pa.Table:
    """The first origin of each run in a table of numeric gaps; runs without one have no row."""
    seen = set()
    rows = []
    columns = (gaps[name].to_pylist() for name in (*_RUN, "divergence"))
    for row, (*run, kind) in enumerate(zip(*columns, strict=True)):
        if kind == ORIGIN and tuple(run) not in seen:
            seen.add(tuple(run))
            rows.append(row)
    return gaps.take(pa.array(rows, pa.int64()))


def find_divergences(
    handles: Sequence[int | None],
    agreements: Sequence[bool | None],
    inputs: Mapping[int, Iterable[int]] | None,
) -> list[Divergence]:
    """The part of each value in the differences of a run.

    Args:
        handles: Debug handle of each value, in execution order; None if unknown.
        agreements: Whether each value agrees with its counterpart; None if not compared.
        inputs: The handles that the value of each handle is computed from; None if unknown.
    """
    graph = _Values(handles, agreements, inputs)
    found = []
    for handle, key, agrees in zip(handles, graph.keys, agreements, strict=True):
        kind = graph.kind(key) if agrees is False else None
        is_known = agrees is not None and inputs is not None and handle in inputs
        nearest = graph.nearest_inputs(key) if is_known else None
        found.append(Divergence(kind, None if nearest is None else sorted(nearest)))
    return found


class _Values:
    """The values of a run, where all values of one debug handle count as one."""

    def __init__(
        self,
        handles: Sequence[int | None],
        agreements: Sequence[bool | None],
        inputs: Mapping[int, Iterable[int]] | None,
    ) -> None:
        known = inputs or {}
        # Values without a known debug handle get negative keys, which cannot equal a handle.
        self.keys = [
            handle if handle is not None and handle in known else -1 - row
            for row, handle in enumerate(handles)
        ]
        self._agrees: dict[int, bool] = {}
        self._place: dict[int, int] = {}
        for row, (key, agrees) in enumerate(zip(self.keys, agreements, strict=True)):
            if agrees is not None:
                self._agrees[key] = agrees and self._agrees.get(key, True)
                self._place[key] = row
        self._inputs = {key: set(taken) for key, taken in known.items()}
        self._consumers: dict[int, set[int]] = defaultdict(set)
        self._chain()
        for key, taken in self._inputs.items():
            for source in taken:
                self._consumers[source].add(key)
        self._suspects: set[int] = set()
        for key in sorted(self._agrees, key=self._place.__getitem__, reverse=True):
            if not self._agrees[key] and self._is_suspect(key):
                self._suspects.add(key)

    def kind(self, key: int) -> str:
        """The kind of a value that differs."""
        if key in self._suspects:
            return SUSPECT
        return ORIGIN if all(map(self._agrees.get, self.nearest_inputs(key))) else INHERITED

    def nearest_inputs(self, key: int) -> list[int]:
        """Keys of the nearest compared values before it that it is computed from."""
        return self._nearest(key, self._inputs, lambda other: other < self._place[key])

    def _is_suspect(self, key: int) -> bool:
        after = self._nearest(key, self._consumers, lambda other: other > self._place[key])
        return bool(after) and all(self._agrees[consumer] for consumer in after)

    def _chain(self) -> None:
        """Make each value without a handle depend on the value before it."""
        before = None
        for key in dict.fromkeys(self.keys):
            if key < 0 and key in self._agrees:
                self._inputs[key] = set() if before is None else {before}
            if key in self._agrees:
                before = key

    def _nearest(
        self, key: int, edges: Mapping[int, Iterable[int]], is_near: Callable[[int], bool]
    ) -> list[int]:
        """Follow the edges past suspects and values that were not compared."""
        found, seen, waiting = [], {key}, [key]
        while waiting:
            for other in edges.get(waiting.pop(), ()):
                if other in seen:
                    continue
                seen.add(other)
                if other in self._agrees and other not in self._suspects:
                    if is_near(self._place[other]):
                        found.append(other)
                else:
                    waiting.append(other)
        return found
