"""The dumps of a lake, and the parts and files that contain them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import pyarrow.parquet as pq

from warehouse.lake.commits import LakeState
from warehouse.lake.layout import LakePart
from warehouse.lake.place import Lake
from warehouse.lake.schemas import FACTS


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
    found = []
    for file in state.of("dumps"):
        part = LakePart.of(file.path)
        if part is not None:
            with lake.opened(file.path) as stream:
                rows = pq.read_table(stream, columns=["dump_id", "sha256"])
            pairs = zip(rows["dump_id"].to_pylist(), rows["sha256"].to_pylist(), strict=True)
            found += [DumpLocation(dump_id, sha256, part) for dump_id, sha256 in pairs]
    return found


def read_dump_ids(lake: Lake, paths: Iterable[str]) -> set[int]:
    """Ids of the dumps that have rows in files of a lake.

    Raises:
        LakeError: A file cannot be read.
    """
    ids: set[int] = set()
    for path in paths:
        with lake.opened(path) as stream:
            column = pq.read_table(stream, columns=["dump_id"])["dump_id"]
        ids.update(column.unique().to_pylist())
    return ids


def files_of_parts(state: LakeState, parts: Collection[LakePart]) -> dict[str, list[str]]:
    """Files of some parts, by table."""
    tables = {table: [part.path(table) for part in sorted(parts)] for table in FACTS}
    return {table: [p for p in paths if p in state.files] for table, paths in tables.items()}


def group_by_part(dumps: Iterable[DumpLocation]) -> Mapping[LakePart, list[DumpLocation]]:
    """Dumps by the part that contains them."""
    parts: dict[LakePart, list[DumpLocation]] = defaultdict(list)
    for dump in dumps:
        parts[dump.part].append(dump)
    return parts


def removed_part_names(state: LakeState) -> set[str]:
    """Names of removed parts, which must not be used again."""
    return {part.name for path in state.removed if (part := LakePart.of(path))}
