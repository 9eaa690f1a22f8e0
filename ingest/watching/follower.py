"""New and complete files of a watched place, found by repeated sweeps over it.

Reports of changes in folders (Linux's inotify) come earlier than a sweep. Nothing depends on them:
network drives, containers and other systems may send none.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tracehouse.ingest.durable import replacing, write_all
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import (
    companion_stem,
    dump_names,
    is_companion,
    is_dump,
    is_zip,
    kind_of,
    may_belong,
    sort_files,
)
from tracehouse.ingest.watching.places import WatchedFile, WatchedPlace

_CLOSE_WRITE, _MOVED_TO, _CREATE = 0x8, 0x80, 0x100
_IGNORED, _IS_FOLDER, _ONLY_FOLDERS = 0x8000, 0x40000000, 0x01000000
_NONBLOCK = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_NOTICE_HEAD = struct.Struct("iIII")
_READ_BYTES = 1 << 20
_MOST_FOLDERS = 8192  # each takes kernel memory, and many systems allow no more

_HEAD = b"tracehouse watch 1\n"
_KEY_BYTES = 8
_SPARE_KEYS = 10_000  # keys of deleted files that the record may contain

_MOST_KINDS = 100  # kinds of files that are passed over
_TEMPORARY = (".tmp", ".part")  # files that are still being written


class Notices:
    """Reports files that were closed after writing or renamed; use as a context manager."""

    def __init__(self, *, is_on: bool = True) -> None:
        """Prepare to watch; if not `is_on`, or not on Linux, never report anything."""
        self._folders: dict[int, str] = {}
        self._watched: set[str] = set()
        has_system = is_on and sys.platform == "linux"
        self._system = ctypes.CDLL(None, use_errno=True) if has_system else None
        self._handle = self._system.inotify_init1(_NONBLOCK) if self._system else -1

    def watch(self, folder: str) -> None:
        """Report changes in a folder from now on, unless too many folders are watched."""
        if self._handle < 0 or folder in self._watched or len(self._watched) >= _MOST_FOLDERS:
            return
        mask = _CLOSE_WRITE | _MOVED_TO | _CREATE | _ONLY_FOLDERS
        assert self._system is not None  # noqa: S101 - there is a handle
        number = self._system.inotify_add_watch(self._handle, os.fsencode(folder), mask)
        if number >= 0:
            self._watched.add(folder)
            self._folders[number] = folder

    def read(self) -> tuple[list[str], list[str]]:
        """Files and new folders reported since the last call; some may be gone or repeated."""
        files: list[str] = []
        folders: list[str] = []
        while data := self._read():
            position = 0
            while position < len(data):
                number, mask, _, length = _NOTICE_HEAD.unpack_from(data, position)
                position += _NOTICE_HEAD.size + length
                name = data[position - length : position].rstrip(b"\0")
                if mask & _IGNORED:  # the folder is gone
                    self._watched.discard(self._folders.pop(number, ""))
                elif name and number in self._folders:
                    path = os.path.join(self._folders[number], os.fsdecode(name))
                    if mask & _IS_FOLDER:
                        folders.append(path)
                    elif not mask & _CREATE:
                        files.append(path)
        return files, folders

    def close(self) -> None:
        """Stop watching."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Notices:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> bytes:
        if self._handle < 0:
            return b""
        try:
            return os.read(self._handle, _READ_BYTES)
        except BlockingIOError:
            return b""


