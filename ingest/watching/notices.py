"""Reports of changes in folders (Linux's inotify), which come earlier than a sweep.

Nothing depends on these reports: network drives, containers and other systems may send none.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_CLOSE_WRITE, _MOVED_TO, _CREATE = 0x8, 0x80, 0x100
_IGNORED, _IS_FOLDER, _ONLY_FOLDERS = 0x8000, 0x40000000, 0x01000000
_NONBLOCK = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_HEAD = struct.Struct("iIII")
_READ_BYTES = 1 << 20
_MOST_FOLDERS = 8192  # each takes kernel memory, and many systems allow no more


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
                number, mask, _, length = _HEAD.unpack_from(data, position)
                name = data[position + _HEAD.size : position + _HEAD.size + length].rstrip(b"\0")
                position += _HEAD.size + length
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
