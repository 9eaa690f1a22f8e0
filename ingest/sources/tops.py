"""The top folders of a search for manifests: the folders that a user gave."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection

from tracehouse.ingest.sources.places import Source, parse_source


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
