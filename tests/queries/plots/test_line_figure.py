from __future__ import annotations

import xml.etree.ElementTree as ET

from tracehouse.queries.plots.line_figure import line_figure
from tracehouse.queries.report.line_chart import Line, LineChart


def test_a_file_has_names_and_colours_of_its_lines_and_no_links() -> None:
    line = Line("add & mul", [1.0, 2.0], hrefs=["/a", "/b"])
    text = line_figure(LineChart("Load", "build", ["b1", "b2"], [line]), "Load time", note="cut")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
    assert all(part in text for part in ("Load time", "add &amp; mul", "cut", ".c0 .line"))
    assert "<a " not in text
    assert "var(" not in text  # programs other than browsers know no variables


def test_nothing_is_drawn_of_nothing() -> None:
    assert line_figure(LineChart("Load", "build", ["b1"], [Line("x", [None])]), "Load") == ""
