from __future__ import annotations

from tracehouse.queries.report.parts import break_down
from tracehouse.queries.report.terminal import sum_lines, table_lines

PLACE = {"device": "phone", "model": "m", "backend": None, "run": "Execute"}


def test_numbers_are_aligned_to_the_right_and_long_cells_go_on_below() -> None:
    rows = [("a long name of an operator", "9 ns"), ("b", "1,000 ns")]
    assert list(table_lines(("Name", "Time"), rows, {1}, most_cell=12)) == [
        "  Name             Time",
        "  a long name      9 ns",
        "  of an",
        "  operator",
        "  b            1,000 ns",
    ]


def test_many_rows_are_cut() -> None:
    lines = list(table_lines(("N",), [(str(n),) for n in range(50)], {0}))
    assert len(lines) == 42
    assert lines[-1] == "  and 10 more rows"


def test_the_parts_of_each_method_have_a_heading() -> None:
    found = break_down(PLACE, (1_000_000, 1_200_000), [], (30_000, 40_000))
    assert list(sum_lines([found, found]))[:6] == [
        "",
        "Parts of the change of Execute, phone · m",
        "  Part                Base      Head  Cost per run, µs",
        "  framework       30.00 µs  40.00 µs            +10.00",
        "  irregular runs         –         –           +190.00",
        "  Execute         1.000 ms  1.200 ms           +200.00",
    ]
