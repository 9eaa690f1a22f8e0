"""Walking local folders: every file once, in a fixed order, despite symlinks."""

from __future__ import annotations

import difflib
import glob
import os
from collections import deque
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple


class Tree(NamedTuple):
    """The contents of a folder.

    Attributes:
        files: Every file, sorted, and whether it is a symlink. A folder that cannot be listed
            appears itself, with a slash at its end.
        names: Names of the entries of each visited folder.
    """

    files: dict[str, bool]
    names: dict[str, list[str]]


def walk(root: str) -> Tree:
    """The contents of a folder.

    Symlinks are followed, but each real folder is visited once, under its own name if it is below
    the root, and parents of the root are never visited.
    """
    files: dict[str, bool] = {}
    names: dict[str, list[str]] = {}
    entered = {str(folder) for folder in Path(os.path.realpath(root)).parents}
    folders, links = [root], deque[str]()
    while folders or links:
        folder = folders.pop() if folders else links.popleft()
        real = os.path.realpath(folder)
        if real in entered:
            continue
        entered.add(real)
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            files[os.path.join(folder, "")] = False
            continue
        names[folder] = [entry.name for entry in listed]
        for entry in listed:
            if not _is_folder(entry):
                files[entry.path] = entry.is_symlink()
            elif entry.is_symlink():
                links.append(entry.path)
            else:
                folders.append(entry.path)
    return Tree(dict(sorted(files.items())), names)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()  # a system call only for symlinks
    except OSError:  # a circle of symlinks
        return False


def expand_glob(pattern: str) -> list[str]:
    """Paths that match a pattern, sorted; ``**`` matches any number of folders.

    With ``**`` only files are returned. `glob` is not used then, as it follows symlink circles.
    """
    parts = pattern.split("/")
    if "**" not in parts:
        return sorted(glob.glob(pattern))
    at = parts.index("**")
    base = "/".join(parts[:at]) or ("/" if at else ".")
    return [
        file.removeprefix("./")
        for folder in sorted(glob.glob(base))
        for file in walk(folder).files
        if _matches(file.removeprefix(folder).strip("/").split("/"), parts[at:])
    ]


def describe_absence(path: str) -> str:
    """Why a path does not exist, with similar names in the last folder that does."""
    if os.path.islink(path):
        return f"links to {os.readlink(path)!r}, which does not exist"
    folder, name = os.path.split(path.rstrip("/"))
    while folder and not os.path.isdir(folder):
        folder, name = os.path.split(folder)
    try:
        near = difflib.get_close_matches(name, os.listdir(folder or "."))
    except OSError:
        near = []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "check the path"
    return f"does not exist: no {name!r} in {os.path.abspath(folder)!r}; {hint}"


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
