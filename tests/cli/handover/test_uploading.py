"""What became of dumps that were sent is counted, and shown to whoever watches."""

from __future__ import annotations

from tracehouse.cli.handover.delivering import DeliveryResult
from tracehouse.cli.handover.uploading import UploadSummary
from tracehouse.ingest.dump import Refusal


def test_files_are_accepted_known_conflicts_and_refused_together() -> None:
    summary = UploadSummary()
    for one in (
        DeliveryResult("a", 1_500_000, is_new=True),
        DeliveryResult("b", 500_000, is_new=False),
        DeliveryResult("c", 7, is_new=False, refusal=Refusal("c", None, "conflict", None, "other")),
        DeliveryResult("d", 7, is_new=False, refusal=Refusal("d", None, "truncated", 3, "ends")),
        DeliveryResult("e", 0, is_new=True),
    ):
        summary.add(one)
    counts = {"files": 5, "accepted": 2, "known": 1, "conflicts": 1, "refused": 1, "passed_over": 0}
    assert summary.row(2.5) == {**counts, "megabytes": 2.0, "seconds": 2.5}
