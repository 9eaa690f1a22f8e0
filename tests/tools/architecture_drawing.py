"""The drawing of docs/architecture.md: where a dump goes, and which folder does what on the way."""

from __future__ import annotations

from typing import NamedTuple

import svg

from tracehouse.queries.drawing.elements import WIDTH, draw_file, label

_HEIGHT, _MARGIN = 46, 14
_STEP = _HEIGHT + 32  # from row to row
# The class of a series of charts, whose colour each package has.
_CLASSES = {"ingest": "c1", "warehouse": "c0", "queries": "c3", "cli": "c2", "outside": "c5"}


class _Box(NamedTuple):
    """A box: its row, its left edge and width in twelfths of the drawing, and its texts."""

    row: int
    left: int
    width: int
    package: str
    name: str
    text: str

    @property
    def x(self) -> float:
        return _MARGIN + self.left * (WIDTH - 2 * _MARGIN + 16) / 12

    @property
    def y(self) -> float:
        return _MARGIN + self.row * _STEP

    @property
    def right(self) -> float:
        return self.x + self.width * (WIDTH - 2 * _MARGIN + 16) / 12 - 16

    @property
    def middle(self) -> float:
        return (self.x + self.right) / 2


_BOXES = {
    "files": _Box(0, 0, 4, "outside", "Files, zips, buckets", "ingest, watch"),
    "uploads": _Box(0, 4, 4, "outside", "Uploads", "curl, upload, apps"),
    "programs": _Box(0, 8, 4, "outside", "Other programs", "Inbox.accept"),
    "sources": _Box(1, 0, 4, "ingest", "ingest/sources, manifest", "find dumps, merge manifests"),
    "serve": _Box(1, 4, 4, "cli", "cli/serve", "checks tokens, accepts uploads"),
    "inbox": _Box(1, 8, 4, "warehouse", "warehouse/inbox", "a log, synced before the answer"),
    "load": _Box(2, 0, 4, "warehouse", "warehouse/load", "reads, hashes, skips known dumps"),
    "decode": _Box(2, 4, 4, "ingest", "ingest/decode", "verified bytes to Arrow tables"),
    "statistics": _Box(2, 8, 4, "warehouse", "warehouse/statistics", "totals, histograms"),
    "seal": _Box(3, 0, 3, "warehouse", "warehouse/archive", "first a synced segment ..."),
    "commit": _Box(3, 3, 9, "warehouse", "warehouse/load", "... then one DuckDB transaction"),
    "archive": _Box(4, 0, 3, "outside", "archive/", "all original bytes"),
    "index": _Box(4, 3, 3, "outside", "warehouse.duckdb", "the index over them"),
    "snapshots": _Box(4, 6, 3, "outside", "snapshots/", "copies for readers"),
    "lake": _Box(4, 9, 3, "outside", "A lake", "Parquet, by day and model"),
    "catalogue": _Box(5, 0, 4, "warehouse", "warehouse/catalogue", "canned queries, sql/queries"),
    "regressions": _Box(5, 4, 4, "warehouse", "warehouse/regressions", "judges nights and pairs"),
    "sandbox": _Box(5, 8, 4, "warehouse", "warehouse/sandbox", "SQL of users, confined"),
    "formats": _Box(6, 0, 4, "queries", "queries/formats", "JSON, CSV, Arrow, Parquet"),
    "report": _Box(6, 4, 4, "queries", "queries/report", "alerts and reports"),
    "explain": _Box(6, 8, 4, "queries", "queries/explain", "why: programs, environment"),
    "commands": _Box(7, 0, 3, "cli", "cli/commands", "the command line"),
    "page": _Box(7, 3, 3, "cli", "cli/serve", "the page and HTTP"),
    "agents": _Box(7, 6, 3, "cli", "cli/agents", "MCP"),
    "python": _Box(7, 9, 3, "outside", "tracehouse", "Python: Warehouse, Client"),
}
_DOWN = (
    ("files", "sources"), ("uploads", "serve"), ("programs", "inbox"), ("sources", "load"),
    ("load", "seal"), ("statistics", "commit"), ("seal", "archive"), ("commit", "index"),
    ("commit", "snapshots"), ("commit", "lake"), ("catalogue", "formats"),
    ("regressions", "report"),
)  # fmt: skip
_ACROSS = (
    ("serve", "inbox"), ("load", "decode"), ("decode", "statistics"), ("seal", "commit"),
    ("catalogue", "regressions"), ("report", "explain"),
)  # fmt: skip


