"""Measures decoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.tools.benchmarks.cost import cheapest
from tests.tools.benchmarks.record import Figures
from tests.tools.fuzz.worst_cases import distinct_events
from tests.tools.simulation.dump_template import repeat_runs
from tracehouse import decode_dumps
from tracehouse.ingest.sources.listing import find_sources
from tracehouse.ingest.sources.reading import read_source

DATA = Path(__file__).parents[2] / "data"
SMALL = DATA / "corpus/real/cnn_portable_n20.etdp"
SMALL_EVENTS = 422
MIDDLE_REPEATS = 143  # makes 60,346 events of them
LARGE_REPEATS = 474  # makes 200,028 events of them


def bench_yardstick(folder: Path) -> Figures:
    """What no change here makes faster: tells a slow or busy machine from a slow change."""
    numbers = np.random.default_rng(1).random(1 << 20)
    return {"yardstick: sort 1 M numbers": {"CPU ms": cheapest(lambda: np.sort(numbers)).cpu * 1e3}}


def bench_decode(folder: Path) -> Figures:
    """Decode one dump of each size, many small ones and those of a farm, each in one call."""
    small = SMALL.read_bytes()
    farm = [read_source(source) for source in find_sources([DATA / "farm"])]
    figures: Figures = {}
    for title, buffers in (
        (f"decode one dump of {SMALL_EVENTS} events", [small]),
        ("decode one dump of 60 k events", [repeat_runs(small, MIDDLE_REPEATS)]),
        ("decode one dump of 200 k events", [repeat_runs(small, LARGE_REPEATS)]),
        (f"decode 2,000 dumps of {SMALL_EVENTS} events", [small] * 2000),
        (f"decode the farm's {len(farm)} dumps", farm),
        ("decode one run of 1 M events", [distinct_events(1_000_000, kinds=20)]),
    ):
        events = decode_dumps(buffers).tables["events"].num_rows
        cost = cheapest(lambda buffers=buffers: decode_dumps(buffers))  # type: ignore[misc]
        figures[title] = {"CPU ns/event": cost.cpu / events * 1e9}
    return figures
