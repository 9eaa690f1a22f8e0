"""Compaction of a lake: small files are merged, removed files deleted after a grace period."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tracehouse.ingest.batching import batches
from tracehouse.warehouse.lake.commits import (
    Commit,
    LakeState,
    commit_path,
    lake_errors,
    merge_commits,
    new_id,
    read_state,
    sum_bytes,
    write_commit,
)
from tracehouse.warehouse.lake.layout import SUFFIX, LakePart, Partition
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import LakeChange, clear_plans, planned_files
from tracehouse.warehouse.lake.tables import find_repeated, locate_dumps
from tracehouse.warehouse.lake.writing import merge_shared_tables, remove_dumps, rewrite_parts

PART_BYTES = 100 << 20  # A part whose largest file has this size is not merged
GRACE = timedelta(hours=1)  # after this time, no reader uses removed files
_STRAY = timedelta(days=1)  # after this time, no writer will commit a file
_LEAST_SHARED_FILES = 8  # A shared table with as many files is merged
_BY = "compact"


class LakeCompaction(NamedTuple):
    """The result of a compaction in numbers; folded commits were replaced by one."""

    merged_files: int
    new_files: int
    deleted_files: int
    folded_commits: int


def compact_lake(lake: Lake, *, now: datetime | None = None) -> LakeCompaction:
    """Merge small files of a lake; delete removed files and fold commits after a grace period.

    Readers and writers may continue meanwhile. After a kill at any moment, the next call continues.

    Raises:
        LakeError: The lake does not exist, is damaged, or cannot be read or written.
    """
    lake.check()
    with lake_errors(lake):
        return _compact(lake, now or datetime.now(UTC))


def _compact(lake: Lake, now: datetime) -> LakeCompaction:
    clear_plans(lake)
    once = LakeChange(lake, read_state(lake), _BY)
    remove_dumps(once, find_repeated(locate_dumps(lake, once.state)))
    once.commit()
    changes = [once, *_merge_parts(lake)]
    shared = LakeChange(lake, read_state(lake), _BY)
    merge_shared_tables(shared, least_files=_LEAST_SHARED_FILES)
    shared.commit()
    changes.append(shared)
    return LakeCompaction(
        sum(len(change.removed) for change in changes),
        sum(len(change.added) for change in changes),
        _delete_removed(lake, now),
        _fold(lake, now - GRACE),
    )


def _merge_parts(lake: Lake) -> Iterator[LakeChange]:
    """Merge small parts, each group in a commit."""
    for parts in _small_parts(read_state(lake)):
        change = LakeChange(lake, read_state(lake), _BY)
        rewrite_parts(change, parts)
        change.commit()
        yield change


def _small_parts(state: LakeState) -> Iterator[Sequence[LakePart]]:
    """Groups of small parts of a partition, each large enough for a part that is not small."""
    partitions: dict[Partition, list[LakePart]] = defaultdict(list)
    for file in state.of("dumps"):
        part = LakePart.of(file.path)
        if part is not None:
            partitions[part.partition].append(part)
    for parts in partitions.values():
        sizes = {part: _size(state, part) for part in parts}
        small = [part for part in parts if sizes[part] < PART_BYTES]
        yield from (some for some in batches(small, sizes.__getitem__, 2 * PART_BYTES) if some[1:])


def _size(state: LakeState, part: LakePart) -> int:
    tables = state.files_of([part]).values()
    return max(sum_bytes(state.files[path] for path in paths) for paths in tables)


def _delete_removed(lake: Lake, now: datetime) -> int:
    """Delete files that commits removed or failed writers left before the grace period."""
    planned = planned_files(lake)
    there = [file for file in lake.list() if file.path.endswith(SUFFIX)]
    state = read_state(lake)
    old = []
    for file in there:
        removal = state.removed.get(file.path)
        if removal is not None:
            is_old = now - removal.at >= GRACE
        else:
            is_old = file.changed_at is not None and now - file.changed_at >= _STRAY
        if is_old and file.path not in state.files and file.path not in planned:
            old.append(file.path)
    lake.delete(old)
    return len(old)


def _fold(lake: Lake, before: datetime) -> int:
    """Replace all commits before a time by one."""
    state = read_state(lake)
    lake.delete(commit_path(id_) for id_ in state.folded)
    old = {id_: commit for id_, commit in state.commits.items() if commit.at < before}
    if len(old) < 2:
        return 0
    young = {path for id_, one in state.commits.items() if id_ not in old for path in one.removed}
    net = merge_commits(old)
    # The name sorts before later commits: of two commits that remove a file, the first is valid.
    moment = max(old).partition("-")[0]
    id_ = f"{moment}-{new_id().partition('-')[2]}"
    removed = sorted(net.removed.keys() & young)
    write_commit(lake, Commit(id_, list(net.files.values()), removed, _BY, sorted(old)))
    lake.delete(commit_path(id_) for id_ in old)
    return len(old)
