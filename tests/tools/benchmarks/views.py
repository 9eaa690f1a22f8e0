"""Measures the views of the service's page on a large farm, and how their cost grows with it.

    python -m tests.tools.benchmarks.views [DEVICES MODELS BUILDS]

A service in this process answers, and the farm is also measured with half of its devices.
"""

from __future__ import annotations

import math
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.support.service import serving
from tests.tools.benchmarks.cost import Cost, least, measure
from tests.tools.benchmarks.record import Figures, render_figure
from tests.tools.benchmarks.scale import fill

DEVICES, MODELS, BUILDS, OPERATORS = 1000, 10, 50, 10
VIEWS = (
    "/",
    "/?device=device-7",
    "/explore/build_history",
    "/explore/build_history?model=model-5",
    "/explore/build_history?device=device-7",
    "/explore/build_history?event=native_call_op3.out&model=model-5",
    "/explore/operator_hotspots",
    "/compare",
    "/dumps",
    "/explore/build_history?device=device-x",  # unknown
)


def bench_views(
    folder: Path, devices: int = DEVICES, models: int = MODELS, builds: int = BUILDS
) -> Figures:
    """Seconds of each view, and the exponent of its CPU seconds over the number of devices."""
    half, whole = (
        _measure(folder / f"{count}.store", count, models, builds)
        for count in (devices // 2, devices)
    )
    what = f"of {devices} devices x {models} models x {builds} builds"
    return {
        f"{view} {what}": {
            "s wall": whole[view].wall,
            "s CPU": whole[view].cpu,
            "exponent": math.log2(whole[view].cpu / half[view].cpu),
        }
        for view in VIEWS
    }


def _measure(store: Path, devices: int, models: int, builds: int) -> dict[str, Cost]:
    """The least cost of three calls of each view."""
    fill(store, devices, models, builds, 1, OPERATORS)
    with serving(store) as client:
        client.get("/").raise_for_status()  # templates are loaded
        calls = {view: partial(client.get, view) for view in VIEWS}
        return {view: least([measure(call) for _ in range(3)]) for view, call in calls.items()}


def main(*sizes: int) -> None:
    """Print the figures of so many devices, models and builds."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-views-") as folder:
        for what, by_unit in bench_views(Path(folder), *sizes).items():
            print(what, *(f"{render_figure(value)} {unit}" for unit, value in by_unit.items()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
