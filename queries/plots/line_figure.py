"""A line chart as a file of its own: heading, legend and colours for light and dark pages. Pure."""

from __future__ import annotations

import svg

from tracehouse.queries.report.drawing import label, title
from tracehouse.queries.report.figures import name_text
from tracehouse.queries.report.line_chart import COLOURS, LineChart, chart_parts, colour_class

WIDTH = 960
STYLE = """
svg { font: 12px system-ui, sans-serif; background: #fff; }
text { fill: #1c2024; } .dim { fill: #5b6470; } .bar { fill: #3f72ad; }
.line { fill: none; stroke-width: 1.8; } .band { opacity: .15; }
.axis, .grid, .tick { stroke: #c3c9d0; } .mark { stroke: #b3261e; stroke-dasharray: 3 3; }
.mark.good { stroke: #136c4a; } .mark.note { stroke: #1d56b8; stroke-dashoffset: 3; }
.gap { fill: none; stroke: #5b6470; }
.hit { fill-opacity: 0; } .hair { stroke: #5b6470; } .values, .hair { visibility: hidden; }
.at:hover .values, .at:hover .hair { visibility: visible; }
svg:has(.at:hover) .mark-name { visibility: hidden; }
"""
DARK = """
@media (prefers-color-scheme: dark) {
svg { background: #14171b; } text { fill: #e6e9ed; } .dim { fill: #9aa4b0; } .bar { fill: #7fb0e6; }
.axis, .grid, .tick { stroke: #3a424d; }
"""
_HEIGHT, _HEAD, _ROW, _MARGIN = 320, 30, 18, 12


def line_figure(chart: LineChart, heading: str, *, note: str = "") -> str:
    """The chart as SVG; empty if there is no value."""
    lines = [line._replace(hrefs=()) for line in chart.lines]  # links lead nowhere from a file
    elements = chart_parts(chart._replace(lines=lines, is_live=False), WIDTH - 2 * _MARGIN, _HEIGHT)
    if not elements:
        return ""
    parts: list[svg.Element] = [
        title(heading),
        svg.Style(text=_style()),
        label(_MARGIN, 20, heading, "start"),
        svg.G(elements=elements, transform=[svg.Translate(_MARGIN, _HEAD)]),
    ]
    y = _HEAD + _HEIGHT
    for number, line in enumerate(lines):
        y += _ROW
        parts += [
            svg.Rect(
                x=_MARGIN, y=y - 9, width=10, height=10, class_=[colour_class(number), "point"]
            ),
            label(_MARGIN + _ROW, y, name_text(line.name, 130), "start"),
        ]
    if note:
        y += _ROW
        parts.append(label(_MARGIN, y, note, "start"))
    box = svg.ViewBoxSpec(0, 0, WIDTH, y + _MARGIN)
    drawn = svg.SVG(width=WIDTH, height=y + _MARGIN, viewBox=box, elements=parts)
    return drawn.as_str() + "\n"


def _style() -> str:
    light, dark = zip(*COLOURS, strict=True)
    return f"{STYLE}{_rules(light)}{DARK}{_rules(dark)}}}\n"


def _rules(colours: tuple[str, ...]) -> str:
    return "".join(
        f".c{i} .line {{ stroke: {colour}; }} .c{i} .band, .c{i}.point {{ fill: {colour}; }}\n"
        for i, colour in enumerate(colours)
    )
