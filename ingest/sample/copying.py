"""The dumps that ship with tracehouse, copied to where `tracehouse ingest` can take them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from ingest.errors import SinkError

DUMPS = 148  # in the files, most of which are zip archives


class SampleSummary(NamedTuple):
    """What was copied: files, and bytes of them."""

    files: int
    byte_count: int


def copy_sample(out: Path) -> SampleSummary:
    """Copy the dumps that ship with tracehouse into a folder; files that are there stay.

    Raises:
        SinkError: The folder cannot be written, or has another file under the name of one of them.
    """
    copied = list(_list_files(files("ingest.sample") / "farm", out))
    try:
        contents = [(target, source.read_bytes()) for source, target in copied]
        for target, content in contents:
            if target.exists() and target.read_bytes() != content:
                raise SinkError(
                    f"{target}: another file of this name, wanted a new or empty folder"
                )
        for target, content in contents:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise SinkError(
            f"{error.filename or out}: {error.strerror}, wanted a folder to write to"
        ) from error
    return SampleSummary(len(contents), sum(len(content) for _, content in contents))


def _list_files(source: Traversable, target: Path) -> Iterator[tuple[Traversable, Path]]:
    """Each file in a folder, and those under it, with its place in another."""
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        place = target / entry.name
        if entry.is_dir():
            yield from _list_files(entry, place)
        else:
            yield entry, place
