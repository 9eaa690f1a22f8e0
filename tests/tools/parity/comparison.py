"""Two answers side by side, field by field."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.tools.parity.goldens import Json, shortened

_PRECISION = 1e-14
_PLACE = re.compile(r'File "[^"]*?([^"/]*)", line \d+')


class Difference(NamedTuple):
    """A field that two answers do not agree on.

    Attributes:
        block: Index of the block; None for the list of blocks.
        event: Index of the event in it; None for a field of the block.
        field: The field.
        left: Its value in the one answer.
        right: Its value in the other.
    """

    block: int | None
    event: int | None
    field: str
    left: Any
    right: Any


def compare_blocks(left: Sequence[Json], right: Sequence[Json]) -> Iterator[Difference]:
    """Fields of the right answer that the left one lacks or has otherwise."""
    if len(left) != len(right):
        yield Difference(None, None, "event_blocks", len(left), len(right))
        return
    for i, (one, other) in enumerate(zip(left, right, strict=True)):
        yield from _compare_fields(one, other, (i, None))
        if len(one["events"]) != len(other["events"]):
            yield Difference(i, None, "events", len(one["events"]), len(other["events"]))
            continue
        for j, (event, twin) in enumerate(zip(one["events"], other["events"], strict=True)):
            yield from _compare_fields(event, twin, (i, j))


def _compare_fields(left: Json, right: Json, place: tuple[int, int | None]) -> Iterator[Difference]:
    for name, value in right.items():
        if name != "events" and not (name in left and is_same(left[name], value)):
            yield Difference(*place, name, left.get(name, "(lacking)"), value)


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal, also in type; numbers to their last digits.

    Stack traces are equal wherever the files lay, and hashes of tensors if both are known.
    """
    if isinstance(left, dict) and isinstance(right, dict):
        return _is_same_mapping(left, right)
    if isinstance(left, list) and isinstance(right, dict) and "$n" in right:
        return is_same(shortened(left, right), right)
    if isinstance(left, list) and isinstance(right, list):
        if left == right and set(map(type, left)) == set(map(type, right)) == {float}:
            return True
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=_PRECISION)
    if isinstance(left, str) and isinstance(right, str):
        return left == right or _without_places(left) == _without_places(right)
    return type(left) is type(right) and left == right


def _is_same_mapping(left: Json, right: Json) -> bool:
    is_tensor = "sha256" in left and "sha256" in right
    keys = left.keys() & right.keys() if is_tensor else left.keys() | right.keys()
    return all(key in left and key in right and is_same(left[key], right[key]) for key in keys)


def _without_places(text: str) -> str:
    return _PLACE.sub(r'File "\1"', text)
