"""The record of files that a watch has ingested: eight bytes per file, in memory and on disk.

Losing the record is harmless: dumps are identified by their content, so files are only read again.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tracehouse.ingest.durable import replacing, write_all
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.watching.places import WatchedFile

_HEAD = b"tracehouse watch 1\n"
_KEY_BYTES = 8
_SPARE_KEYS = 10_000  # keys of deleted files that the record may contain


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
            with _written(self._file.name):
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
        with _written(path), replacing(path) as temporary:
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
def _written(path: Path | str) -> Iterator[None]:
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
        with _written(file.name):
            write_all(file.fileno(), _HEAD)
    elif not content.startswith(_HEAD):
        file.close()
        raise SourceError(file.name, "not the state of a watch; name another or a new file")
    count = max(len(content) - len(_HEAD), 0) // _KEY_BYTES
    whole = len(_HEAD) + count * _KEY_BYTES
    if len(content) > whole:
        file.truncate(whole)
    return content[len(_HEAD) : whole]
