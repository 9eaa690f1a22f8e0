"""What became of dumps that were sent is counted, and shown to whoever watches."""

from __future__ import annotations

from tracehouse.cli.handover.delivering import DeliveryResult, UploadSummary
from tracehouse.cli.output.ingest_report import arrival_lines
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


def test_upload_reports_the_names_of_the_dumps_that_the_service_has() -> None:
    summary = UploadSummary()
    assert summary.arrivals is None
    refused = Refusal("c", None, "truncated", 3, "ends")
    names = {"device": "pixel8", "model": "mv2"}
    summary.add(DeliveryResult("a", 1, is_new=True, names={**names, "build": "b1"}))
    summary.add(DeliveryResult("b", 1, is_new=False, names={**names, "build": "b2"}))
    summary.add(DeliveryResult("c", 1, is_new=False, refusal=refused))
    assert arrival_lines(summary.arrivals, ("--url", "http://127.0.0.1:1")) == [
        "understood: 1 device (pixel8), 2 builds (b1, b2), 1 model (mv2)",
        "next: tracehouse report --url http://127.0.0.1:1",
    ]
