"""What a watch took already: eight bytes per file, in memory and in a file.

The file may be lost at any time: dumps are known by their content, so what is taken twice is only
read twice.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from ingest.errors import SourceError
from ingest.watching.places import WatchedFile

_HEAD = b"tracehouse watch 1\n"
_KEY_BYTES = 8
_SPARE_KEYS = 10_000  # in the file, of what is gone


class WatchRecord:
    """Which files were taken, as they were then; use as a context manager."""

    def __init__(self, file: Path | None) -> None:
        """Read the file, if there is one; None keeps nothing.

        Raises:
            SourceError: It cannot be read or written, or is no such file.
        """
        self._path, self._file = file, None if file is None else _open(file)
        kept = array("Q", b"" if self._file is None else _read_keys(self._file))
        self._taken = set(kept)
        self._met: set[int] = set()  # in this turn of the sweep
        self._written = len(kept)

    def __contains__(self, seen: WatchedFile) -> bool:
        """Whether it was taken, and is as it was then."""
        key = _key(seen)
        if key not in self._taken:
            return False
        self._met.add(key)
        return True

    def __len__(self) -> int:
        """How many files are known to be taken."""
        return len(self._taken)

    def add(self, files: Iterable[WatchedFile]) -> None:
        """Remember that files were taken."""
        keys = array("Q", map(_key, files))
        self._taken.update(keys)
        self._met.update(keys)
        if self._file is not None and keys:
            self._file.write(keys)
            self._file.flush()
            self._written += len(keys)

    def end_turn(self) -> None:
        """Forget what was not met since the last turn, for it is gone; so is its room in the file.

        Raises:
            SourceError: The file cannot be written anew.
        """
        self._taken, self._met = self._met, set()
        if self._path and self._written > 2 * len(self._taken) + _SPARE_KEYS:
            self._rewrite(self._path)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> WatchRecord:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rewrite(self, path: Path) -> None:
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            beside.write_bytes(_HEAD + array("Q", self._taken).tobytes())
            beside.replace(path)
        except OSError as error:
            raise SourceError(str(path), f"cannot be written: {error.strerror}") from error
        self.close()
        self._file, self._written = _open(path), len(self._taken)


def _key(seen: WatchedFile) -> int:
    text = f"{seen.path}\0{seen.size}\0{seen.mtime_ns}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=_KEY_BYTES).digest())


def _open(path: Path) -> BinaryIO:
    """The file, made if it is not there, to be read from its start and written at its end.

    Raises:
        SourceError: That cannot be done.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b")
    except OSError as error:
        raise SourceError(str(path), f"cannot be opened: {error.strerror}") from error


def _read_keys(file: BinaryIO) -> bytes:
    """The keys in a file that was just opened; what is torn off at its end is dropped.

    Raises:
        SourceError: It is another kind of file.
    """
    file.seek(0)
    content = file.read()
    if not content:
        file.write(_HEAD)
        file.flush()
    elif not content.startswith(_HEAD):
        file.close()
        raise SourceError(file.name, "not the state of a watch; name another file, or none yet")
    count = max(len(content) - len(_HEAD), 0) // _KEY_BYTES
    whole = len(_HEAD) + count * _KEY_BYTES
    if len(content) > whole:
        file.truncate(whole)
    return content[len(_HEAD) : whole]
