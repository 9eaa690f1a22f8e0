"""Places of files: on disk, in a zip, or in a zip inside a zip."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection
from typing import NamedTuple

_INNER_ZIP = re.compile(r"(.+?\.zip)!(.*)", re.IGNORECASE | re.DOTALL)


class Source(NamedTuple):
    """A file to read: a local path, or a member of the zip at that path.

    A member of a zip that is itself a member is called ``INNER.zip!MEMBER``.
    """

    path: str
    member: str | None = None

    @property
    def name(self) -> str:
        """The name in messages, ``run.etdp`` or ``a.zip!inner/run.etdp``; valid Unicode."""
        text = f"{self.path}!{self.member}".removesuffix("!") if self.member else self.path
        return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()

    @property
    def file_name(self) -> str:
        """The last part of the path."""
        if self.member is None:
            return self.path.rpartition("/")[2]
        return split_zip(self.member)[1].rpartition("/")[2]

    @property
    def folder(self) -> Folder:
        """The folder of the file."""
        if self.member is None:
            head, slash, _ = self.path.rpartition("/")
            return Folder(head.rstrip("/") or slash)
        return Folder(self.path, _folder_of(self.member))

    @property
    def place(self) -> str:
        """The absolute path with ``/``; a zip counts as a folder named without its suffix."""
        path = os.path.abspath(self.path).replace(os.sep, "/")
        if self.member is None:
            return path
        inner, rest = split_zip(self.member)
        parts = [os.path.splitext(path)[0], *([os.path.splitext(inner)[0]] if inner else []), rest]
        return "/".join(parts)


class Folder(NamedTuple):
    """A local folder, or a folder inside the zip at that path ('' is the zip's top).

    The top of a zip inside the zip is called ``INNER.zip!``, a folder in it ``INNER.zip!FOLDER``.
    """

    path: str
    inner: str | None = None

    @property
    def parent(self) -> Folder | None:
        """The parent folder (of a zip's top: the zip's folder); None at the root."""
        if self.inner:
            return Folder(self.path, _folder_of(self.inner.removesuffix("!")))
        path = os.path.abspath(self.path)
        above = os.path.dirname(path)
        return Folder(above) if above != path else None

    def file(self, name: str) -> Source:
        """The file of that name in this folder, existing or not."""
        if self.inner is None:
            return Source(os.path.join(self.path, name))
        is_bare = self.inner in ("", f"{self.inner[:-1]}!")
        return Source(self.path, f"{self.inner}{name}" if is_bare else f"{self.inner}/{name}")


def parse_source(text: str) -> Source:
    """The file of that name, or else the zip member that ``ZIP!MEMBER`` names."""
    archive, member = split_zip(text)
    if archive and member and not os.path.exists(text):
        return Source(archive, plain_member(member))
    return Source(text)


def split_zip(text: str) -> tuple[str | None, str]:
    """The zip and the member in ``ZIP!MEMBER``; without a zip, None and the whole text.

    >>> split_zip("job/a.zip!x/run.etdp"), split_zip("a.zip!"), split_zip("x/run.etdp")
    (('job/a.zip', 'x/run.etdp'), ('a.zip', ''), (None, 'x/run.etdp'))
    """
    found = _INNER_ZIP.fullmatch(text)
    return (found[1], found[2]) if found else (None, text)


def plain_member(name: str) -> str:
    """The name of a zip's member with ``/`` between folders, where some tools write ``\\``."""
    return name.replace("\\", "/")


def _folder_of(member: str) -> str:
    archive, rest = split_zip(member)
    folder = rest.rpartition("/")[0]
    return folder if archive is None else f"{archive}!{folder}"


def top_of(path: str | os.PathLike[str] | Source) -> str:
    """The folder above which no manifest holds for the dumps at a path.

    It is the path of a folder; for a file or a glob, the working directory if the path is relative,
    or else the file's folder or the part of the glob before its first wildcard.
    """
    text = path.path if isinstance(path, Source) else os.fspath(path)
    if os.path.isdir(text):
        return os.path.abspath(text)
    here, folder = os.getcwd(), os.path.abspath(os.path.dirname(parse_source(text).path))
    if not os.path.isabs(text) and os.path.commonpath([here, folder]) == here:
        return here
    while glob.has_magic(folder) and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def is_below(path: str, tops: Collection[str]) -> bool:
    """Whether a folder is one of the top folders, whose paths are absolute, or below one.

    >>> is_below("/farm/b1", ["/farm"]), is_below("/", ["/farm"])
    (True, False)
    """
    path = os.path.abspath(path)
    while path not in tops:
        path, below = os.path.dirname(path), path
        if path == below:
            return False
    return True
