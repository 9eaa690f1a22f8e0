from __future__ import annotations

from tests.support.reports import full_report, group, member, report
from tracehouse.queries.report.terminal import MAX_WIDTH, cell_len, line_text, report_lines


def test_a_terminal_gets_the_verdict_the_alerts_and_the_next_command() -> None:
    lines = [line_text(line) for line in report_lines(full_report())]
    assert lines[0].startswith("2 causes made operators slower")
    text = "\n".join(lines)
    for part in ("Act on these", "▲ convolution #3", "Look at these", "Also known", "why:  trace"):
        assert part in text
    assert "alert g-5f1c9a2e, and 7 more changes, on 8 devices, since b40" in text
    assert lines[-1] == "page: tracehouse report --head b42 --output report.html"
    assert not any(mark in text for mark in ("**", "<details>", "> [!", "| ---"))
    assert all(cell_len(line) <= MAX_WIDTH for line in lines if not line.startswith("why:"))


def test_many_alerts_are_counted() -> None:
    many = report(*(group(id=f"g-{i}") for i in range(11)))
    assert "  3 more alerts in the page" in map(line_text, report_lines(many))


def test_a_quiet_night_is_a_few_lines() -> None:
    lines = report_lines(report(summary="Nothing got slower."))
    assert len(lines) <= 7
    assert line_text(lines[0]) == "Nothing got slower."


def test_a_new_change_says_what_to_record() -> None:
    new = group(member(), state="new", dumps_needed=8)
    lines = "\n".join(map(line_text, report_lines(report(new))))
    assert "next: record 8 more dumps of the head" in lines
    assert "not confirmed yet" in lines
