"""Copying the dumps that ship with tracehouse to a folder for `tracehouse ingest`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from tracehouse.ingest.errors import SinkError

DUMPS = 532  # most files are zip archives of several dumps


_NIGHTS = "nights.zip"


class SampleSummary(NamedTuple):
    """Number and total size of the copied files."""

    files: int
    byte_count: int


def copy_sample(out: Path) -> SampleSummary:
    """Copy the dumps that ship with tracehouse to a folder; identical files are kept.

    Raises:
        SinkError: The folder cannot be written, or has a different file of the same name.
    """
    shipped = files("tracehouse.ingest.sample")
    copied = [*_list_files(shipped / "farm", out), (shipped / _NIGHTS, out / _NIGHTS)]
    try:
        contents = [(target, source.read_bytes()) for source, target in copied]
        for target, content in contents:
            if target.exists() and target.read_bytes() != content:
                raise SinkError(
                    f"{target}: another file has this name; wanted a new or empty folder"
                )
        for target, content in contents:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise SinkError(
            f"{error.filename or out}: {error.strerror}; wanted a writable folder"
        ) from error
    return SampleSummary(len(contents), sum(len(content) for _, content in contents))


def _list_files(source: Traversable, target: Path) -> Iterator[tuple[Traversable, Path]]:
    """Each file below a folder, with its place in the target folder."""
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        place = target / entry.name
        if entry.is_dir():
            yield from _list_files(entry, place)
        else:
            yield entry, place
