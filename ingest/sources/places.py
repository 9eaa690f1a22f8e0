"""Where files are: on disk, or inside a zip."""

from __future__ import annotations

import os
from typing import NamedTuple


class Source(NamedTuple):
    """A file to read: a local path, or a member of the zip at that path."""

    path: str
    member: str | None = None

    @property
    def name(self) -> str:
        """The text shown to people, ``run.etdp`` or ``a.zip!inner/run.etdp``; always Unicode."""
        text = f"{self.path}!{self.member}" if self.member else self.path
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

    @property
    def file_name(self) -> str:
        """The last part of the path."""
        return (self.member or self.path).rpartition("/")[2]

    @property
    def folder(self) -> Folder:
        """The folder that holds the file."""
        if self.member is None:
            head, slash, _ = self.path.rpartition("/")
            return Folder(head.rstrip("/") or slash)
        return Folder(self.path, self.member.rpartition("/")[0])

    @property
    def place(self) -> str:
        """The absolute path with ``/``; a zip counts as a folder named without its suffix."""
        path = os.path.abspath(self.path).replace(os.sep, "/")
        return path if self.member is None else f"{os.path.splitext(path)[0]}/{self.member}"


class Folder(NamedTuple):
    """A local folder, or a folder inside the zip at that path ('' is the zip's top)."""

    path: str
    inner: str | None = None

    @property
    def parent(self) -> Folder | None:
        """The folder above, a zip's top lying in the zip's folder; None at the root."""
        if self.inner:
            return Folder(self.path, self.inner.rpartition("/")[0])
        path = os.path.abspath(self.path)
        above = os.path.dirname(path)
        return Folder(above) if above != path else None

    def file(self, name: str) -> Source:
        """The file of that name in this folder, whether it exists or not."""
        if self.inner is None:
            return Source(os.path.join(self.path, name))
        return Source(self.path, f"{self.inner}/{name}" if self.inner else name)
