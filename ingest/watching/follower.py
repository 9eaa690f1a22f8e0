"""Which files of a place are new and whole: swept again and again, some files at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from ingest.errors import SourceError
from ingest.sources.folder_names import DEBUG_BUFFER_SUFFIX, ETRECORD_SUFFIX
from ingest.sources.zip_artifacts import is_dump, is_zip
from ingest.watching.notices import Notices
from ingest.watching.places import WatchedFile, WatchedPlace
from ingest.watching.record import WatchRecord

_COMPANIONS = (DEBUG_BUFFER_SUFFIX, ETRECORD_SUFFIX)
_DUMPS = (".etdp", ".etdump", ".prof")


class WatchRound(NamedTuple):
    """What a look at the place gave.

    Attributes:
        ready: New files that are whole; a late companion comes with its dump, taken before.
        is_end: Whether everything was looked at since it was so last.
        is_settled: Whether it is so, and nothing new is left.
        problems: Folders that cannot be listed.
    """

    ready: list[WatchedFile]
    is_end: bool
    is_settled: bool
    problems: list[SourceError]

    @property
    def dumps(self) -> list[str]:
        """Paths of the dumps and zips among the files."""
        return [seen.path for seen in self.ready if not seen.path.endswith(_COMPANIONS)]


class Follower:
    """Finds what is new in a place; each round looks at some of its files, the next at others.

    A file is whole if it was not changed for a while. What was taken is new again when its size or
    time changes, or when its debug buffer or ETRecord comes late.
    """

    def __init__(
        self,
        place: WatchedPlace,
        taken: WatchRecord,
        notices: Notices,
        *,
        quiet_seconds: float,
        most_files: int = 10_000,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Begin with the first file.

        Args:
            place: What is followed.
            taken: What was taken before.
            notices: Tells of changes before their turn comes.
            quiet_seconds: Time without a change after which a file is whole.
            most_files: Files that are looked at in a round, at most.
            now: The time, in seconds.
        """
        self._place, self._taken, self._notices = place, taken, notices
        self._quiet_seconds, self._most_files, self._now = quiet_seconds, most_files, now
        self._waiting: dict[str, tuple[WatchedFile, float]] = {}  # as they were at a time
        self._put_off: dict[WatchedFile, float] = {}  # until a time
        self._problems: list[SourceError] = []
        self._sweep = self._walk(place.root)
        self._is_clean = True  # nothing new so far in this turn
        self._is_whole = True  # and every folder could be listed

    def look(self) -> WatchRound:
        """What is new and whole; it is offered again until it is taken."""
        self._problems = []
        new = {seen.path: seen for seen in self._noticed()}
        is_complete = self._advance(new)
        for path in self._waiting.keys() - new.keys():
            if seen := self._place.look(path):
                new[path] = seen
            else:
                del self._waiting[path]
        ready = list(self._whole(new.values()))
        is_settled = is_complete and self._is_clean and not (ready or self._waiting)
        if is_complete:
            self._is_clean = True
        return WatchRound(ready, is_complete, is_settled, self._problems)

    def take(self, files: Iterable[WatchedFile]) -> None:
        """Know that files were taken."""
        self._taken.add(files)

    def put_off(self, files: Iterable[WatchedFile], seconds: float) -> None:
        """Know that files could not be taken, and are to be offered again after some time."""
        self._put_off.update(dict.fromkeys(files, self._now() + seconds))

    def _noticed(self) -> Iterator[WatchedFile]:
        files, folders = self._notices.read()
        for path in files:
            if _is_wanted(path) and (seen := self._place.look(path)):
                yield from self._if_new(seen)
        for folder in folders:
            for seen in islice(self._walk(folder), self._most_files):
                yield from self._if_new(seen)

    def _advance(self, new: dict[str, WatchedFile]) -> bool:
        """Sweep some files on, and put the new ones among others; whether that was the last."""
        for _ in range(self._most_files):
            seen = next(self._sweep, None)
            if seen is None:
                self._end_turn()
                return True
            for found in self._if_new(seen):
                new[found.path] = found
                self._is_clean = False
        return False

    def _end_turn(self) -> None:
        """Begin from the top, and forget what is gone."""
        self._sweep = self._walk(self._place.root)
        now = self._now()
        self._put_off = {seen: until for seen, until in self._put_off.items() if until > now}
        if self._is_whole:
            self._taken.end_turn()
        self._is_whole = True

    def _walk(self, root: str) -> Iterator[WatchedFile]:
        """Files below a folder, of which each is listed when its turn comes."""
        folders = [root]
        while folders:
            folder = folders.pop()
            self._notices.watch(folder)
            try:
                for seen in self._place.list_folder(folder):
                    if seen.is_folder:
                        folders.append(seen.path)
                    elif _is_wanted(seen.path):
                        yield seen
            except SourceError as error:
                self._problems.append(error)
                self._is_whole = False

    def _if_new(self, seen: WatchedFile) -> Iterator[WatchedFile]:
        if seen not in self._taken and self._put_off.get(seen, 0.0) <= self._now():
            self._put_off.pop(seen, None)
            yield seen

    def _whole(self, files: Iterable[WatchedFile]) -> Iterator[WatchedFile]:
        """Those of the files that nobody writes any more; the others wait."""
        for seen in files:
            if not self._is_quiet(seen):
                continue
            self._waiting.pop(seen.path, None)
            yield seen
            if seen.path.endswith(_COMPANIONS):
                yield from self._taken_before(seen.path)

    def _is_quiet(self, seen: WatchedFile) -> bool:
        now = self._now()
        if now - seen.mtime_ns / 1e9 >= self._quiet_seconds:
            return True
        before, since = self._waiting.get(seen.path, (None, now))
        if before != seen:
            self._waiting[seen.path] = (seen, now)
            return self._quiet_seconds == 0
        return now - since >= self._quiet_seconds

    def _taken_before(self, companion: str) -> Iterator[WatchedFile]:
        """The dump that a late file belongs to, if it was taken without it."""
        stem = next(companion.removesuffix(end) for end in _COMPANIONS if companion.endswith(end))
        for suffix in _DUMPS:
            seen = self._place.look(stem + suffix)
            if seen and seen in self._taken:
                yield seen


def _is_wanted(path: str) -> bool:
    """Whether it is a dump, a zip or what comes with a dump, under a name that is not temporary."""
    name = os.path.basename(path)
    return not name.startswith(".") and (
        is_dump(name) or is_zip(name) or name.endswith(_COMPANIONS)
    )
