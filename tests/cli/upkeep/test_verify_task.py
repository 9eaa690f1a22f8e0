from __future__ import annotations

import pytest

from cli.upkeep.verify_task import Verify, describe
from warehouse.errors import QueryError
from warehouse.upkeep.verification import Damage, Verification


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


def test_the_command_names_a_few_dumps_or_mends_the_whole_store() -> None:
    def remedy(count: int) -> str:
        damages = [Damage(n, f"{n}" * 64, "a.etdp", "events", "changed") for n in range(count)]
        return Verification(99, 98, damages).remedy

    assert remedy(0) == ""
    assert remedy(2) == f"tracehouse rebuild --dumps {'0' * 16} --dumps {'1' * 16}"
    assert remedy(21) == "tracehouse rebuild"
    assert describe(Verification(1200, 7, [])) == [
        "verified 1,200 dumps, of which 7 were decoded again"
    ]
