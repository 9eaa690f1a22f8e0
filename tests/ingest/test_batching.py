from __future__ import annotations

from collections.abc import Iterator

from tracehouse.ingest.batching import batches


def test_an_item_that_is_too_large_is_alone() -> None:
    assert list(batches([1, 9, 1, 1], int, 3)) == [[1], [9], [1, 1]]


def test_the_number_of_items_is_bounded_too() -> None:
    assert list(batches([0] * 5, int, 1, 2)) == [[0, 0], [0, 0], [0]]


def test_items_are_consumed_only_as_batches_are_requested() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(10):
            taken.append(item)
            yield item

    next(batches(items(), lambda _: 1, 2))
    assert taken == [0, 1, 2]


def test_batching_no_items_gives_no_batches() -> None:
    assert list(batches([], int, 1)) == []
