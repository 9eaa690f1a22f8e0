from __future__ import annotations

import re

from tests.support.explained import frame, run_times
from tracehouse.queries.explain.flame import flame_plot

RECT = re.compile(r'<rect [^>]*?x="([\d.]+)"[^>]*?y="([\d.]+)"[^>]*?width="([\d.]+)"[^>]*?>')


def boxes(times):
    return [tuple(map(float, found)) for found in RECT.findall(flame_plot(times))]


def test_both_builds_have_one_scale():
    widths = [width for _, _, width in boxes(run_times(base=1000.0, head=2000.0))]
    assert widths == [500.0, 1000.0]


def test_parts_are_inside_their_frame_one_after_the_other():
    times = run_times(frame("a", 600.0, 900.0), frame("b", 400.0, 600.0))
    assert [box[0] for box in boxes(times)] == [0.0, 0.0, 400.0, 0.0, 0.0, 600.0]


def test_colours_say_how_much_a_part_changed():
    parts = [frame("slow", 400.0, 800.0), frame("new", None, 400.0), frame("gone", 200.0, None)]
    text = flame_plot(run_times(*parts))
    for kind in ("slower", "new", "gone"):
        assert f'class="{kind}"' in text
    assert "slow: 400 ns → 800 ns, +400 ns (+100 %)" in text


def test_parts_that_are_too_narrow_are_not_drawn():
    assert len(boxes(run_times(frame("tiny", 1.0, 1.0)))) == 2


def test_a_deep_graph_is_cut():
    part = frame("leaf", 1000.0, 1500.0)
    for number in range(60):
        part = frame(f"m{number}", 1000.0, 1500.0, part)
    assert len(boxes(run_times(part))) == 48


def test_names_are_text():
    times = run_times(frame("<script>alert(1)</script>", 900.0, 1400.0))
    assert "<script" not in flame_plot(times)


def test_a_run_without_times_has_no_picture():
    assert flame_plot(run_times(base=0.0, head=0.0)) == ""
