"""What a disk may hold after a power loss, out of a log of what was done to its files.

The disk is as mean as POSIX lets it be. What was written to a file is there for certain once the
file was synced, and its name once its folder was. Of later writes any sectors may be there, in
whatever order they came; of later changes of a folder those up to some moment are.
"""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

SECTORS = (512, 4096)  # bytes that a disk writes whole or not at all
SHARES = (0, 0.5, 0.9, 1)  # of what was written since the last sync

_WHOLE = 1 << 62  # instead of the size of a sector: writes are not torn
_HEAD = struct.Struct("=6Q")


class FileOperation(NamedTuple):
    """One thing that was done.

    Attributes:
        kind: A letter, see disk_shim.c.
        inode: The file or folder it was done to, or that it made.
        offset: Where it begins in the file; of a truncation, the size.
        path: The name that it is about.
        other: The second name, of a rename or link.
        data: What was written.
    """

    kind: str
    inode: int
    offset: int
    path: PurePosixPath
    other: PurePosixPath
    data: bytes


def read_log(log: Path) -> list[FileOperation]:
    """All operations of a log, in order."""
    data = memoryview(log.read_bytes())
    listed, position = [], 0
    while position < len(data):
        kind, inode, offset, *sizes = _HEAD.unpack_from(data, position)
        position += _HEAD.size
        parts = []
        for size in sizes:
            parts.append(bytes(data[position : position + size]))
            position += size
        path, other = (PurePosixPath(part.decode()) for part in parts[:2])
        listed.append(FileOperation(chr(kind), inode, offset, path, other, parts[2]))
    return listed


@dataclass(eq=False)
class _File:
    """The content of a file that is safe, and the operations since.

    After a failed sync, an operation before it is in doubt for ever: a system may forget what it
    could not write, and a later sync succeeds without it.
    """

    safe: bytearray = field(default_factory=bytearray)
    settled: list[tuple[FileOperation, bool]] = field(default_factory=list)  # is it in doubt?
    later: list[FileOperation] = field(default_factory=list)

    def sync(self, *, has_failed: bool) -> None:
        self.settled += [(done, has_failed) for done in self.later]
        self.later = []
        if not any(in_doubt for _, in_doubt in self.settled):
            self.safe, self.settled = self.content(_always, _WHOLE), []

    @property
    def unsafe_count(self) -> int:
        """Operations that may come through or not."""
        return sum(in_doubt for _, in_doubt in self.settled) + len(self.later)

    def content(self, comes_through: Callable[[], bool], sector: int) -> bytearray:
        """The content, if `comes_through` decides about each sector and each truncation."""
        content = bytearray(self.safe)
        for done, in_doubt in self.settled + [(done, True) for done in self.later]:
            decide = comes_through if in_doubt else _always
            if done.kind in "WZ":
                _write(content, done, decide, sector)
            elif decide():
                _resize(content, done)
        return content


def _always() -> bool:
    return True


def _never() -> bool:
    return False


