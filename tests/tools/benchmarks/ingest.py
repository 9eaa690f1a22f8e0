"""Measures ingestion into a store, from files to durable commits."""

from __future__ import annotations

import os
from pathlib import Path

from ingest.simulation.dump_template import repeat_runs
from tests.tools.benchmarks.cost import least, measure
from tests.tools.benchmarks.decode import LARGE_REPEATS, SMALL, SMALL_EVENTS
from tests.tools.benchmarks.dumps import Template
from tests.tools.benchmarks.record import Figures
from warehouse import Warehouse
from warehouse.intake.pipeline import count_cores

MANIFEST = {"device": "bench", "build": "b0", "model": "cnn", "backend": "portable"}
PASSES = 3


def bench_ingest(folder: Path) -> Figures:
    """Ingest a few large dumps, and many small ones, all different."""
    big = Template(repeat_runs(SMALL.read_bytes(), LARGE_REPEATS))
    small = Template(SMALL.read_bytes())
    return _ingest(folder, big, 60, "dumps of 200 k events") | _ingest(
        folder, small, 30_000, f"dumps of {SMALL_EVENTS} events"
    )


def _ingest(folder: Path, template: Template, count: int, kind: str) -> Figures:
    source = folder / kind
    source.mkdir()
    for i in range(count):
        (source / f"{i:05}.etdp").write_bytes(template.vary(i))
    os.sync()  # or the system would write them while we measure
    stores = [folder / f"{kind}.{i}.store" for i in range(PASSES)]
    for store in stores:
        Warehouse.open(store, create=True).close()
    wall, cpu = least([measure(lambda store=store: _fill(store, source)) for store in stores])  # type: ignore[misc]
    with Warehouse.open(stores[0], read_only=True) as warehouse:
        events = warehouse.sql("SELECT count(*) FROM events").column(0)[0].as_py()
    return {
        f"ingest {count:,} {kind}": {
            "CPU ns/event": cpu / events * 1e9,
            f"wall ns/event on {count_cores()} cores": wall / events * 1e9,
            "dumps/s of CPU": count / cpu,
            f"dumps/s on {count_cores()} cores": count / wall,
        }
    }


def _fill(store: Path, source: Path) -> None:
    with Warehouse.open(store, create=True) as warehouse:
        warehouse.ingest([source], manifest=MANIFEST)
