"""The time of a run as two flame graphs of one scale: the base above, the head below."""

from __future__ import annotations

from collections.abc import Iterator

import svg

from tracehouse.queries.explain.content import RunTimes, TimeFrame
from tracehouse.queries.explain.wording import frame_row
from tracehouse.queries.report.drawing import label, picture, title
from tracehouse.queries.report.figures import duration_text, name_text

_WIDTH, _ROW, _GAP, _HEAD = 1000.0, 20.0, 16.0, 18.0
_LEAST = 1.5  # width of a frame that is drawn
_LETTER = 6.6  # width of a letter
_MOST_DEPTH = 24
_STRONG = 0.5  # change of a frame, as a share of its time, that has the full colour


def flame_plot(times: RunTimes) -> str:
    """The flame graphs; colours show by how much a frame's time changed."""
    whole = times.frame.longest
    if not whole:
        return ""
    depth = min(_depth(times.frame, _LEAST * whole / _WIDTH), _MOST_DEPTH)
    parts: list[svg.Element] = []
    top = 0.0
    for side, build in (("base", times.place.base), ("head", times.place.head)):
        total = duration_text(times.frame.time(side))
        parts.append(label(0, top + 12, f"{side}: {name_text(build)}, {total}", "start"))
        parts += _drawn(times.frame, side, (0.0, top + _HEAD), _WIDTH / whole)
        top += _HEAD + depth * _ROW + _GAP
    text = (
        f"Time of {times.breakdown.run} by module and operator, base above head: "
        f"{duration_text(times.frame.base)} to {duration_text(times.frame.head)}"
    )
    return picture(parts, width=_WIDTH, height=top, text=text, class_="flame")


def _drawn(
    frame: TimeFrame, side: str, place: tuple[float, float], scale: float, depth: int = 0
) -> Iterator[svg.Element]:
    time = frame.time(side)
    if time is None or time * scale < _LEAST or depth >= _MOST_DEPTH:
        return
    x, y = place
    width = time * scale
    kind, strength = _colour(frame)
    row = frame_row(frame, depth)
    text = f"{name_text(frame.name)}: {row.base} → {row.head}, {row.change} ({row.relative})"
    box = svg.Rect(x=round(x, 1), y=y, width=round(width, 1), height=_ROW - 1)
    box.class_ = [kind, "member"] if frame.is_member else [kind]
    box.fill_opacity = strength
    letters = int((width - 6) / _LETTER)
    shown = [label(round(x + 3, 1), y + 14, name_text(frame.name, letters), "start")]
    yield svg.G(elements=[title(text), box, *(shown if letters > 2 else [])])
    below = x
    for part in sorted(frame.parts, key=lambda part: (-part.longest, part.name)):
        yield from _drawn(part, side, (below, y + _ROW), scale, depth + 1)
        below += (part.time(side) or 0.0) * scale


def _colour(frame: TimeFrame) -> tuple[str, float]:
    """The class of a frame, and how strong its colour is."""
    if frame.base is None or frame.head is None:
        return ("new" if frame.base is None else "gone"), 0.7
    share = frame.change / frame.longest if frame.longest else 0.0
    kind = "slower" if share > 0 else "faster"
    return kind, round(min(1.0, abs(share) / _STRONG), 2)


def _depth(frame: TimeFrame, least: float) -> int:
    below = [_depth(part, least) for part in frame.parts if part.longest >= least]
    return 1 + max(below, default=0)
