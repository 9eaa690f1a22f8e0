"""Runs as one self-contained HTML page with a timeline and a flame graph in a canvas.

Names are inserted as text, and the page forbids the browser to load anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from tracehouse.queries.drawing.sheet import EVENTS, custom_properties
from tracehouse.queries.printable import json_text, printable
from tracehouse.queries.timeline.events import TimedEvent, event_arguments, module_text, stack_trace
from tracehouse.queries.timeline.slices import TimedRun, TimedRuns, track_name

MOST_FRAMES = 200  # in a stack; deeper frames count for the last one

Stack = tuple[str, ...]

_PARTS = "viewer.html", "viewer.css", "viewer.js"


def stacks(shown: TimedRuns) -> Iterator[tuple[Stack, int]]:
    """The stack and self time of every event with self time, run by run, in order of starts."""
    modules = [_modules(event) for event in shown.events]
    names = [event.name or f"({event.kind})" for event in shown.events]
    for run in shown.runs:
        found: list[Stack] = []
        for number, parent in zip(run.numbers, run.nesting.parents, strict=True):
            around = modules[number]
            if around is not None:
                around = (_root(run), *around)
            elif parent >= 0:
                around = found[parent]
            else:
                around = (_root(run),)
            found.append((*around, names[number])[:MOST_FRAMES])
        for stack, own in zip(found, run.self_ns(), strict=True):
            if own:
                yield stack, own


def fold_stacks(shown: Sequence[TimedRuns]) -> Iterator[str]:
    """Sorted lines of stacks and nanoseconds for flamegraph.pl.

    With several dumps, the dump is the outermost frame.
    """
    for one in shown:
        sums: Counter[Stack] = Counter()
        for stack, own in stacks(one):
            sums[stack] += own
        first = (one.dump.label,) if len(shown) > 1 else ()
        for stack, total in sorted(sums.items()):
            frames = (printable(frame).replace(";", ",") for frame in (*first, *stack))
            yield f"{';'.join(frames)} {total}\n"


def speedscope_document(shown: Sequence[TimedRuns]) -> str:
    """A document for speedscope.app, with a profile per dump and a sample per event."""
    frames: dict[str, int] = {}
    profiles = [_profile(one, frames) for one in shown]
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "tracehouse",
        "name": ", ".join(one.dump.label for one in shown),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": profiles,
    }
    return json_text(document) + "\n"


def _profile(shown: TimedRuns, frames: dict[str, int]) -> dict[str, Any]:
    numbers: dict[Stack, list[int]] = {}
    samples, weights = [], []
    for stack, own in stacks(shown):
        if stack not in numbers:
            numbers[stack] = [frames.setdefault(name, len(frames)) for name in stack]
        samples.append(numbers[stack])
        weights.append(own)
    return {
        "type": "sampled",
        "name": shown.dump.label,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


def _modules(event: TimedEvent) -> Stack | None:
    """The modules as frames; None without known modules."""
    modules = event.modules
    return tuple(map(module_text, modules)) if modules else None


def _root(run: TimedRun) -> str:
    return run.name or "(run)"


def page_text(shown: Sequence[TimedRuns]) -> str:
    """The page; the same runs always give the same text."""
    folder = files("tracehouse.queries.timeline") / "viewer"
    page, style, script = ((folder / name).read_text(encoding="utf-8") for name in _PARTS)
    style = style.replace("@LIGHT@", _colours(0)).replace("@DARK@", _colours(1))
    data = json_text({"dumps": [_dump(one) for one in shown]}).replace("<", "\\u003c")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    for name, text in (("STYLE", style), ("HASH", digest), ("SCRIPT", script), ("DATA", data)):
        page = page.replace(f"@{name}@", text, 1)
    return page


def _colours(shade: int) -> str:
    events = (f"--{kind}: {colours[shade]};" for kind, colours in EVENTS.items())
    return " ".join([custom_properties(shade), *events])


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
