"""Files of a place in order of arrival, for a stream. Pure except for the listing.

The offset of a stream is the time of its newest file so far, and the number of files. A file that
arrives late, with an older time, is found for a day. Files that the stream had are known; after a
restart, the files of that day are repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from tracehouse.ingest.watching.places import WatchedFile

OVERLAP_NS = 24 * 3600 * 10**9

Offset = dict[str, int]


class Arrivals:
    """The files that a stream had, and the new ones."""

    def __init__(self, list_files: Callable[[], list[WatchedFile]]) -> None:
        self._list = list_files
        self._given: set[WatchedFile] = set()
        self._batches: dict[tuple[int, int], list[WatchedFile]] = {}  # by its end
        self._last: list[WatchedFile] | None = None  # known if the stream ends

    def first(self) -> Offset:
        """The offset before all files."""
        return {"changed_ns": 0, "n_files": 0}

    def close(self) -> None:
        """Ignore files that arrive from now on."""
        self._last = self._list()

    def advance(self, start: Offset, most: int | None) -> Offset:
        """The end of the next batch; the start itself if nothing is new."""
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
        """The files of a batch.

        A batch from before a restart lacks late files, which are repeated with all files of that
        day.
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
