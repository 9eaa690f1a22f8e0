"""The judge of the tortures finds whatever is wrong with a store."""

from __future__ import annotations

from pathlib import Path

from tests.support.stores import write
from tests.support.tiny_dumps import stored_event_counts, tiny_incoming
from tests.tools.reliability.judge import describe_problems, judge_rows, judge_store
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive


def test_lost_doubled_and_partial_dumps_are_counted() -> None:
    rows = [("a", 1), ("a", 1), ("b", 2), ("c", 0)]
    found = judge_rows(rows, {"a", "z"}, lambda _: {1})
    assert describe_problems(found) == "lost: 1, doubled: 1, partial: 2"


def test_a_whole_store_has_no_problem_and_every_fault_is_one(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Warehouse.open_to_write(store, create=True) as warehouse:
        warehouse.ingest([tiny_incoming(number) for number in range(4)])
    counts = dict(stored_event_counts(store))

    def judge(**options: set[str]) -> str:
        return judge_store(store, counts.keys(), lambda sha256: [counts[sha256]], **options)

    assert judge() == ""
    assert judge(forgotten={next(iter(counts))}) == "not forgotten: 1"
    left = write(store / "inbox" / "left.log", b"")
    assert judge() == "left in the inbox: 1"
    left.unlink()
    for segment in Archive(store).segments():
        segment.path.unlink()
    assert judge() == "not in the archive: 4, damaged segments: 1"
    (store / "warehouse.duckdb").unlink()
    assert judge().startswith("not ready: ")
