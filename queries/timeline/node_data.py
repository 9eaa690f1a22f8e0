"""Times of a graph's nodes as an overlay for Model Explorer. Pure.

https://github.com/google-ai-edge/model-explorer: the key of a node is its id, which for a PyTorch
program is the node's name. A fused node has the time of all nodes it was fused with, as their
shares are unknown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any

from tracehouse.queries.printable import json_text
from tracehouse.queries.timeline.events import TimedEvent
from tracehouse.queries.timeline.slices import TimedRuns
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.event_modules import groups_of_instruction

_NS_PER_US = 1_000
_TIMES = (("#fff7ec", 0.0), ("#fc8d59", 0.5), ("#b30000", 1.0))
_SLOWER, _FASTER, _SAME = "#d7301f", "#1a9850", "#f7f7f7"


def node_data_document(shown: Sequence[TimedRuns]) -> str:
    """Microseconds per run of each node; for two dumps, the difference (second minus first).

    Raises:
        QueryError: There are more than two dumps, a dump has no known nodes or ran several methods.
    """
    if len(shown) > 2:
        raise QueryError("model-explorer: wanted one dump, or a base and a head")
    times = [_node_times(one) for one in shown]
    document = _overlay(shown[0], times[0]) if len(shown) == 1 else _change(shown, *times)
    return json_text(document) + "\n"


def _overlay(shown: TimedRuns, times: dict[str, float]) -> dict[str, Any]:
    return {
        "name": f"µs, {shown.dump.label}",
        "results": {node: {"value": round(time, 3)} for node, time in times.items()},
        "gradient": [{"stop": stop, "bgColor": colour} for colour, stop in _TIMES],
    }


def _change(
    shown: Sequence[TimedRuns], base: dict[str, float], head: dict[str, float]
) -> dict[str, Any]:
    both = [node for node in head if node in base]
    deltas = {node: round(head[node] - base[node], 3) for node in both}
    most = max(map(abs, deltas.values()), default=0.0)
    return {
        "name": f"µs more, {shown[0].dump.label} to {shown[1].dump.label}",
        "results": {
            node: {"value": delta, "bgColor": _colour(delta, most)}
            for node, delta in deltas.items()
        },
    }


def _colour(delta: float, most: float) -> str:
    """White for no change, full red or green for the largest change."""
    share = abs(delta) / most if most else 0.0
    mixed = zip(_parts(_SAME), _parts(_SLOWER if delta > 0 else _FASTER), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in mixed)


def _parts(colour: str) -> list[int]:
    return list(bytes.fromhex(colour[1:]))


def _node_times(shown: TimedRuns) -> dict[str, float]:
    """Microseconds of each node, the mean over the runs that ran it.

    Raises:
        QueryError: No node is known, or the runs ran several methods.
    """
    counted = _counted_nodes(shown)
    sums: Counter[str] = Counter()
    runs: dict[str, int] = defaultdict(int)
    methods = set()
    for run in shown.runs:
        here: Counter[str] = Counter()
        for i, number in enumerate(run.numbers):
            if counted[number]:
                methods.add(shown.events[number].method)
            for node in counted[number]:
                here[node] += run.ends_ns[i] - run.starts_ns[i]
        for node, time in here.items():
            sums[node] += time
            runs[node] += 1
    if not sums:
        raise QueryError(f"{shown.dump.label}: no node is known; wanted its ETRecord: --etrecord")
    if len(methods) > 1:
        named = ", ".join(sorted(map(str, methods)))
        raise QueryError(f"{shown.dump.label}: ran {named}; choose a run of one of them with --run")
    return {node: sums[node] / runs[node] / _NS_PER_US for node in sums}


def _counted_nodes(shown: TimedRuns) -> list[list[str]]:
    """The nodes of each distinct event; a node counts for the innermost event that ran it."""
    nodes: list[list[str]] = [[] for _ in shown.events]
    places = {id(event): number for number, event in enumerate(shown.events)}
    by_runs: dict[int, list[TimedEvent]] = defaultdict(list)
    for event in shown.events:
        by_runs[event.run_signature_id].append(event)
    for group in chain.from_iterable(map(groups_of_instruction, by_runs.values())):
        inner = [event for event in group if event.kind == "delegate_op"]
        known = {node for event in inner for node in _nodes(event)}
        for event in group:
            mine = _nodes(event)
            is_inner = event.kind == "delegate_op"
            nodes[places[id(event)]] = [node for node in mine if is_inner or node not in known]
    return nodes


def _nodes(event: TimedEvent) -> list[str]:
    """The names of its nodes, without the suffix that the Inspector adds."""
    return [node.removesuffix("_") for node in event.origin.stack_traces]
