"""ETRecords and debug buffers that came after their dumps, which are written again with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from warehouse.lake.commits import LakeState, moment_of, new_id
from warehouse.lake.dump_locations import group_by_part, locate_dumps, removed_part_names
from warehouse.lake.place import Lake
from warehouse.lake.plans import write_plan
from warehouse.lake.rewriting import rewrite_parts
from warehouse.lake.writing import WrittenFiles, commit_written
from warehouse.spark.decoding import DecodedGroups
from warehouse.spark.groups import DumpGroup, group_entries
from warehouse.spark.plans import files_of
from warehouse.spark.surveys import DumpFacts

Decode = Callable[[Sequence[DumpGroup], datetime], DecodedGroups]


def attach_late(
    lake: Lake, state: LakeState, late: Sequence[DumpFacts], decode: Decode, *, parallelism: int
) -> DecodedGroups:
    """Replace dumps of a lake by the same dumps with new companions, in one commit.

    If it is killed, or another process rewrites the same parts, the lake stays as it is, and the
    next ingest attaches them.

    Args:
        lake: The lake.
        state: Its state.
        late: The dumps.
        decode: Decodes groups, given a time of ingest.
        parallelism: Number of groups that are decoded at a time.

    Returns:
        The decoded groups.
    """
    id_ = new_id()
    groups = group_entries(late, parallelism=parallelism, taken=removed_part_names(state))
    write_plan(lake, id_, [file for group in groups for file in files_of(group)])
    decoded = decode(groups, moment_of(id_))
    whole = [group for group in groups if group.name not in decoded.changed]
    hashes = {entry.sha256 for group in whole for entry in group.entries}
    written, removed = [WrittenFiles(id_, decoded.added)], []
    held = (dump for dump in locate_dumps(lake, state) if dump.sha256 in hashes)
    for part, dumps in group_by_part(held).items():
        rest, files = rewrite_parts(lake, state, [part], {dump.dump_id for dump in dumps})
        written.append(rest)
        removed += files
    commit_written(lake, written, by="spark", removed=removed)
    return decoded
