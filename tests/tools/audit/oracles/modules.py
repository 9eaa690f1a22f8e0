"""Time by the modules of a program, out of ETRecords whose delegates tell nothing of their insides.

The ETRecord is read as JSON, by the plain reader of the parity tool.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.tools.audit.events import Event
from tests.tools.audit.oracles.places import (
    Params,
    Row,
    chosen,
    grouped,
    is_named,
    named,
    series_of,
)
from tests.tools.audit.recordings import Recording
from tests.tools.audit.statistics import difference, ratio, share, whole_sum
from tests.tools.parity.program import Node, Program, read_program

Module = tuple[str, str | None]  # path and class


@cache
def _program(path: Path) -> Program:
    program = read_program(path)
    maps = program.of_method("delegate_map", "forward").values()
    assert program.methods == ["forward"]
    assert not any(delegate["delegate_map"] for delegate in maps)
    return program


def _nodes(dump: Recording, event: Event) -> list[Node]:
    """The nodes that a kernel or a delegate's call runs."""
    assert dump.etrecord
    program = _program(dump.etrecord)
    handles = program.of_method("debug_handle_map", "forward").get(str(event.instruction), [])
    known = program.nodes["forward"]
    listed = handles if isinstance(handles, list) else [handles]
    return [node for handle in dict.fromkeys(listed) for node in known.get(handle, [])]


def _above(node: Node) -> list[Module]:
    """The modules that a node is in, from the outermost."""
    levels = node.module_hierarchy or {"": ["", None]}
    return [(path, type_) for path, type_ in levels.values()]


def _timed(own: Sequence[Recording]) -> Iterator[tuple[Recording, Event, list[Node]]]:
    """Kernels and delegates' calls of complete runs, with their nodes."""
    for dump in own:
        for run in dump.complete_runs if dump.etrecord else ():
            for event in run.of_kind("kernel", "delegate_call"):
                if nodes := _nodes(dump, event):
                    yield dump, event, nodes


def _executed(own: Sequence[Recording]) -> tuple[int, float | None]:
    """Complete runs of dumps with an ETRecord, and the time that they take."""
    runs = [run for dump in own if dump.etrecord for run in dump.complete_runs]
    return len(runs), whole_sum(e.ns for run in runs for e in run.of_kind("method"))


def module_totals(dumps: Sequence[Recording], params: Params) -> list[Row]:
    scope = params.get("scope")
    return [named(place) | row for place, own in grouped(dumps, params).items()
            for row in _totals(own, scope)]  # fmt: skip


def _totals(own: Sequence[Recording], scope: str | None = None) -> list[Row]:
    """The modules of some dumps together."""
    times: dict[Module, list[float | None]] = defaultdict(list)
    for _, event, nodes in _timed(own):
        for module in {m for node in nodes for m in _of_scope(node, scope)}:
            times[module].append(event.ns)
    count, whole = _executed(own)
    return [
        {
            "module_path": path,
            "module_type": type_,
            "run_count": count,
            "event_count": len(spent),
            "run_ns": ratio(whole_sum(spent), count),
            "time_share": share(whole_sum(spent), whole),
        }
        for (path, type_), spent in times.items()
    ]


def _of_scope(node: Node, scope: str | None) -> list[Module]:
    return _above(node)[-1:] if scope == "own" else _above(node)


def layer_hotspots(dumps: Sequence[Recording], params: Params) -> list[Row]:
    rows = []
    for place, own in grouped(dumps, params).items():
        spent: dict[Any, list[tuple[float, bool]]] = defaultdict(list)
        for _, event, nodes in _timed(own):
            layers = {(*_above(node)[-1], _line(node)) for node in nodes}
            for layer in layers:
                spent[layer].append((event.ns or 0.0, len(layers) == 1))
        count, whole = _executed(own)
        ranked = sorted(spent, key=lambda key: (-sum(t for t, _ in spent[key]), key[0], key[2]))
        for rank, layer in enumerate(ranked[: params.get("top_n")], start=1):
            total = sum(time for time, _ in spent[layer])
            alone = sum(time for time, is_alone in spent[layer] if is_alone)
            rows.append(
                named(place)
                | dict(zip(("module_path", "module_type", "source_line"), layer, strict=True))
                | {
                    "rank": rank,
                    "run_count": count,
                    "event_count": len(spent[layer]),
                    "run_ns": total / count,
                    "alone_ns": alone / count,
                    "time_share": share(total, whole),
                }
            )
    return rows


def _line(node: Node) -> str | None:
    """File and line of the innermost frame."""
    frames = re.findall(r'File "([^"]*)", line (\d+)', node.stack_trace or "")
    return ":".join(frames[-1]) if frames else None


def backend_comparison(dumps: Sequence[Recording], params: Params) -> list[Row]:
    sides: dict[Any, tuple[list[Recording], list[Recording]]] = defaultdict(lambda: ([], []))
    for dump in chosen(dumps, params, "backend"):
        name, backend = dump.model
        if dump.etrecord and backend in (params["base_backend"], params["head_backend"]):
            key = dump.device, dump.build, name
            sides[key][backend == params["head_backend"]].append(dump)
    rows = []
    for key, own in sides.items():
        base, head = (_by_module(side) for side in own)
        paths = base.keys() & head.keys()
        (run,) = {series_of(dump, run) for s in own for dump in s for run in dump.complete_runs}
        for path in paths if is_named(run, params.get("run")) else ():
            where = dict(zip(("device", "build", "model"), key, strict=True)) | {"run": run}
            rows.append(where | _both(base[path], head[path]) | {
                "module_path": path,
                "is_lowest": not any(_is_inside(other, path) for other in paths if other != path),
            })  # fmt: skip
    return rows


def _is_inside(path: str, module: str) -> bool:
    return not module or path == module or path.startswith(f"{module}.")


def _both(base: Row, head: Row) -> Row:
    return {
        "module_type": base["module_type"],
        "base_run_count": base["run_count"],
        "head_run_count": head["run_count"],
        "base_ns": base["run_ns"],
        "head_ns": head["run_ns"],
        "delta_ns": difference(head["run_ns"], base["run_ns"]),
        "speedup": ratio(base["run_ns"], head["run_ns"]),
        "base_share": base["time_share"],
        "head_share": head["time_share"],
    }


def _by_module(own: list[Recording]) -> dict[str, Row]:
    """The modules of a side that no event counts for which runs nodes outside of them too."""
    straddled = set()
    for _, _, nodes in _timed(own):
        for path, _ in {module for node in nodes for module in _above(node)}:
            if not all(_is_inside(_above(node)[-1][0], path) for node in nodes):
                straddled.add(path)
    rows = _totals(own)
    return {row["module_path"]: row for row in rows if row["module_path"] not in straddled}