def draw_architecture() -> str:
    """The way of a dump to an answer, as SVG for light and dark pages."""
    heading = "From dumps to answers: the folders of the code, and the files of a store"
    parts: list[svg.Element] = []
    for box in _BOXES.values():
        parts += _box(box)
    for start, end in _DOWN:
        parts += _down(_BOXES[start], _BOXES[end])
    for start, end in _ACROSS:
        parts += _across(_BOXES[start], _BOXES[end])
    parts += _inbox_to_load(_BOXES["inbox"], _BOXES["load"])
    parts += _rows_meet(4, 5)
    parts += _rows_meet(6, 7)
    bottom = _MARGIN + 8 * _STEP
    x = _MARGIN
    for package, class_ in _CLASSES.items():
        text = package if package != "outside" else "files and users"
        parts.append(svg.Rect(x=x, y=bottom - 20, width=12, height=12, class_=["box", class_]))
        parts.append(label(x + 18, bottom - 10, text))
        x += 110
    return draw_file(parts, heading=heading, height=bottom)


def _box(box: _Box) -> list[svg.Element]:
    return [
        svg.Rect(
            x=box.x,
            y=box.y,
            width=box.right - box.x,
            height=_HEIGHT,
            rx=6,
            class_=["box", _CLASSES[box.package]],
        ),
        label(box.middle, box.y + 20, box.name, "middle", "strong"),
        label(box.middle, box.y + 36, box.text, "middle"),
    ]


def _down(start: _Box, end: _Box) -> list[svg.Element]:
    """An arrow from a box to one in the row below, straight where their middles allow it."""
    x = min(max(end.middle, start.x + 10), start.right - 10)
    return _arrow([(x, start.y + _HEIGHT), (x, end.y)])


def _across(start: _Box, end: _Box) -> list[svg.Element]:
    y = start.y + _HEIGHT / 2
    return _arrow([(start.right, y), (end.x, y)])


def _inbox_to_load(start: _Box, end: _Box) -> list[svg.Element]:
    between = start.y + _HEIGHT + 16
    x = end.right - 30
    points = [(start.middle, start.y + _HEIGHT), (start.middle, between), (x, between)]
    return _arrow([*points, (x, end.y)])


def _rows_meet(above: int, below: int) -> list[svg.Element]:
    """One line between two rows: any of the upper ones leads to any of the lower ones."""
    upper = [box for name, box in _BOXES.items() if box.row == above and name != "archive"]
    lower = [box for box in _BOXES.values() if box.row == below]
    y = upper[0].y + _HEIGHT + 13
    edges = [box.middle for box in (*upper, *lower)]
    parts = _path([(min(edges), y), (max(edges), y)])
    for box in upper:
        parts += _path([(box.middle, box.y + _HEIGHT), (box.middle, y)])
    for box in lower:
        parts += _arrow([(box.middle, y), (box.middle, box.y)])
    return parts


def _path(points: list[tuple[float, float]]) -> list[svg.Element]:
    at = [svg.Point(round(x, 1), round(y, 1)) for x, y in points]
    return [svg.Polyline(points=at, class_=["arrow"])]


def _arrow(points: list[tuple[float, float]]) -> list[svg.Element]:
    """A line with a tip, which points down or to the right."""
    (x0, _), (x, y) = points[-2:]
    sides = [(x - 4, y - 7), (x + 4, y - 7)] if x0 == x else [(x - 7, y - 4), (x - 7, y + 4)]
    tip = [svg.Point(round(a, 1), round(b, 1)) for a, b in [(x, y), *sides]]
    return [*_path(points), svg.Polygon(points=tip, class_=["arrow-head"])]
