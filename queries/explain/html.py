"""An explanation as one self-contained HTML page: no network, no script, flame graphs included."""

from __future__ import annotations

from typing import NamedTuple

from tracehouse.queries.explain.content import Explanation, RunTimes, TimeFrame
from tracehouse.queries.explain.flame import flame_plot
from tracehouse.queries.explain.wording import (
    LEAST_SHARE,
    FrameRow,
    frame_row,
    hidden_text,
    is_shown,
    listings,
    run_heading,
)
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.html import page_environment
from tracehouse.queries.report.outline import state_text, tone_of
from tracehouse.queries.report.tables import Listing, list_sums

PACKAGE = "tracehouse.queries.explain"
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

    heading: str
    sum: Listing
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
    tree = _frame_view(frame, least, abs(frame.change))
    (table,) = list_sums([times.breakdown])
    return RunView(run_heading(times), table, flame_plot(times), tree)


def _frame_view(frame: TimeFrame, least: float, change: float) -> FrameView:
    shown = [part for part in frame.parts if is_shown(part, least)]
    hidden = len(frame.parts) - len(shown)
    return FrameView(
        frame_row(frame, 0),
        f"{_kind(frame)}{' member' if frame.is_member else ''}",
        is_open=abs(frame.change) >= _OPEN_SHARE * change or frame.kind == "run",
        parts=[_frame_view(part, least, change) for part in shown],
        rest=f"{count_text(hidden, 'shorter part')}: in the JSON form" if hidden else "",
    )


def _kind(frame: TimeFrame) -> str:
    if (frame.base is None) != (frame.head is None):
        return "new" if frame.base is None else "gone"
    if abs(frame.change) < _STEADY * frame.longest:
        return "steady"
    return "slower" if frame.change > 0 else "faster"
