"""The outputs of the operators of one run, by debug handle or by call. Pure.

The value of a debug handle is what the last operator with this handle in the run computes. A
delegate has many handles, but logs only its inputs and then its outputs, the results of some of
the handles. If it is the last operator with a handle and does not output it, the value is hidden.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from tracehouse.ingest.debug_buffer import TensorValue

Key = int | tuple[object, ...]  # a debug handle or a call


def is_same_order(one: Sequence[int] | None, other: Sequence[int] | None) -> bool:
    """Whether shapes are equal without dimensions of 1, or in last dimension and element count.

    One backend logs a linear layer as [5, 32], another as [1, 5, 32].
    """
    if one is None or other is None:
        return one == other
    if [size for size in one if size != 1] == [size for size in other if size != 1]:
        return True
    return bool(one and other) and one[-1] == other[-1] and math.prod(one) == math.prod(other)


def reshape_like(tensor: TensorValue, shape: Sequence[int] | None, *, is_view: bool) -> TensorValue:
    """The tensor in that shape if the elements stay in order, otherwise unchanged.

    With `is_view`, one is known to be a view of the other, so equal element counts are enough.
    """
    if tensor.stored is None or shape is None or tensor.shape is None:
        return tensor
    is_fit = is_same_order(tensor.shape, shape) or is_view
    if not is_fit or math.prod(tensor.shape) != math.prod(shape):
        return tensor
    return replace(tensor, shape=list(shape), stored=tensor.stored.reshape(shape))


def differ_in_kind(one: TensorValue, other: TensorValue) -> bool:
    """Whether one is floating point and the other integer, such as a quantized value."""
    arrays = one.array, other.array
    return len({array.dtype.kind == "f" for array in arrays if array is not None}) > 1


class Operator(NamedTuple):
    """One call of an operator, with its logged values.

    Attributes:
        name: Name of its event, e.g. native_call_addmm.out.
        instruction_id: Instruction; None if it did not run as one.
        delegate_id: Delegate id; None if it did not run inside a delegate.
        occurrence: Number of the call of its instruction and delegate id in the run, from 0.
        debug_handles: Debug handles that it computes, in execution order; empty if unknown.
        op_types: Operators of the exported graph with these handles; empty if unknown.
        values: Logged values, in order; scalars have no dimension, lists are flattened.
        results: For a delegate, the debug handle of each output (None where unknown); the outputs
            are the last of the values. None if all values belong to the last debug handle.
    """

    name: str
    instruction_id: int | None
    delegate_id: int | str | None
    occurrence: int
    debug_handles: tuple[int, ...]
    op_types: tuple[str, ...]
    values: Sequence[TensorValue]
    results: Sequence[int | None] | None = None

    def is_inside(self, other: Operator) -> bool:
        """Whether the operator ran inside the delegate call `other`."""
        is_part = self.delegate_id is not None and other.delegate_id is None
        return is_part and self.instruction_id == other.instruction_id


@dataclass(frozen=True, eq=False)
class OperatorValue:
    """One of an operator's values: `position` of the operator in its run, `index` of the value."""

    position: int
    operator: Operator
    index: int

    @property
    def tensor(self) -> TensorValue:
        """The value."""
        return self.operator.values[self.index]


Result = list[OperatorValue]  # values of one operator


class RunValues:
    """The results of a run.

    Attributes:
        results: By key, in execution order; one per operator.
        viewed: Keys that are views of another handle, under which their value is logged.
    """

    def __init__(self, operators: Sequence[Operator], *, is_by_handle: bool) -> None:
        """Index operators in execution order, by debug handle where known or only by call."""
        self._operators = operators
        self._carriers: dict[int, list[int]] = defaultdict(list)
        self.results: dict[Key, list[Result]] = defaultdict(list)
        self.viewed: set[Key] = set()
        for position, operator in enumerate(operators):
            outputs = _outputs(position, operator, is_by_handle)
            for key, result in groupby(outputs, itemgetter(0)):
                self.results[key].append([value for _, value in result])
            for handle in dict.fromkeys(operator.debug_handles if is_by_handle else ()):
                self._carriers[handle].append(position)

    def move_views(self, views: Mapping[int, int], other: RunValues) -> None:
        """Move values to handles that only `other` has and nothing computes here.

        In `views`, each such handle is a view of another handle, whose last result it gets.
        """
        for key in [key for key in other.results if key in views and key not in self._carriers]:
            source: int | None = views.get(key) if isinstance(key, int) else None
            while source is not None and source not in self._carriers:
                source = views.get(source)
            if source is None or source in other.results or self.hiding_operator(source):
                continue
            self.results[key] = [self.results[source].pop()]
            self.viewed.add(key)

    def hiding_operator(self, key: Key) -> Operator | None:
        """The last operator with a handle, if it hides the handle's value."""
        carriers = self._carriers.get(key, []) if isinstance(key, int) else []
        results = self.results.get(key)
        last = results[-1][0] if results else None
        for position in reversed(carriers):
            carrier = self._operators[position]
            if last is None or not (position <= last.position or last.operator.is_inside(carrier)):
                return carrier
        return None

    def steps(self, key: Key) -> list[tuple[str, tuple[int, ...], bool]]:
        """Name and handles of each operator with this handle, and whether it has a result."""
        given = {result[0].position for result in self.results.get(key, [])}
        carriers = self._carriers.get(key, []) if isinstance(key, int) else []
        operators = [(self._operators[position], position in given) for position in carriers]
        return [(operator.name, operator.debug_handles, is_one) for operator, is_one in operators]


def _outputs(
    position: int, operator: Operator, is_by_handle: bool
) -> list[tuple[Key, OperatorValue]]:
    """The outputs, each with its debug handle or, without one, its call."""
    values = [OperatorValue(position, operator, index) for index in range(len(operator.values))]
    handles = operator.debug_handles if is_by_handle else ()
    call: Key = (*operator[:4], handles)
    if operator.results is None or not is_by_handle:
        return [(handles[-1] if handles else call, value) for value in values]
    known = [call if handle is None else handle for handle in operator.results]
    return list(zip(reversed(known), reversed(values), strict=False))[::-1]