def _write(
    content: bytearray, done: FileOperation, comes_through: Callable[[], bool], sector: int
) -> None:
    data = done.data if done.kind == "W" else bytes(int(done.data))
    start, last = done.offset, done.offset + len(data)
    if done.kind == "Z":
        last = min(last, len(content))
    while start < last:
        end = min((start // sector + 1) * sector, last)
        if comes_through():
            content.extend(bytes(max(start - len(content), 0)))
            content[start:end] = data[start - done.offset : end - done.offset]
        start = end


def _resize(content: bytearray, done: FileOperation) -> None:
    if done.kind == "T":
        del content[done.offset :]
    size = done.offset + int(done.data or 0)
    content.extend(bytes(max(size - len(content), 0)))


class _Folder:
    """A folder; the disk knows its entries."""


_Node = _File | _Folder
_Change = list[tuple[_Folder, str, _Node | None]]  # what names stand for from now on
_Names = dict[tuple[_Folder, str], _Node]
Image = Iterator[tuple[PurePosixPath, bytearray | None]]  # folders have no content


class Disk:
    """A disk on which the operations of a log are done, one after the other."""

    def __init__(self) -> None:
        """Begin with an empty disk."""
        self._root = _Folder()
        self._inodes: dict[int, _Node] = {}
        self._names: _Names = {}
        self._safe: _Names = {}
        self._later: list[_Change] = []
        self.has_failed = False  # a sync

    @classmethod
    def holding(cls, folder: Path) -> Disk:
        """A disk that holds the files of a folder, all of them safe."""
        disk = cls()
        disk._add(folder, disk._root)
        disk._safe = dict(disk._names)
        return disk

    def _add(self, folder: Path, place: _Folder) -> None:
        for path in folder.iterdir():
            node = _Folder() if path.is_dir() else _File(bytearray(path.read_bytes()))
            self._inodes[path.stat().st_ino] = self._names[place, path.name] = node
            if isinstance(node, _Folder):
                self._add(path, node)

    def do(self, done: FileOperation) -> None:
        """Do one more operation."""
        if done.kind == "B":
            self._inodes[done.inode] = self._root
        elif done.kind in "SF":
            self.has_failed |= done.kind == "F"
            self._sync(self._inodes[done.inode], has_failed=done.kind == "F")
        elif done.kind in "CDURL":
            change = self._change(done)
            _apply(change, self._names)
            self._later.append(change)
        elif done.kind != "M":
            self._file(done.inode).later.append(done)

    def write_all(self, folder: Path) -> None:
        """Write the files as they are while there is power."""
        write_image(folder, self._walk(self._names, lambda file: file.content(_always, 512)))

    def write_safe(self, folder: Path) -> None:
        """Write what is safe, as if the power failed and all else were lost."""
        write_image(folder, self._walk(self._safe, lambda file: file.content(_never, 512)))

    def write_left(self, folder: Path, random_: random.Random) -> None:
        """Write the files as they may be after the power failed."""
        end = random_.choice((0, 0.1, 0.5, 1))  # likelihood of each change to be the first lost
        names = self._names_left(lambda: random_.random() >= end)

        def content(file: _File) -> bytearray:
            share = random_.choice(SHARES)
            return file.content(lambda: random_.random() < share, random_.choice(SECTORS))

        write_image(folder, self._walk(names, content))

    def count_unsafe(self) -> int:
        """Operations that may come through or not if the power fails now."""
        return len(self._later) + sum(file.unsafe_count for file in self._unsafe_files())

    def image(self, choices: Sequence[bool]) -> Image:
        """The files as they are if of the unsafe operations just the chosen ones come through.

        A change of a folder comes through only after all earlier changes of it.
        """
        rest = iter(choices)
        names = self._names_left(lambda: next(rest))
        contents = {file: file.content(lambda: next(rest), _WHOLE) for file in self._unsafe_files()}
        return self._walk(names, lambda file: contents.get(file, file.safe))

    def _names_left(self, comes_through: Callable[[], bool]) -> _Names:
        names, ended = dict(self._safe), set[_Folder]()
        for change in self._later:
            folders = {place for place, _, _ in change}
            if comes_through() and not folders & ended:
                _apply(change, names)
            else:
                ended |= folders
        return names

    def _unsafe_files(self) -> list[_File]:
        nodes = dict.fromkeys([*self._names.values(), *self._safe.values()])
        return [node for node in nodes if isinstance(node, _File) and node.unsafe_count]

    def _walk(self, names: _Names, content: Callable[[_File], bytearray]) -> Image:
        """Every folder and file that can be reached, folders before their files."""
        inside = defaultdict[_Folder, list[tuple[str, _Node]]](list)
        for (place, name), node in names.items():
            inside[place].append((name, node))
        waiting: list[tuple[PurePosixPath, _Node]] = [(PurePosixPath(), self._root)]
        for path, node in waiting:
            if isinstance(node, _File):
                yield path, content(node)
            else:
                yield path, None
                waiting += [(path / name, one) for name, one in inside[node]]

    def _change(self, done: FileOperation) -> _Change:
        place, name = self._folder(done.path.parent), done.path.name
        if done.kind in "CD":
            node = self._inodes[done.inode] = _File() if done.kind == "C" else _Folder()
            return [(place, name, node)]
        if done.kind == "U":
            return [(place, name, None)]
        new = (self._folder(done.other.parent), done.other.name, self._names[place, name])
        return [new] if done.kind == "L" else [(place, name, None), new]

    def _folder(self, path: PurePosixPath) -> _Folder:
        folder: _Node = self._root
        for name in path.parts:
            assert isinstance(folder, _Folder)
            folder = self._names[folder, name]
        assert isinstance(folder, _Folder)
        return folder

    def _file(self, inode: int) -> _File:
        file = self._inodes[inode]
        assert isinstance(file, _File)
        return file

    def _sync(self, node: _Node, *, has_failed: bool) -> None:
        if isinstance(node, _File):
            node.sync(has_failed=has_failed)
            return
        if has_failed:  # a journal keeps the names in order, so a later sync includes these
            return
        folders, safe = {node}, set[int]()
        for number, change in reversed(list(enumerate(self._later))):
            places = {place for place, _, _ in change}
            if places & folders:  # what it needs in another folder is there, too
                folders |= places
                safe.add(number)
        for number in sorted(safe):
            _apply(self._later[number], self._safe)
        self._later = [change for n, change in enumerate(self._later) if n not in safe]


def write_image(folder: Path, image: Image) -> None:
    """Write the folders and files of an image."""
    for path, content in image:
        if content is None:
            (folder / path).mkdir(mode=0o700)
        else:
            (folder / path).write_bytes(content)


def _apply(change: _Change, names: _Names) -> None:
    for place, name, node in change:
        if node is None:
            names.pop((place, name), None)
        else:
            names[place, name] = node
