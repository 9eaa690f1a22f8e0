"""Files of a place in order of arrival, as a stream asks for them. Pure but for the listing.

How far a stream has come is the time of the newest file that it gave, and how many it gave. A file
that arrives late, with an older time, is found for a day; what was given already is remembered, and
after a restart the files of that day are given once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from ingest.watching.places import WatchedFile

OVERLAP_NS = 24 * 3600 * 10**9

Offset = dict[str, int]


class Arrivals:
    """What a stream was given, and what is new."""

    def __init__(self, list_files: Callable[[], list[WatchedFile]]) -> None:
        """Nothing was given yet."""
        self._list = list_files
        self._given: set[WatchedFile] = set()
        self._batches: dict[tuple[int, int], list[WatchedFile]] = {}  # by its end
        self._last: list[WatchedFile] | None = None  # of a stream that ends

    def first(self) -> Offset:
        """Before all files."""
        return {"changed_ns": 0, "n_files": 0}

    def close(self) -> None:
        """Let nothing be new that is not there now."""
        self._last = self._list()

    def advance(self, start: Offset, most: int | None) -> Offset:
        """The end of the next batch: the start itself if nothing is new."""
        new = [file for file in self._since(start) if file not in self._given][:most]
        if not new:
            return start
        end = {
            "changed_ns": max(start["changed_ns"], new[-1].mtime_ns),
            "n_files": start["n_files"] + len(new),
        }
        self._given.update(new)
        self._batches = {_key(end): new}
        return end

    def between(self, start: Offset, end: Offset) -> Sequence[WatchedFile]:
        """The files of a batch; those that were late, of one begun before a restart, are left out.

        They are new again, as is all of that day.
        """
        if _key(end) in self._batches:
            return self._batches[_key(end)]
        after, until = start["changed_ns"], end["changed_ns"]
        return [file for file in self._since(start) if after < file.mtime_ns <= until]

    def _since(self, start: Offset) -> list[WatchedFile]:
        floor = start["changed_ns"] - OVERLAP_NS
        self._given = {file for file in self._given if file.mtime_ns > floor}
        files = self._list() if self._last is None else self._last
        return sorted(
            (file for file in files if file.mtime_ns > floor), key=attrgetter("mtime_ns", "path")
        )


def _key(offset: Offset) -> tuple[int, int]:
    return offset["changed_ns"], offset["n_files"]
