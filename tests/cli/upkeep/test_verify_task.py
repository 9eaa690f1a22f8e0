from __future__ import annotations

import pytest

from tracehouse.cli.upkeep.verify_task import Verify, describe
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.upkeep.verification import Damage, Verification


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
    compared = "verified 1,200 dumps, of which 7 were decoded again"
    assert describe(Verification(1200, 7, [])) == [compared]
    damage = Damage(1, "0" * 64, "a.etdp", "events", "changed")
    assert describe(Verification(1200, 7, [damage], "tracehouse store rebuild")) == [
        compared,
        "1 disagree; to mend the store, run 'tracehouse store rebuild'",
    ]
