"""The dumps of a lake, and the parts that contain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.layout import LakePart
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.tables import read_columns


class DumpLocation(NamedTuple):
    """A dump of a lake, and the part that contains it."""

    dump_id: int
    sha256: str
    part: LakePart


def locate_dumps(lake: Lake, state: LakeState) -> list[DumpLocation]:
    """Every dump of a lake, in order of parts; a dump in two parts occurs twice.

    Raises:
        LakeError: A file cannot be read.
    """
    return [
        DumpLocation(dump_id, sha256, part)
        for file in state.of("dumps")
        if (part := LakePart.of(file.path))
        for dump_id, sha256 in read_columns(lake, file.path, "dump_id", "sha256")
    ]


def find_repeated(dumps: Iterable[DumpLocation]) -> Iterator[DumpLocation]:
    """Dumps that two writers added at the same time, in all parts but the first."""
    seen: set[str] = set()
    for dump in dumps:
        if dump.sha256 in seen:
            yield dump
        seen.add(dump.sha256)