class WatchRecord:
    """The files that were ingested, with their size and time; use as a context manager."""

    def __init__(self, file: Path | None) -> None:
        """Read the record from a file, if it exists; with None the record is only in memory.

        Raises:
            SourceError: The file cannot be read or written, or is not such a record.
        """
        self._path, self._file = file, None if file is None else _open(file)
        kept = array("Q", b"" if self._file is None else _read_keys(self._file))
        self._taken = set(kept)
        self._met: set[int] = set()  # in this sweep
        self._written = len(kept)

    def __contains__(self, seen: WatchedFile) -> bool:
        key = _key(seen)
        if key not in self._taken:
            return False
        self._met.add(key)
        return True

    def __len__(self) -> int:
        return len(self._taken)

    def add(self, files: Iterable[WatchedFile]) -> None:
        """Record that files were ingested.

        Raises:
            SourceError: The record file cannot be written.
        """
        keys = array("Q", map(_key, files))
        self._taken.update(keys)
        self._met.update(keys)
        if self._file is not None and keys:
            with _translate_write_errors(self._file.name):
                write_all(self._file.fileno(), keys.tobytes())
            self._written += len(keys)

    def end_sweep(self) -> None:
        """Forget files that the sweep did not meet: they are gone. Shrink the record file, too.

        Raises:
            SourceError: The record file cannot be rewritten.
        """
        self._taken, self._met = self._met, set()
        if self._path and self._written > 2 * len(self._taken) + _SPARE_KEYS:
            self._rewrite(self._path)

    def close(self) -> None:
        """Close the record file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> WatchRecord:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rewrite(self, path: Path) -> None:
        with _translate_write_errors(path), replacing(path) as temporary:
            temporary.write_bytes(_HEAD + array("Q", self._taken).tobytes())
        self.close()
        self._file, self._written = _open(path), len(self._taken)


def _key(seen: WatchedFile) -> int:
    text = f"{seen.path}\0{seen.size}\0{seen.mtime_ns}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=_KEY_BYTES).digest())


def _open(path: Path) -> BinaryIO:
    """The record file, created if missing, open for reading and appending.

    Raises:
        SourceError: The file cannot be opened.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b", buffering=0)
    except OSError as error:
        raise SourceError(str(path), f"cannot be opened: {error.strerror}") from error


