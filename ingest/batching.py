"""Groups neighbouring items into lists of limited size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")


def batches(
    items: Iterable[_Item], size: Callable[[_Item], float], most: float, most_items: int = 1 << 62
) -> Iterator[list[_Item]]:
    """Lists of neighbouring items; a list exceeds the limit only if it is a single item.

    >>> list(batches([3, 4, 9, 1], lambda item: item, 8))
    [[3, 4], [9], [1]]

    Args:
        items: The items, read lazily.
        size: Gives the size of an item.
        most: Largest sum of sizes in a list.
        most_items: Most items in a list.
    """
    batch: list[_Item] = []
    room = most
    for item in items:
        item_size = size(item)
        if batch and (item_size > room or len(batch) >= most_items):
            yield batch
            batch, room = [], most
        batch.append(item)
        room -= item_size
    if batch:
        yield batch
