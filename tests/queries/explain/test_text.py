from __future__ import annotations

from tests.support.explained import explanation, frame, programs, run_times
from tracehouse.queries.explain.text import plain_text


def test_the_parts_of_a_run_are_aligned_and_indented():
    layer = frame("layer (Linear)", 600.0, 1080.0, frame("mm #1", 600.0, 1080.0, is_member=True))
    lines = plain_text(explanation(times=[run_times(layer)])).splitlines()
    first = lines.index("Time by module of Execute, phone · net · xnnpack")
    assert lines[first + 1 : first + 5] == [
        "                        Base      Head   Change",
        "  Execute           1.000 µs  1.500 µs  +500 ns  +50.0 %",
        "    layer (Linear)    600 ns  1.080 µs  +480 ns  +80.0 %",
        "      * mm #1         600 ns  1.080 µs  +480 ns  +80.0 %",
    ]


def test_long_cells_go_on_in_the_next_line():
    (change,) = explanation().programs[0].changes
    long = change.model_copy(update={"change": "added", "base": None, "head": "word " * 30})
    text = plain_text(explanation(programs=[programs(long)]))
    assert max(map(len, text.splitlines())) < 160
    assert text.count("word") == 30


def test_what_is_not_shown_is_counted():
    (change,) = explanation().programs[0].changes
    text = plain_text(explanation(programs=[programs(*[change] * 50)], place_count=7))
    assert "  and 10 more rows" in text
    assert "6 more places: the costliest device of each model is shown" in text


def test_names_cannot_write_to_the_terminal():
    times = run_times(frame("\x1b[31mred", 500.0, 700.0))
    assert "\x1b" not in plain_text(explanation(times=[times], findings=["\x1b[2J"]))
