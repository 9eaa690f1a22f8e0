"""What must hold of a store after any kill and any loss of power.

Every dump that was acknowledged is there, once, with all its events; the archive holds what the
store holds, in whole segments; nothing is left in the inbox, and nothing was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from pathlib import Path

from tests.support.tiny_dumps import COUNTED
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.verification import verify_archive
from tracehouse.warehouse.errors import ArchiveError, StoreError

EventCounts = Callable[[str], Collection[int]]  # that a dump of this SHA-256 may have


def judge_store(
    store: Path,
    acknowledged: Set[str],
    event_counts: EventCounts,
    *,
    forgotten: Set[str] = frozenset(),
    may_be_damaged: bool = False,
) -> str:
    """What is wrong with a store whose inbox was drained.

    Args:
        store: The store.
        acknowledged: Dumps that must be there.
        event_counts: How many events a dump that is there may have.
        forgotten: Dumps that must not be there.
        may_be_damaged: Whether a file of the inbox may have been refused because it was damaged.
    """
    try:
        with Warehouse.open(store, read_only=True) as warehouse:
            rows = [(row["sha256"], row["n"]) for row in warehouse.sql(COUNTED).to_pylist()]
            refused = warehouse.sql("SELECT reason FROM ingest_errors")["reason"].to_pylist()
            known = warehouse.sql("SELECT segment FROM archive_segments")["segment"].to_pylist()
        archive = Archive(store)
        segments = verify_archive(archive, known)
        held = {e.sha256 for _, e in archive.entries(with_data=False) if e.byte_count is not None}
    except (StoreError, ArchiveError) as error:
        return f"not ready: {error}"
    stored = {sha256 for sha256, _ in rows}
    return describe_problems(
        judge_rows(rows, acknowledged, event_counts)
        | {
            "not forgotten": len(forgotten & (stored | held)),
            "not in the archive": len(stored - held),
            "damaged segments": sum(bool(one.problem) for one in segments),
            "refused": sum(not may_be_damaged or reason != "damaged" for reason in refused),
            "left in the inbox": sum(path.is_file() for path in (store / "inbox").glob("*")),
        }
    )


def judge_rows(
    rows: Iterable[tuple[str, int]], acknowledged: Set[str], event_counts: EventCounts
) -> dict[str, int]:
    """How many dumps are lost, stored twice or stored in part, from SHA-256 and events of each."""
    rows = list(rows)
    stored = {sha256 for sha256, _ in rows}
    return {
        "lost": len(acknowledged - stored),
        "doubled": len(rows) - len(stored),
        "partial": sum(count not in event_counts(sha256) for sha256, count in rows),
    }


def describe_problems(counts: Mapping[str, int]) -> str:
    """The problems that there are, with their counts; "" if there are none."""
    return ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
