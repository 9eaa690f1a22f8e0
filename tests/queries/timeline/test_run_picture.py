"""A run on a time axis."""

from __future__ import annotations

import re

from tracehouse.queries.timeline.run_picture import (
    MOST_SLICES,
    Part,
    Slice,
    Timeline,
    timeline_figure,
    timeline_plot,
)

EVIL = "</title></svg><script>\"'"


def _bars(text: str) -> dict[str, tuple[float, float]]:
    """Where each slice starts, and its row."""
    found = re.findall(r'<svg x="([\d.]+)%" y="([\d.]+)".*?<title>(.*?):', text)
    return {name: (float(x), float(y) / 18) for x, y, name in found}


def test_slices_stand_under_those_that_hold_them() -> None:
    slices = [
        Slice("a", None, 0, "kernel", 10, 30), Slice("whole", None, 0, "method", 0, 100),
        Slice("inside a", None, 0, "delegate_op", 10, 5), Slice("b", None, 0, "kernel", 40, 60),
    ]  # fmt: skip
    assert _bars(timeline_plot(Timeline.of(slices))) == {
        "whole": (0, 0), "a": (10, 1), "inside a": (10, 2), "b": (40, 1),
    }  # fmt: skip


def test_a_part_has_its_slices_and_those_around_them_in_its_own_width() -> None:
    slices = [
        Slice("whole", None, 0, "method", 0, 100), Slice("a", None, 0, "kernel", 0, 40),
        Slice("b", None, 0, "kernel", 40, 20), Slice("in b", None, 0, "delegate_op", 45, 5),
    ]  # fmt: skip
    part = Part(40, 60, lambda start, end: f"/x?from={start:.0f}&to={end:.0f}", ("in b",))
    drawn = timeline_plot(Timeline.of(slices, part), part=part)
    assert _bars(drawn) == {"whole": (0, 0), "b": (0, 1), "in b": (25, 2)}
    assert re.findall('href="(.*?)"', drawn) == ["/x?from=45&amp;to=50"]
    assert re.findall('class="(kind-[^"]* changed)"', drawn) == ["kind-delegate_op changed"]
    assert "40 ns</text>" in drawn


def test_a_call_that_contains_its_kernel_takes_no_row() -> None:
    slices = [
        Slice("OPERATOR_CALL", None, 0, "operator_call", 0, 10),
        Slice("a", None, 0, "kernel", 1, 9),
    ]
    assert [one.event_name for one in Timeline.of(slices).slices] == ["a"]


def test_slices_that_overlap_are_not_one_in_the_other() -> None:
    slices = [Slice("a", None, 0, "kernel", 0, 10), Slice("b", None, 0, "kernel", 5, 10)]
    bars = _bars(timeline_plot(Timeline.of(slices)))
    assert bars["a"][1] == bars["b"][1] == 0


def test_only_the_longest_of_too_many_slices_are_drawn() -> None:
    slices = [Slice("short", None, 0, "kernel", i, 1) for i in range(MOST_SLICES)]
    drawn = Timeline.of([*slices, Slice("long", None, 0, "kernel", 0, 5)])
    assert len(drawn.slices) == MOST_SLICES
    assert drawn.slices[0].event_name == "long"


def test_names_are_text() -> None:
    timeline = Timeline.of([Slice(EVIL, None, 0, "kernel", 0, 1)])
    for text in (timeline_plot(timeline), timeline_figure(timeline)):
        assert "<script" not in text
        assert EVIL.replace('"', "").replace("'", "") not in text


def test_an_operator_is_pointed_out_by_its_name_and_number() -> None:
    slices = [Slice("conv", None, number, "kernel", 10 * number, 10) for number in (1, 2, 3)]
    part = Part(zoom=lambda *_: "/zoomed", changed=("conv", "2"))
    drawn = timeline_plot(Timeline.of(slices, part), part=part)
    assert re.findall(r'class="kind-kernel changed".*?<title>(.*?):', drawn) == ["conv #2"]
