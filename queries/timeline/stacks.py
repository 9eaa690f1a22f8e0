"""The time of runs by module: folded stacks, and profiles for speedscope. Pure.

An event is below the modules that contain all of its nodes, or, without modules, below the event
around it. Its self time counts, so the sum over all stacks is the time of the runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tracehouse.queries.printable import json_text, printable
from tracehouse.queries.timeline.arguments import module_text
from tracehouse.queries.timeline.events import TimedEvent
from tracehouse.queries.timeline.slices import TimedRun, TimedRuns

MOST_FRAMES = 200  # of a stack; deeper frames count for the last one

Stack = tuple[str, ...]


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


def folded_lines(shown: Sequence[TimedRuns]) -> Iterator[str]:
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
