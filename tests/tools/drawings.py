"""The drawings of docs/architecture.md and docs/nightly-rule.md; `make pictures` writes them."""

from __future__ import annotations

from pathlib import Path

from tests.support.changes import change_row
from tests.tools.architecture_drawing import draw_architecture
from tracehouse.queries.drawing.line_chart import Line, LineChart, Mark, draw_lines_file
from tracehouse.queries.report.change import change_of_row
from tracehouse.queries.report.change_picture import change_picture
from tracehouse.queries.report.figures import duration_text
from tracehouse.queries.report.tables import ChangeTable
from tracehouse.warehouse.regressions.changes import SeriesVerdict

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
_MEDIANS = (9.54, 9.56, 9.52, 9.57, 9.55, 9.53, 9.56, 9.54, 9.95, 9.94)  # ms
_SPREAD = 0.06  # ms, on either side


def draw_history() -> str:
    """Builds of one operator: a change begins, and the next build confirms it."""
    builds = [f"build {number}" for number in range(1, len(_MEDIANS) + 1)]
    medians = [1e6 * each for each in _MEDIANS]
    low, high = ([1e6 * (each + side) for each in _MEDIANS] for side in (-_SPREAD, _SPREAD))
    marks = [Mark("build 9", "new here"), Mark("build 10", "confirmed", "note")]
    line = Line("convolution #2: median of the dumps, and where 8 of 10 lie", medians, low, high)
    chart = LineChart("History", "build", builds, [line], marks, text=duration_text)
    return draw_lines_file(chart, "convolution #2 gets slower in build 9")


def draw_intervals() -> str:
    """Changes that are sure, and one that is not though its number is larger."""
    rows = [
        _row("convolution", "regression", (0.041, 0.029, 0.052), 0.012, 6.766e6),
        _row("hardswish", "improvement", (-0.051, -0.063, -0.038), 0.013, 0.9e6),
        _row("addmm", "unchanged", (-0.002, -0.008, 0.004), 0.006, 2.15e6),
        _row("relu", "inconclusive", (0.065, -0.03, 0.12), 0.07, 25.5e3),
    ]
    shown = [change_of_row(row) for row in rows]
    table = ChangeTable.of(shown)
    scale = table.scale._replace(low=-0.08, high=0.13, ticks=[-0.05, 0.0, 0.05, 0.1])
    table = table._replace(changes=shown, folded=[], scale=scale)
    lead = "A line is where the change lies (99 %). The grey band is what the dumps cannot show."
    return change_picture(table, "Slower, faster, unchanged, cannot tell", lead)


def _row(
    name: str, verdict: str, interval: tuple[float, float, float], zone: float, base_ns: float
) -> dict[str, object]:
    delta, low, high = interval
    return change_row(
        verdict,
        event_name=name,
        model=SeriesVerdict(verdict).words,
        base_ns=base_ns,
        delta=delta,
        delta_low=low,
        delta_high=high,
        minimum_detectable=zone,
    )


DRAWINGS = {
    "architecture.svg": draw_architecture,
    "history.svg": draw_history,
    "intervals.svg": draw_intervals,
}


def write_drawings() -> None:
    """Write all of them."""
    for name, draw in DRAWINGS.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
