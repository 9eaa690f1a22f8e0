"""Parts of a lake rewritten: merged, or without some of their dumps."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import closing

from warehouse.lake.commits import LakeState
from warehouse.lake.connections import LakeConnections
from warehouse.lake.dump_locations import (
    DumpLocation,
    files_of_parts,
    group_by_part,
    removed_part_names,
)
from warehouse.lake.ids import LakeIds
from warehouse.lake.layout import LakePart
from warehouse.lake.place import Lake
from warehouse.lake.views import show_files
from warehouse.lake.writing import WrittenFiles, plan_parts, read_dumps, write_parts


def rewrite_parts(
    lake: Lake, state: LakeState, parts: Collection[LakePart], without: Collection[int] = ()
) -> tuple[WrittenFiles, list[str]]:
    """Rewrite the dumps of parts of one partition, but for some, into as few parts as hold them.

    Returns the new files, and the paths of those that they replace.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    files = files_of_parts(state, parts)
    with closing(LakeConnections(lake, state)) as connections:
        connection = connections.connection("trusted")
        for table, paths in files.items():
            show_files(connection, lake, table, paths)
        kept = [dump for dump in read_dumps(connection) if dump.dump_id not in without]
        planned = plan_parts(kept, removed_part_names(state))
        written = write_parts(connection, lake, planned, LakeIds())
    return written, [path for paths in files.values() for path in paths]


def remove_dumps(
    lake: Lake, state: LakeState, dumps: Iterable[DumpLocation]
) -> tuple[list[WrittenFiles], list[str]]:
    """Rewrite the parts of dumps without these.

    Returns the new files, and the paths of those that they replace.
    """
    written, removed = [], []
    for part, some in group_by_part(dumps).items():
        rest, files = rewrite_parts(lake, state, [part], {dump.dump_id for dump in some})
        written.append(rest)
        removed += files
    return written, removed
