from __future__ import annotations

import xml.etree.ElementTree as ET

from tracehouse.queries.drawing.line_chart import Line, LineChart, draw_lines_file


def test_a_file_has_names_and_colours_of_its_lines_and_no_links() -> None:
    line = Line("add & mul", [1.0, 2.0], hrefs=["/a", "/b"])
    text = draw_lines_file(
        LineChart("Load", "build", ["b1", "b2"], [line]), "Load time", note="cut"
    )
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
    assert all(part in text for part in ("Load time", "add &amp; mul", "cut", ".c0 .line"))
    assert "<a " not in text
    assert "var(" not in text  # programs other than browsers know no variables


def test_a_chart_without_a_value_is_empty() -> None:
    assert draw_lines_file(LineChart("Load", "build", ["b1"], [Line("x", [None])]), "Load") == ""
