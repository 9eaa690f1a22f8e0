"""Drawings as pictures of dots."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from tests.support.strange_names import NAMES
from tracehouse.queries.drawing.png import draw_png
from tracehouse.queries.plots.figure import query_figure
from tracehouse.warehouse.errors import QueryError

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20">{inside}</svg>'
TEXT = '<text x="4" y="15" style="font: 12px system-ui, sans-serif">x</text>'


def test_a_picture_has_two_dots_per_unit_and_is_not_transparent() -> None:
    picture = draw_png(SQUARE.format(inside=""))
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (60, 40)
    white = draw_png(SQUARE.format(inside='<rect width="30" height="20" fill="#fff"/>'))
    assert picture == white


def test_a_picture_renders_its_texts() -> None:
    assert draw_png(SQUARE.format(inside=TEXT)) != draw_png(SQUARE.format(inside=""))


def test_any_name_is_drawn() -> None:
    table = pa.table({"event_name": list(NAMES), "p50_ns": [1.0] * len(NAMES)})
    assert draw_png(query_figure("percentiles", table, {})).endswith(b"IEND\xaeB`\x82")


def test_a_picture_without_a_font_is_an_error_that_suggests_svg(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tracehouse.queries.drawing.png.FAMILIES", ("No Such Font",))
    with pytest.raises(QueryError, match=r"needs one of the fonts No Such Font.*\.svg"):
        draw_png(SQUARE.format(inside=TEXT))
