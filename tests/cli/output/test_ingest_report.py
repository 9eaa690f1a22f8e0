from __future__ import annotations

import pytest

from tracehouse.cli.output.ingest_report import SHOWN, write_refusals
from tracehouse.ingest.dump import Refusal


def _refusals(count: int, detail: str = "no build; give --build") -> list[Refusal]:
    return [Refusal(f"{detail[:2]}{n}.etdp", None, "manifest", None, detail) for n in range(count)]


def test_refusals_for_one_reason_are_a_line_with_a_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_refusals([*_refusals(10), *_refusals(1, "cut off")], remedy="look")
    assert capsys.readouterr().err.splitlines() == [
        "refused: no0.etdp and 9 more: no build; give --build [manifest]",
        "refused: cu0.etdp: cut off [manifest]",
    ]


def test_reasons_beyond_the_first_are_counted_in_files(capsys: pytest.CaptureFixture[str]) -> None:
    many = [one for n in range(SHOWN + 2) for one in _refusals(3, f"{n:02} is wrong")]
    write_refusals(many, remedy="look")
    *lines, last = capsys.readouterr().err.splitlines()
    assert len(lines) == SHOWN
    assert last == "and 6 more; look"
