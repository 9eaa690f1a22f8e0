"""Measures ingestion into a store, from files to durable commits."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from tests.tools.benchmarks.cost import Cost, least, measure
from tests.tools.benchmarks.decode import LARGE_REPEATS, SMALL, SMALL_EVENTS
from tests.tools.benchmarks.dumps import Template
from tests.tools.benchmarks.record import Figures
from tests.tools.simulation.dump_template import repeat_runs
from tracehouse import Warehouse
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.resolver import Manifest
from tracehouse.warehouse.load.pipeline import count_cores
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

MANIFEST = {"device": "bench", "build": "b0", "model": "cnn", "backend": "portable"}
PASSES = 3


def bench_ingest(folder: Path) -> Figures:
    """Ingest a few large dumps, and many small ones, all different."""
    big = Template(repeat_runs(SMALL.read_bytes(), LARGE_REPEATS))
    small = Template(SMALL.read_bytes())
    return (
        _ingest(folder, big, 60, "dumps of 200 k events")
        | _ingest(folder, small, 30_000, f"dumps of {SMALL_EVENTS} events")
        | _ingest_from_memory(folder, small, 10_000)
    )


def _ingest(folder: Path, template: Template, count: int, kind: str) -> Figures:
    source = folder / kind
    source.mkdir()
    for i in range(count):
        (source / f"{i:05}.etdp").write_bytes(template.vary(i))
    os.sync()  # or the system would write them while we measure
    kept = [folder / f"{kind}.{i}.store" for i in range(PASSES)]
    costs: list[Cost] = []
    for store in kept:
        Warehouse.open_to_write(store, create=True).close()
        costs.append(measure(partial(_fill, store, source)))
    with Warehouse.open(kept[0], read_only=True) as warehouse:
        events = warehouse.sql("SELECT count(*) FROM events").table.column(0)[0].as_py()
    wall, cpu = least(costs)
    _, cpu_rebuild = least([measure(partial(rebuild_store, store)) for store in kept[:2]])
    return {
        f"ingest {count:,} {kind}": {
            "CPU ns/event": cpu / events * 1e9,
            f"wall ns/event on {count_cores()} cores": wall / events * 1e9,
            "dumps/s of CPU": count / cpu,
            f"dumps/s on {count_cores()} cores": count / wall,
            "CPU ns/event to rebuild": cpu_rebuild / events * 1e9,
        }
    }


def _ingest_from_memory(folder: Path, template: Template, count: int) -> Figures:
    manifest = Manifest.model_validate(MANIFEST)
    dumps = [Dump.of_bytes(f"{i:05}.etdp", template.vary(i), manifest) for i in range(count)]
    costs = []
    for store in [folder / f"memory.{i}.store" for i in range(PASSES)]:
        Warehouse.open_to_write(store, create=True).close()
        costs.append(measure(partial(_take, store, dumps)))
    wall, cpu = least(costs)
    return {
        f"ingest {count:,} dumps of {SMALL_EVENTS} events from memory": {
            "CPU ns/event": cpu / (count * SMALL_EVENTS) * 1e9,
            f"dumps/s on {count_cores()} cores": count / wall,
        }
    }


def _fill(store: Path, source: Path) -> None:
    with Warehouse.open_to_write(store, create=True) as warehouse:
        warehouse.ingest([source], manifest=MANIFEST)


def _take(store: Path, dumps: list[Dump]) -> None:
    with Warehouse.open_to_write(store, create=True) as warehouse:
        warehouse.ingest(dumps)
