"""Parts of a lake rewritten: merged, or without some of their dumps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from tracehouse.warehouse.lake.changes import LakeChange
from tracehouse.warehouse.lake.connections import reading_lake
from tracehouse.warehouse.lake.ids import DumpLocation, LakeIds
from tracehouse.warehouse.lake.layout import LakePart
from tracehouse.warehouse.lake.writing import read_dumps, write_parts


def rewrite_parts(
    change: LakeChange, parts: Collection[LakePart], without: Collection[int] = ()
) -> None:
    """Rewrite the dumps of parts of one partition, but for some, into as few parts as hold them.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    with reading_lake(change.lake, change.state, parts) as connection:
        kept = [dump for dump in read_dumps(connection) if dump.dump_id not in without]
        write_parts(change, connection, kept, LakeIds())
    change.removed += [path for paths in change.state.files_of(parts).values() for path in paths]


def remove_dumps(change: LakeChange, dumps: Iterable[DumpLocation]) -> None:
    """Rewrite the parts of dumps without these.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    parts: dict[LakePart, set[int]] = defaultdict(set)
    for dump in dumps:
        parts[dump.part].add(dump.dump_id)
    for part, ids in parts.items():
        rewrite_parts(change, [part], ids)
