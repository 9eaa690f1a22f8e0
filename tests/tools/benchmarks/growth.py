"""Measures how costs grow with a fleet: `make bench-scale`. Reports, never gates.

    python -m tests.tools.benchmarks.growth PATH [DEVICES]

Each canned query, each main page of the service, and what is done to a whole store costs CPU and
memory over a fleet of so many devices and over one of twice as many. An exponent of 1 says that
twice the fleet costs twice the CPU.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb

from tests.support.questions import every_query
from tests.tools.benchmarks.growth_step import measure_step
from tests.tools.benchmarks.record import FOLDER, Figures, Record, render_figure
from tests.tools.benchmarks.report import publish
from tests.tools.benchmarks.scale import fill

RECORD = FOLDER / "record-growth.json"
DEVICES, MODELS, BUILDS, DUMPS, OPERATORS = 20, 10, 50, 1, 10
STEP_SECONDS, ALL_SECONDS = 60, 560  # a step that takes longer has no figures
# What the store of `fill` lacks: a second backend, sizes, more runs, their totals and events.
_MORE = """
UPDATE models SET name = 'model-1', backend = 'portable' WHERE model_id = 2;
UPDATE dumps SET manifest = '{"tags":{"size":"' || model_id || '"}}';
INSERT INTO runs BY NAME SELECT runs.* REPLACE (n::INT AS run_index)
FROM runs, range(1, 26) r(n);
INSERT INTO run_totals BY NAME SELECT
    dump_id, run_index, run_signature_id, 1e5 + hash(dump_id, run_index) % 100000 AS execute_ticks,
    6e4 AS kernel_ticks, 1e4 AS delegate_ticks
FROM runs;
INSERT INTO event_totals BY NAME SELECT
    dump_id, run_signature_id, event_signature_id, 0 AS chain_index, 25 AS event_count,
    25e3 AS total_ticks
FROM event_stats;
INSERT INTO events BY NAME SELECT
    t.dump_id, t.run_signature_id, t.event_signature_id, r.run_index, 0 AS occurrence,
    0 AS chain_index, 1000 * (t.event_signature_id % 100) AS start_offset_ticks,
    900 + hash(t.dump_id, r.run_index) % 600 AS duration_ticks, 0 AS flags
FROM event_stats AS t JOIN runs AS r ON r.dump_id = t.dump_id
ORDER BY t.dump_id, r.run_index;
"""
_NEEDED = {
    "base": f"b{BUILDS - 1}", "head": f"b{BUILDS}", "base_backend": "portable",
    "head_backend": "xnnpack", "dump": 1, "event": "native_call_op3.out", "size_tag": "size",
}  # fmt: skip
_ONE = {"device": "device-5", "model": "model-3"}
_PAIR = f"base={_NEEDED['base']}&head={_NEEDED['head']}"
_PAGES = (
    "/", "/regressions", "/explore/build_history", "/explore/operator_hotspots",
    f"/explore/build_history?event={_NEEDED['event']}",
    f"/compare?{_PAIR}", f"/timelines?{_PAIR}&device=device-5&model=model-3", "/dumps",
    "/explain?group={alert}", "/nights.atom", "/explore/ingest_errors",
)  # fmt: skip
_STORE = ("open", "status", "snapshot", "nightly report", "explain")


class Step(NamedTuple):
    """What is measured: its kind, its name, and the parameters of a query."""

    kind: str
    name: str
    params: dict[str, object]

    @property
    def title(self) -> str:
        """The step in words."""
        return f"{self.kind} {self.name}" + (" of a device and a model" if _is_one(self) else "")


def list_steps() -> Iterator[Step]:
    """All that is measured; queries first of the whole fleet, then of a device and a model.

    The steps of a store come before the pages, which show the report and read the snapshot.
    """
    for name, query in every_query().items():
        required = {p.name: _NEEDED[p.name] for p in query.header.params if p.is_required}
        yield Step("query", name, required)
        if {p.name for p in query.header.params} >= _ONE.keys():
            yield Step("query", name, {**required, **_ONE})
    yield from (Step("store", name, {}) for name in _STORE)
    yield from (Step("page", path, {}) for path in _PAGES)


def make_store(store: Path, devices: int) -> None:
    """Make a store of 10 models and 50 builds on so many devices."""
    fill(store, devices, MODELS, BUILDS, DUMPS, OPERATORS)
    with duckdb.connect(str(store / "warehouse.duckdb"), config={"threads": 1}) as connection:
        connection.execute(_MORE)


def exponent(small: float, large: float, times: float = 2.0) -> float:
    """The power of the size by which a cost grows.

    >>> exponent(1, 2), exponent(1, 4), exponent(1, 1)
    (1.0, 2.0, 0.0)
    """
    return math.log(max(large, 1e-3) / max(small, 1e-3), times)


def _is_one(step: Step) -> bool:
    return step.params.keys() >= _ONE.keys()


def bench_growth(folder: Path, devices: int = DEVICES) -> tuple[Figures, dict[str, str]]:
    """The figures of each step over two fleets, and the steps that have none."""
    end = time.monotonic() + ALL_SECONDS
    stores = {count: folder / f"{count}.store" for count in (devices, 2 * devices)}
    for count, store in stores.items():
        make_store(store, count)
    figures: Figures = {}
    missing: dict[str, str] = {}
    for step in list_steps():
        left = min(STEP_SECONDS, (end - time.monotonic()) / 2)
        if left < 1:
            missing[step.title] = "no time left"
            continue
        found = [
            measure_step(step.kind, step.name, store, step.params, left)
            for store in stores.values()
        ]
        refusals = [str(one["refusal"]) for one in found if one["refusal"]]
        if refusals:
            missing[step.title] = refusals[0]
            continue
        (less, low), (more, high) = [(float(one["cpu"]), float(one["mb"])) for one in found]
        figures[step.title] = {
            "s CPU": less, "s CPU, twice": more, "exponent": exponent(less, more),
            "MB": low, "MB, twice": high,
        }  # fmt: skip
    return figures, missing


def main(path: Path, devices: int = DEVICES) -> None:
    """Print one table, and write the record to `path`."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-growth-") as folder:
        figures, missing = bench_growth(Path(folder), devices)
    record = Record.of(figures, devices=f"{devices} and {2 * devices}")
    rows = [
        (what, *(f"{v:.2f}" if u == "exponent" else render_figure(v) for u, v in by_unit.items()))
        for what, by_unit in record.figures.items()
    ]
    rows += [(what, refusal, "", "", "", "") for what, refusal in missing.items()]
    columns = ("what", "s CPU", "s CPU, twice", "exponent", "MB", "MB, twice")
    publish(record, Record.read(RECORD), path, columns=columns, rows=rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
