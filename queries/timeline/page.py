"""Runs as one self-contained HTML page with a timeline and a flame graph in a canvas.

Names are inserted as text, and the page forbids the browser to load anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from tracehouse.queries.printable import json_text
from tracehouse.queries.timeline.arguments import event_arguments, stack_trace
from tracehouse.queries.timeline.slices import TimedRun, TimedRuns, track_name
from tracehouse.queries.timeline.stacks import MOST_FRAMES, stacks

_PARTS = "viewer.html", "viewer.css", "viewer.js"


def page_text(shown: Sequence[TimedRuns]) -> str:
    """The page; the same runs always give the same text."""
    folder = files("tracehouse.queries.timeline") / "viewer"
    page, style, script = ((folder / name).read_text(encoding="utf-8") for name in _PARTS)
    data = json_text({"dumps": [_dump(one) for one in shown]}).replace("<", "\\u003c")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    for name, text in (("STYLE", style), ("HASH", digest), ("SCRIPT", script), ("DATA", data)):
        page = page.replace(f"@{name}@", text, 1)
    return page


def _dump(shown: TimedRuns) -> dict[str, Any]:
    by_lane: dict[tuple[int, int], list[tuple[TimedRun, list[int]]]] = {}
    for run in shown.runs:
        for lane in sorted(set(run.nesting.lanes)):
            mine = [i for i, one in enumerate(run.nesting.lanes) if one == lane]
            by_lane.setdefault((run.track, lane), []).append((run, mine))
    return {
        "label": shown.dump.label,
        "note": "cycles: 1 ns shown is 1 cycle" if shown.dump.clocks.ns_per_tick is None else "",
        "events": [
            {"name": event.name, "kind": event.kind, "details": _details(shown, number)}
            for number, event in enumerate(shown.events)
        ],
        "tracks": [_track(shown, parts) for _, parts in sorted(by_lane.items())],
        "failed": [[run.index, run.end_ns] for run in shown.runs if run.is_failed],
        "flame": _flame(shown),
    }


def _details(shown: TimedRuns, number: int) -> dict[str, str]:
    details = event_arguments(shown.events[number])
    trace = stack_trace(shown.events[number])
    listed = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in details.items()
    }
    return listed | ({"stack trace": trace} if trace else {})


def _track(shown: TimedRuns, parts: Sequence[tuple[TimedRun, list[int]]]) -> dict[str, Any]:
    """Columns of the events of a lane, in order of starts; a length below 0 marks a wrong one."""
    depths = [run.nesting.depths[i] for run, mine in parts for i in mine]
    least = min(depths)
    return {
        "name": track_name([run for run, _ in parts]),
        "start": [run.starts_ns[i] for run, mine in parts for i in mine],
        "length": [
            -1 if shown.is_flagged[run.rows[i]] else run.ends_ns[i] - run.starts_ns[i]
            for run, mine in parts
            for i in mine
        ],
        "depth": [min(depth - least, MOST_FRAMES) for depth in depths],
        "event": [run.numbers[i] for run, mine in parts for i in mine],
        "run": [run.index for run, mine in parts for _ in mine],
    }


def _flame(shown: TimedRuns) -> list[Any]:
    """A frame: its name, its total time, and its child frames."""
    root: list[Any] = [shown.dump.label, 0, {}]
    for stack, own in stacks(shown):
        frame = root
        frame[1] += own
        for name in stack:
            frame = frame[2].setdefault(name, [name, 0, {}])
            frame[1] += own
    return _listed(root)


def _listed(frame: list[Any]) -> list[Any]:
    below = sorted(frame[2].values(), key=lambda one: -one[1])
    return [frame[0], frame[1], [_listed(one) for one in below]]
