from __future__ import annotations

import pytest

from tracehouse.cli.upkeep.tasks import Verify
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.upkeep.verification import Damage, Verification, VerifiedDump


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"share": 0.0}, "share: found 0, wanted more than 0 and at most 1"),
        ({"share": 1.5}, "share: found 1.5, wanted"),
        ({"since": "monday"}, "since: found 'monday', wanted a date: 2026-11-26"),
    ],
)
def test_a_sample_without_meaning_is_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        Verify(**options)  # type: ignore[arg-type]


def test_the_notes_say_what_was_compared_and_name_the_remedy() -> None:
    dumps = [VerifiedDump(1, "0" * 64, "a.etdp")] * 1200
    right = Verify().report(Verification(dumps, []))
    wrong = Verify().report(Verification(dumps, [Damage(*dumps[0], "events", "rows differ")]))
    compared = b"compared 1,200 dumps with the archive: "
    assert (right.num_rows, right.schema.metadata[b"note"]) == (0, compared + b"no row differs")
    assert wrong.num_rows == 1
    remedy = b"1 difference; to remove them, run 'tracehouse store rebuild'"
    assert wrong.schema.metadata[b"note"] == compared + remedy


def test_dumps_that_differ_in_the_lake_are_listed_with_the_remedy() -> None:
    found = Verify(lake="lake").report(Verification([], []), [("0" * 64, "events")])
    assert [(row["source"], row["tables"]) for row in found.to_pylist()] == [("lake", "events")]
    assert b"1 dump differs in the lake; restore it" in found.schema.metadata[b"note"]
