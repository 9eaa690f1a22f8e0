"""Small files of a lake merged; what was removed deleted, once nobody can be reading it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ingest.batching import batches
from warehouse.lake.commits import (
    Commit,
    LakeState,
    commit_path,
    new_id,
    read_state,
    settle,
    sum_bytes,
    write_commit,
)
from warehouse.lake.damage import damage_told
from warehouse.lake.held import by_part, files_of_parts, find_dumps
from warehouse.lake.layout import SUFFIX, LakePart, Partition
from warehouse.lake.place import Lake
from warehouse.lake.plans import clear_plans, planned_files
from warehouse.lake.rewriting import write_again
from warehouse.lake.settling import merge_names
from warehouse.lake.writing import commit_written

PART_BYTES = 100 << 20  # of events, from which on a part stays as it is
GRACE = timedelta(hours=1)  # in which who reads files that were removed is done
_STRAY = timedelta(days=1)  # after which no writer can be about to commit a file
_LEAST_NAMES = 8  # files of a table that dumps share
_BY = "compact"


class CompactedLake(NamedTuple):
    """What was done.

    Attributes:
        merged_files: Files that others took the place of.
        new_files: Those others.
        deleted_files: Files deleted that were removed long enough ago.
        folded_commits: Commits that one took the place of.
    """

    merged_files: int
    new_files: int
    deleted_files: int
    folded_commits: int


def compact_lake(lake: Lake, *, now: datetime | None = None) -> CompactedLake:
    """Merge small files of a lake; delete what was removed, and fold commits, after a grace.

    Readers of commits never miss a file, and writers may go on; killed at any moment, the next
    call goes on.

    Args:
        lake: The lake.
        now: The time that it is.

    Returns:
        What was done.

    Raises:
        LakeError: It is no lake, is damaged, or cannot be read or written.
    """
    lake.check()
    with damage_told(lake):
        return _compact(lake, now or datetime.now(UTC))


def _compact(lake: Lake, now: datetime) -> CompactedLake:
    clear_plans(lake)
    merged, new = _heal(lake)
    for parts in _small_parts(read_state(lake)):
        before = read_state(lake)
        written, removed = write_again(lake, before, parts)
        commit_written(lake, [written], by=_BY, removed=removed)
        merged, new = merged + len(removed), new + len(written.added)
    names, removed = merge_names(lake, read_state(lake), least_files=_LEAST_NAMES)
    commit_written(lake, [names], by=_BY, removed=removed)
    deleted = _delete_removed(lake, now)
    return CompactedLake(
        merged + len(removed), new + len(names.added), deleted, _fold(lake, now - GRACE)
    )


def _heal(lake: Lake) -> tuple[int, int]:
    """Take dumps that two writers put in at once out of all parts but one."""
    state = read_state(lake)
    seen: set[str] = set()
    twice = []
    for dump in find_dumps(lake, state):
        if dump.sha256 in seen:
            twice.append(dump)
        seen.add(dump.sha256)
    merged = new = 0
    for part, dumps in by_part(twice).items():
        written, removed = write_again(lake, state, [part], {dump.dump_id for dump in dumps})
        commit_written(lake, [written], by=_BY, removed=removed)
        merged, new = merged + len(removed), new + len(written.added)
    return merged, new


def _small_parts(state: LakeState) -> Iterator[Sequence[LakePart]]:
    """Small parts of a partition, as many as make one that is not, or all there are."""
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
    paths = files_of_parts(state, [part])
    return max(sum_bytes(state.files[path] for path in own) for own in paths.values())


def _delete_removed(lake: Lake, now: datetime) -> int:
    """Delete files that were removed, or left by writers that failed, long enough ago."""
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
    """Let one commit stand for all that are older than that."""
    state = read_state(lake)
    lake.delete(commit_path(id_) for id_ in state.folded)
    old = {id_: commit for id_, commit in state.commits.items() if commit.at < before}
    if len(old) < 2:
        return 0
    young = {path for id_, one in state.commits.items() if id_ not in old for path in one.removed}
    net = settle(old)
    # In front of all that came later: of two that remove a file the first counts.
    moment = max(old).partition("-")[0]
    id_ = f"{moment}-{new_id().partition('-')[2]}"
    removed = sorted(net.removed.keys() & young)
    write_commit(lake, Commit(id_, list(net.files.values()), removed, _BY, sorted(old)))
    lake.delete(commit_path(id_) for id_ in old)
    return len(old)
