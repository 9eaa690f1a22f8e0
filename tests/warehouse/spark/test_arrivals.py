from __future__ import annotations

import pytest

from tracehouse.ingest.watching.places import WatchedFile
from tracehouse.warehouse.spark.arrivals import OVERLAP_NS, Arrivals


def seen(path: str, at: int) -> WatchedFile:
    return WatchedFile(path, 1, at)


@pytest.fixture
def files() -> list[WatchedFile]:
    return [seen("b", 10), seen("a", 20), seen("c", 20)]


def batch(arrivals: Arrivals, start, most=None):
    """Names in the next batch, and its end."""
    end = arrivals.advance(start, most)
    return [file.path for file in arrivals.between(start, end)] if end != start else [], end


def test_files_come_in_order_of_time_some_at_a_time(files) -> None:
    arrivals = Arrivals(lambda: files)
    first, end = batch(arrivals, arrivals.first(), 2)
    second, end = batch(arrivals, end, 2)
    assert (first, second) == (["b", "a"], ["c"])
    assert arrivals.advance(end, 2) == end


def test_file_that_comes_late_is_found(files) -> None:
    arrivals = Arrivals(lambda: files)
    _, end = batch(arrivals, arrivals.first())
    files.append(seen("late", 5))
    assert batch(arrivals, end)[0] == ["late"]


def test_file_that_was_rewritten_is_new(files) -> None:
    arrivals = Arrivals(lambda: files)
    _, end = batch(arrivals, arrivals.first())
    files[0] = seen("b", 30)
    assert batch(arrivals, end)[0] == ["b"]


def test_batch_begun_before_a_restart_holds_what_it_held(files) -> None:
    arrivals = Arrivals(lambda: files)
    start = arrivals.first()
    end = arrivals.advance(start, None)
    files.append(seen("after", 40))
    again = Arrivals(lambda: files).between(start, end)
    assert again == arrivals.between(start, end)


def test_restart_gives_the_files_of_a_day_once_more_and_none_before(files) -> None:
    newest = 10 + OVERLAP_NS
    files.append(seen("newest", newest))
    before = Arrivals(lambda: files)
    _, end = batch(before, before.first())
    found, _ = batch(Arrivals(lambda: files), end)
    assert found == ["a", "c", "newest"]


def test_stream_that_ends_gives_what_was_there_when_it_began(files) -> None:
    arrivals = Arrivals(lambda: list(files))
    arrivals.close()
    files.append(seen("new", 50))
    found, end = batch(arrivals, arrivals.first())
    assert found == ["b", "a", "c"]
    assert arrivals.advance(end, None) == end