@contextmanager
def _translate_write_errors(path: Path | str) -> Iterator[None]:
    """Translate errors of writing the record file.

    Raises:
        SourceError: It cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise SourceError(str(path), f"cannot be written: {error.strerror}") from error


def _read_keys(file: BinaryIO) -> bytes:
    """The keys in a record file; an incomplete key at its end is dropped.

    Raises:
        SourceError: The file is not a record, or cannot be begun.
    """
    file.seek(0)
    content = file.read()
    if not content:
        with _translate_write_errors(file.name):
            write_all(file.fileno(), _HEAD)
    elif not content.startswith(_HEAD):
        file.close()
        raise SourceError(file.name, "not the state of a watch; name another or a new file")
    count = max(len(content) - len(_HEAD), 0) // _KEY_BYTES
    whole = len(_HEAD) + count * _KEY_BYTES
    if len(content) > whole:
        file.truncate(whole)
    return content[len(_HEAD) : whole]


class WatchRound(NamedTuple):
    """The result of one round.

    Attributes:
        ready: New files that are complete; a late companion comes with its dump, ingested before.
        is_end: Whether this round completed a sweep over the whole place.
        is_settled: Whether the sweep is complete and found nothing new.
        problems: Folders that cannot be listed.
    """

    ready: list[WatchedFile]
    is_end: bool
    is_settled: bool
    problems: list[SourceError]

    @property
    def dumps(self) -> list[str]:
        """Paths of the dumps and zips among the files."""
        return [seen.path for seen in self.ready if not is_companion(_name(seen))]


class Follower:
    """Finds new files in a place; each round looks at some of its files.

    A file is complete if it has not changed for a while. An ingested file is new again when its
    size or time changes, or when its debug buffer or ETRecord arrives late.

    Attributes:
        passed_over: The first file of each kind that is neither a dump nor belongs to dumps.
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
        """Start a sweep.

        Args:
            place: The place to watch.
            taken: Files that were ingested before.
            notices: Reports changes earlier than the sweep finds them.
            quiet_seconds: Time without a change after which a file is complete.
            most_files: Most files to look at in a round.
            now: Returns the time, in seconds.
        """
        self._place, self._taken, self._notices = place, taken, notices
        self._quiet_seconds, self._most_files, self._now = quiet_seconds, most_files, now
        self._waiting: dict[str, tuple[WatchedFile, float]] = {}  # the file and when it was seen
        self._postponed: dict[WatchedFile, float] = {}  # until when
        self.passed_over: dict[str, str] = {}
        self._problems: list[SourceError] = []
        self._sweep = self._walk(place.root)
        self._is_clean = True  # nothing new so far in this sweep
        self._is_whole = True  # every folder of this sweep could be listed

    def look(self) -> WatchRound:
        """New and complete files; they are offered again until `take` or `postpone`."""
        self._problems = []
        new = {seen.path: seen for seen in self._read_notices()}
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
        """Record that files were ingested."""
        self._taken.add(files)

    def postpone(self, files: Iterable[WatchedFile], seconds: float) -> None:
        """Offer files again only after this time."""
        self._postponed.update(dict.fromkeys(files, self._now() + seconds))

    def _read_notices(self) -> Iterator[WatchedFile]:
        files, folders = self._notices.read()
        for path in files:
            if self._is_wanted(path) and (seen := self._place.look(path)):
                yield from self._list_if_new(seen)
        for folder in folders:
            for seen in islice(self._walk(folder), self._most_files):
                yield from self._list_if_new(seen)

    def _advance(self, new: dict[str, WatchedFile]) -> bool:
        """Sweep over some files and add the new ones to `new`; whether the sweep is complete."""
        for _ in range(self._most_files):
            seen = next(self._sweep, None)
            if seen is None:
                self._end_sweep()
                return True
            for found in self._list_if_new(seen):
                new[found.path] = found
                self._is_clean = False
        return False

    def _end_sweep(self) -> None:
        """Start a new sweep, and forget files that are gone."""
        self._sweep = self._walk(self._place.root)
        now = self._now()
        self._postponed = {seen: until for seen, until in self._postponed.items() if until > now}
        if self._is_whole:
            self._taken.end_sweep()
        self._is_whole = True

    def _walk(self, root: str) -> Iterator[WatchedFile]:
        """Files below a folder; folders are listed lazily."""
        folders = [root]
        while folders:
            folder = folders.pop()
            self._notices.watch(folder)
            try:
                for seen in self._place.list_folder(folder):
                    if seen.is_folder:
                        folders.append(seen.path)
                    elif self._is_wanted(seen.path):
                        yield seen
            except SourceError as error:
                self._problems.append(error)
                self._is_whole = False

    def _list_if_new(self, seen: WatchedFile) -> Iterator[WatchedFile]:
        if seen not in self._taken and self._postponed.get(seen, 0.0) <= self._now():
            self._postponed.pop(seen, None)
            yield seen

    def _whole(self, files: Iterable[WatchedFile]) -> Iterator[WatchedFile]:
        """The files that are no longer being written, with late companions' dumps."""
        late: dict[str, None] = {}
        for seen in files:
            if self._is_quiet(seen):
                self._waiting.pop(seen.path, None)
                yield seen
                if is_companion(_name(seen)):
                    late[seen.path] = None
        if late and len(self._taken):
            yield from self._find_ingested(late)

    def _is_quiet(self, seen: WatchedFile) -> bool:
        now = self._now()
        if now - seen.mtime_ns / 1e9 >= self._quiet_seconds:
            return True
        before, since = self._waiting.get(seen.path, (None, now))
        if before != seen:
            self._waiting[seen.path] = (seen, now)
            return self._quiet_seconds == 0
        return now - since >= self._quiet_seconds

    def _find_ingested(self, companions: Iterable[str]) -> Iterator[WatchedFile]:
        """Dumps that late companions belong to, and that were ingested before."""
        folders: dict[str, list[WatchedFile]] = {}
        for companion in companions:
            folder, name = os.path.split(companion)
            stem = companion_stem(name)
            own = [os.path.join(folder, dump) for dump in dump_names(stem)] if stem else []
            found = [seen for path in own if (seen := self._place.look(path))]
            if not found:
                if folder not in folders:
                    folders[folder] = list(self._list_files(folder))
                found = _dumps_beside(name, folders[folder])
            yield from (seen for seen in found if seen in self._taken)

    def _list_files(self, folder: str) -> Iterator[WatchedFile]:
        try:
            yield from (seen for seen in self._place.list_folder(folder) if not seen.is_folder)
        except SourceError as error:
            self._problems.append(error)

    def _is_wanted(self, path: str) -> bool:
        """Whether the file is a dump, a zip or a companion, and its name is not a temporary one."""
        name = os.path.basename(path)
        if name.startswith("."):
            return False
        is_wanted = is_dump(name) or is_zip(name) or is_companion(name)
        is_known = is_wanted or may_belong(name) or name.endswith(_TEMPORARY)
        if not is_known and len(self.passed_over) < _MOST_KINDS:
            self.passed_over.setdefault(kind_of(name), path)
        return is_wanted


def _dumps_beside(companion: str, files: Sequence[WatchedFile]) -> list[WatchedFile]:
    """The dumps of a folder that a companion belongs to, which bears the name of none of them."""
    known = sort_files(map(_name, files))
    is_shared = companion in (known.etrecord, known.debug_buffer)
    return [seen for seen in files if is_dump(_name(seen))] if is_shared else []


def _name(seen: WatchedFile) -> str:
    return os.path.basename(seen.path)
