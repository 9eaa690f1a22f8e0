from __future__ import annotations

from tracehouse.queries.event_blocks.frames import grid_lines


def grid(**columns):
    return list(grid_lines(columns))


def test_numbers_stand_with_their_points_under_each_other_and_texts_to_the_left():
    assert grid(name=["a", "bb"], value=[1.5, 0.0001234567]) == [
        "╒════╤════════╤═════════════╕",
        "│    │ name   │       value │",
        "╞════╪════════╪═════════════╡",
        "│  0 │ a      │ 1.5         │",
        "├────┼────────┼─────────────┤",
        "│  1 │ bb     │ 0.000123457 │",
        "╘════╧════════╧═════════════╛",
    ]


def test_exponents_are_aligned_by_their_digits_behind_the_point():
    lines = grid(value=[3e-05, 12.5, 1.25e-07, 4.0])
    assert [line[7:16] for line in lines[3::2]] == [
        " 3e-05   ", "12.5     ", " 1.25e-07", " 4       ",
    ]  # fmt: skip


def test_a_column_of_whole_numbers_is_to_the_right_without_fractions():
    lines = grid(value=[5, 12345678])
    assert (lines[1], lines[3]) == ("│    │    value │", "│  0 │        5 │")


def test_texts_that_are_numbers_throughout_are_numbers():
    assert grid(n=["15", "7"])[5] == "│  1 │   7 │"
    assert grid(n=["1.50", "nan"])[3] == "│  0 │   1.5 │"
    assert grid(n=["1.50", "x"])[3] == "│  0 │ 1.50 │"
    assert grid(n=["1e999", "1"])[3] == "│  0 │ 1e999 │"


def test_missing_grid_cells_are_empty_among_texts_and_nan_among_numbers():
    lines = grid(text=["a", None], number=[1.5, float("nan")], other=[2.0, None])
    assert lines[5] == "│  1 │        │    nan   │         │"


def test_booleans_and_lists_are_texts():
    assert grid(a=[True], b=[["x", "y"]])[3] == "│  0 │ True │ ['x', 'y'] │"


def test_a_text_of_several_lines_takes_as_many():
    assert grid(a=["two\nlines"], b=["one"])[3:5] == [
        "│  0 │ two   │ one │",
        "│    │ lines │     │",
    ]


def test_a_table_without_rows_has_its_header():
    assert len(grid(a=[], b=[])) == 3


def test_names_in_a_frame_do_not_steer_a_terminal():
    lines = grid(name=["a\x1b[2J\u202e"])
    assert r"│ a\x1b[2J\u202e │" in lines[3]
    assert len({len(line) for line in lines}) == 1


def test_a_table_without_rows_has_no_index_column():
    assert grid(name=[])[1] == "│ name   │"


def test_booleans_beside_gaps_are_numbers_and_alone_are_texts():
    assert [line.split("│")[2] for line in grid(is_on=[True, float("nan")])[3::2]] == [
        "       1 ",
        "     nan ",
    ]
    assert grid(is_on=[True])[3].split("│")[2] == " True    "
