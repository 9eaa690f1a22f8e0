"""Measures canned queries over a store of 20 M events: 2 builds x 5 devices x 20 dumps.

To these comes a dump of each with delegates, an ETRecord and allocations, 1 M events in all: what
only some runtimes record.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import duckdb

from tests.support.questions import every_query
from tests.tools.benchmarks.cost import cheapest, measure
from tests.tools.benchmarks.decode import DATA, LARGE_REPEATS, SMALL
from tests.tools.benchmarks.dumps import Template
from tests.tools.benchmarks.ingest import MANIFEST
from tests.tools.benchmarks.record import Figures
from tests.tools.simulation.dump_template import repeat_runs
from tracehouse import Warehouse
from tracehouse.ingest.manifest.resolver import Manifest
from tracehouse.warehouse.load.content import NewDump, decode_content
from tracehouse.warehouse.load.loader import Loader

QUERIES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("all percentiles", "percentiles", {}),
    ("all percentiles, approximately", "percentiles", {"approx": "true"}),
    ("percentiles of a device", "percentiles", {"device": "device3", "build": "b1"}),
    ("regression_deltas", "regression_deltas", {"base": "b0", "head": "b1"}),
    ("framework_tax", "framework_tax", {}),
    ("operator_hotspots", "operator_hotspots", {}),
    ("build_history", "build_history", {"event": "native_call_convolution.out"}),
)
STEADY_REPEATS = LARGE_REPEATS * 2 // 3  # makes 100 k events of them
# What the other queries must be told.
NEEDED = {
    "base": "b0", "head": "b1", "base_backend": "portable", "head_backend": "xnnpack",
    "dump": "1", "event": "Method::execute", "size_tag": "size",
}  # fmt: skip
DELEGATED = DATA / "corpus/real/cnn_xnnpack_n20.etdp"
PROGRAM = DATA / "corpus/models/cnn_xnnpack.etrecord"
DELEGATED_REPEATS = 600  # makes 100 k events of them
WARM = 6  # the runs before it are slower
# Two allocations of every run, while its first instruction runs and while its second one does.
_ALLOCATIONS = """
INSERT INTO allocations BY NAME
SELECT
    dump_id, run_index, unnest([0, 3]) AS event_index, 1 AS allocator_id,
    'temp' AS allocator, 4096 AS bytes
FROM runs
WHERE dump_id IN (SELECT dump_id FROM dumps WHERE etrecord_id IS NOT NULL)
"""


def bench_queries(folder: Path) -> Figures:
    """Size of the store, and each query once."""
    store = folder / "large.store"
    events = _load(store)
    size = (store / "warehouse.duckdb").stat().st_size
    figures: Figures = {"a store of 20 M events": {"bytes/event": size / events}}
    with Warehouse.open(store, read_only=True) as warehouse:
        for title, name, params in _questions():
            wall, cpu = measure(lambda name=name, params=params: warehouse.query(name, **params))  # type: ignore[misc]
            figures[f"{title}, 20 M events"] = {"s wall": wall, "s CPU": cpu}
    return figures


def bench_fixed_cost(folder: Path) -> Figures:
    """What queries cost that have next to nothing to read: plans, views and names."""
    store = folder / "two-dumps.store"
    with Warehouse.open(store, create=True) as warehouse:
        for build, backend in enumerate(("portable", "xnnpack")):
            named = {**MANIFEST, "device": "device3", "build": f"b{build}"}
            named |= {"backend": backend, "tags": {"size": 1}}
            dump = {"portable": SMALL, "xnnpack": DELEGATED}[backend]
            warehouse.ingest([dump], manifest=named)
    costs = {}
    with Warehouse.open(store, read_only=True) as warehouse:
        for title, name, params in _questions():
            asked = partial(warehouse.query, name, **params)
            asked()
            costs[title] = cheapest(asked, 0.2).cpu * 1e3
    dearest = max(costs, key=lambda title: costs[title])
    figures = {"median CPU ms": median(costs.values()), "most CPU ms": costs[dearest]}
    return {f"a query of a store of two dumps (most: {dearest})": figures}


def _questions() -> Iterator[tuple[str, str, dict[str, str]]]:
    """All queries, those of QUERIES first."""
    yield from QUERIES
    known = {name for _, name, _ in QUERIES}
    for name, query in every_query().items():
        if name not in known:
            required = (param.name for param in query.header.params if param.is_required)
            yield name, name, {one: NEEDED[one] for one in required}


def _load(store: Path) -> int:
    template = Template(repeat_runs(SMALL.read_bytes(), STEADY_REPEATS, first_run=WARM))
    events = 0
    with Warehouse.open(store, create=True) as warehouse:
        loader = Loader(warehouse.writing)
        for dump in range(200):
            build, device = dump // 100, dump // 20 % 5
            content = decode_content([template.vary(dump, scale=1 + build)])
            manifest = {**MANIFEST, "device": f"device{device}", "build": f"b{build}"}
            new = NewDump(f"{dump}", f"{dump}", Manifest.model_validate(manifest))
            loader.load([content._replace(dumps=[new])], [])
            events += content.decoded.tables["events"].num_rows
    return events + _load_delegated(store)


def _load_delegated(store: Path) -> int:
    template = Template(repeat_runs(DELEGATED.read_bytes(), DELEGATED_REPEATS, first_run=WARM))
    with Warehouse.open(store) as warehouse:
        for number in range(10):
            build, device = number // 5, number % 5
            folder = store.parent / f"delegated.{number}"
            folder.mkdir()
            (folder / "run.etdp").write_bytes(template.vary(number, scale=1 + build))
            shutil.copy(PROGRAM, folder / "run.etrecord")
            named = {**MANIFEST, "device": f"device{device}", "build": f"b{build}"}
            named |= {"backend": "xnnpack", "tags": {"size": 1 + number}}
            warehouse.ingest([folder], manifest=named)
        text = "SELECT count(*) FROM named_events WHERE backend = 'xnnpack'"
        events: int = warehouse.sql(text).table.column(0)[0].as_py()
    with duckdb.connect(str(store / "warehouse.duckdb")) as connection:
        connection.execute(_ALLOCATIONS)
    return events
