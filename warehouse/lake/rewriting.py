"""Parts of a lake written anew: merged, or without some of their dumps."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from warehouse.lake.answering import LakeAnswering
from warehouse.lake.commits import LakeState
from warehouse.lake.held import files_of_parts, names_taken
from warehouse.lake.ids import Numbers
from warehouse.lake.layout import LakePart
from warehouse.lake.place import Lake
from warehouse.lake.views import show_files
from warehouse.lake.writing import Written, plan_parts, read_dumps, write_parts


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
