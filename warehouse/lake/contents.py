"""What dumps a lake has, in which of its parts; and parts written anew without some of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from typing import NamedTuple

import pyarrow.parquet as pq

from warehouse.lake.answering import LakeAnswering
from warehouse.lake.commits import LakeState
from warehouse.lake.ids import Numbers
from warehouse.lake.layout import LakePart
from warehouse.lake.place import Lake
from warehouse.lake.schemas import FACTS
from warehouse.lake.views import show_files
from warehouse.lake.writing import Written, plan_parts, read_dumps, write_parts


class HeldDump(NamedTuple):
    """A dump of a lake, and the part that it is in."""

    dump_id: int
    sha256: str
    part: LakePart


def find_dumps(lake: Lake, state: LakeState) -> list[HeldDump]:
    """Every dump of a lake, in order of parts; one that is in two comes twice.

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
            found += [HeldDump(dump_id, sha256, part) for dump_id, sha256 in pairs]
    return found


def read_numbers(lake: Lake, paths: Iterable[str]) -> set[int]:
    """Numbers of the dumps that have rows in files of a lake.

    Raises:
        LakeError: A file cannot be read.
    """
    numbers: set[int] = set()
    for path in paths:
        with lake.opened(path) as stream:
            column = pq.read_table(stream, columns=["dump_id"])["dump_id"]
        numbers.update(column.unique().to_pylist())
    return numbers


def files_of_parts(state: LakeState, parts: Collection[LakePart]) -> dict[str, list[str]]:
    """Files of some parts, by table."""
    tables = {table: [part.path(table) for part in sorted(parts)] for table in FACTS}
    return {table: [p for p in paths if p in state.files] for table, paths in tables.items()}


def write_again(
    lake: Lake, state: LakeState, parts: Collection[LakePart], without: Collection[int] = ()
) -> tuple[Written, list[str]]:
    """Write the dumps of some parts of one partition into as few parts as they fit in.

    Args:
        lake: The lake.
        state: What it consists of.
        parts: The parts.
        without: Dumps that are left out.

    Returns:
        What was written, and the files that it takes the place of.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    files = files_of_parts(state, parts)
    with closing(LakeAnswering(lake, state)) as answering:
        connection = answering.connection("ours")
        for table, paths in files.items():
            show_files(connection, lake, table, paths)
        kept = [dump for dump in read_dumps(connection) if dump.dump_id not in without]
        planned = plan_parts(kept, names_taken(state))
        written = write_parts(connection, lake, planned, Numbers())
    return written, [path for paths in files.values() for path in paths]


def by_part(dumps: Iterable[HeldDump]) -> Mapping[LakePart, list[HeldDump]]:
    """Dumps by the part that they are in."""
    parts: dict[LakePart, list[HeldDump]] = defaultdict(list)
    for dump in dumps:
        parts[dump.part].append(dump)
    return parts


def names_taken(state: LakeState) -> set[str]:
    """Names of parts that were removed, which are not to be used again."""
    return {part.name for path in state.removed if (part := LakePart.of(path))}
