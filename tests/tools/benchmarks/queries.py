"""Measures canned queries over a store of 20 M events: 2 builds x 5 devices x 20 dumps."""

from __future__ import annotations

from pathlib import Path

from ingest import decode_dumps
from ingest.manifest.resolver import Manifest
from ingest.simulation.dump_template import repeat_runs
from tests.tools.benchmarks.cost import measure
from tests.tools.benchmarks.decode import LARGE_REPEATS, SMALL
from tests.tools.benchmarks.dumps import Template
from tests.tools.benchmarks.ingest import MANIFEST
from tests.tools.benchmarks.record import Figures
from warehouse import Warehouse
from warehouse.loading.loader import Loader
from warehouse.loading.records import NewDump
from warehouse.statistics.rollups import summarise

QUERIES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("all percentiles", "percentiles", {}),
    ("all percentiles, approximately", "percentiles", {"approx": "true"}),
    ("percentiles of a device", "percentiles", {"device": "device3", "build": "b1"}),
    ("regression_deltas", "regression_deltas", {"base": "b0", "head": "b1"}),
    ("framework_tax", "framework_tax", {}),
    ("operator_hotspots", "operator_hotspots", {}),
    ("build_history", "build_history", {"event": "native_call_convolution.out"}),
)


def bench_queries(folder: Path) -> Figures:
    """Size of the store, and each query once."""
    store = folder / "large.store"
    events = _load(store)
    size = (store / "warehouse.duckdb").stat().st_size
    figures: Figures = {"a store of 20 M events": {"bytes/event": size / events}}
    with Warehouse.open(store, read_only=True) as warehouse:
        for title, name, params in QUERIES:
            wall, cpu = measure(lambda name=name, params=params: warehouse.query(name, **params))  # type: ignore[misc]
            figures[f"{title}, 20 M events"] = {"s wall": wall, "s CPU": cpu}
    return figures


def _load(store: Path) -> int:
    template = Template(repeat_runs(SMALL.read_bytes(), LARGE_REPEATS // 2))
    events = 0
    with Warehouse.open(store, create=True) as warehouse:
        assert warehouse._writer is not None
        loader = Loader(warehouse._writer.connection)
        for dump in range(200):
            build, device = dump // 100, dump // 20 % 5
            decoded = decode_dumps([template.vary(dump, scale=1 + build)])
            manifest = {**MANIFEST, "device": f"device{device}", "build": f"b{build}"}
            new = NewDump(f"{dump}", f"{dump}", Manifest.model_validate(manifest))
            loader.load([new], decoded, summarise(decoded, 1), [])
            events += decoded.tables["events"].num_rows
    return events
