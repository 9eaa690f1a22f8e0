"""An explanation as one self-contained HTML page: no network, no script, flame graphs included."""

from __future__ import annotations

from typing import NamedTuple

from queries.explain.content import Explanation, RunTimes, TimeFrame
from queries.explain.flame import flame_plot
from queries.explain.wording import (
    LEAST_SHARE,
    FrameRow,
    frame_row,
    hidden_text,
    listings,
    run_heading,
)
from queries.report.figures import count_text
from queries.report.html import page_environment
from queries.report.outline import state_text, tone_of

PACKAGE = "queries.explain"
_OPEN_SHARE = 0.05  # of the run's change, for a frame that is unfolded
_STEADY = 0.03  # change of a frame that has no colour


class FrameView(NamedTuple):
    """A frame in the tree of a page."""

    row: FrameRow
    kind: str
    is_open: bool
    parts: list[FrameView]
    rest: str


class RunView(NamedTuple):
    """The time of a run in a page."""

    where: str
    heading: str
    flame: str
    tree: FrameView


def html_text(explanation: Explanation) -> str:
    """The page; the same explanation always gives the same text."""
    page = page_environment(PACKAGE).get_template("page.html.jinja")
    return page.render(body_parts(explanation))


def body_parts(explanation: Explanation) -> dict[str, object]:
    """The variables of ``explanation.html.jinja``."""
    return {
        "group": explanation.group,
        "as_of": explanation.as_of,
        "heading": state_text(explanation.group),
        "title": explanation.group.headline.title,
        "tone": tone_of(explanation.group),
        "findings": explanation.findings,
        "hidden": hidden_text(explanation),
        "runs": [_run_view(times) for times in explanation.times],
        "tables": [table for table in listings(explanation) if table.rows],
        "commands": explanation.commands,
    }


def _run_view(times: RunTimes) -> RunView:
    frame, least = times.frame, LEAST_SHARE * times.frame.longest
    tree = _frame_view(frame, times.unit, least, abs(frame.change))
    return RunView(f"{times.place.where}, {times.run}", run_heading(times), flame_plot(times), tree)


def _frame_view(frame: TimeFrame, unit: str, least: float, change: float) -> FrameView:
    shown = [part for part in frame.parts if part.longest >= least or part.has_member]
    hidden = len(frame.parts) - len(shown)
    return FrameView(
        frame_row(frame, 0, unit),
        f"{_kind(frame)}{' member' if frame.is_member else ''}",
        is_open=abs(frame.change) >= _OPEN_SHARE * change or frame.kind == "run",
        parts=[_frame_view(part, unit, least, change) for part in shown],
        rest=f"{count_text(hidden, 'shorter part')}: in the JSON form" if hidden else "",
    )


def _kind(frame: TimeFrame) -> str:
    if frame.base is None or frame.head is None:
        return "new" if frame.base is None else "gone"
    if abs(frame.change) < _STEADY * frame.longest:
        return "steady"
    return "slower" if frame.change > 0 else "faster"
