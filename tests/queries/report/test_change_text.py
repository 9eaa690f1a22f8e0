from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.changes import change_row
from tracehouse.queries.report.change import change_of_row
from tracehouse.queries.report.tables import ChangeTable
from tracehouse.queries.report.terminal import (
    MAX_WIDTH,
    cell_len,
    folded_lines,
    line_text,
    plain_lines,
    terminal_lines,
)


def _table(*rows):
    return ChangeTable.of(map(change_of_row, rows))


def test_a_row_has_sign_name_place_levels_change_bar_cost_and_word() -> None:
    header, row = map(line_text, terminal_lines(_table(change_row(backend="portable"))))
    assert row.startswith("▲ conv #1 net · portable 1.000 → 1.050 ms  +5.0 %  ")
    assert row.endswith("+50.0  slower")
    assert "━●━" in row
    assert header.split()[:2] == ["base", "head"]
    assert header.endswith("µs/run")


@given(
    st.lists(
        st.tuples(st.text("abc ·模型_", min_size=1, max_size=60), st.floats(1.0, 1e10)),
        min_size=1,
        max_size=5,
    )
)
def test_no_line_is_wider_than_100_columns(pairs) -> None:
    rows = [
        change_row(event_name=name, device=f"{name}{i}", model=name, base_ns=base, base_slow=3,
                   head_slow=4, verdict="regression" if i % 2 else "inconclusive")
        for i, (name, base) in enumerate(pairs)
    ]  # fmt: skip
    table = _table(*rows)
    for line in (*terminal_lines(table), *folded_lines(table)):
        assert cell_len(line_text(line)) <= MAX_WIDTH


def test_a_long_name_is_cut_before_its_number() -> None:
    row = change_row(event_name="max_pool2d_with_indices_and_more_of_it", ordinal=12, backend="xnn")
    (_, line) = terminal_lines(_table(row), width=70)
    assert "… #12" in line_text(line)


def test_speeds_and_notes_are_below_their_row() -> None:
    change = change_of_row(change_row(base_slow=5, head_slow=8))._replace(note="may be relu #1")
    lines = [line_text(line) for line in terminal_lines(ChangeTable.of([change]))]
    assert lines[2:] == [
        "  two speeds: slow in 5 → 8 of 12 dumps; base and head are of the fast one",
        "  may be relu #1",
    ]


def test_plain_change_lines_are_ascii_with_a_numeric_interval() -> None:
    (line,) = plain_lines(_table(change_row(delta=-0.05, delta_low=-0.06, delta_high=-0.04)))
    assert line == "slower  conv #1  net  1.000 -> 0.950 ms  -5.0 %  [-6.0, -4.0]  -50.0 us"
    assert line.isascii()


def test_noise_that_leaves_the_scale_ends_in_an_arrow() -> None:
    wild = change_row("inconclusive", delta=5.0, delta_low=-0.9, delta_high=9.0)
    (_, line) = folded_lines(_table(change_row(), wild))
    assert "▸" in line_text(line)
    assert "╌" in line_text(line)


def test_a_table_without_changes_prints_no_lines() -> None:
    assert terminal_lines(_table()) == plain_lines(_table()) == []
