"""Measures the nightly report and a comparison of builds at the scale of a large farm.

    python -m tests.tools.benchmarks.scale [DEVICES MODELS BUILDS]

The stores hold what ingest keeps of each dump for comparisons, written as rows: no dump is decoded.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from tests.support.command import COMMAND
from tests.tools.benchmarks.cost import measure
from tests.tools.benchmarks.record import Figures, render_figure
from tracehouse import Warehouse
from tracehouse.warehouse.engine.build_order import update_build_order

DEVICES, MODELS, BUILDS, DUMPS, OPERATORS = 200, 20, 30, 10, 10  # dumps of a night of a model
PAIR = (80, 20, 2, 30, 10)  # 16,000 series

_NAMES = """
INSERT INTO devices BY NAME SELECT i::INT AS device_id, 'device-' || i AS name
FROM range(1, $devices + 1) r(i);
INSERT INTO builds BY NAME SELECT i::INT AS build_id, 'b' || i AS name, i AS ordinal
FROM range(1, $builds + 1) r(i);
INSERT INTO models BY NAME SELECT i::INT AS model_id, 'model-' || i AS name, 'xnnpack' AS backend
FROM range(1, $models + 1) r(i);
INSERT INTO event_signatures BY NAME SELECT
    m * 100 + o AS event_signature_id,
    IF(o = 0, 'Method::execute', 'native_call_op' || o || '.out') AS name,
    o * 3 AS instruction_id,
    CASE WHEN o = 0 THEN 'method' WHEN o % 2 = 0 THEN 'delegate_op' ELSE 'kernel' END AS kind,
    IF(kind = 'delegate_op', 'GEMM #' || o, NULL) AS delegate_id_str,
    true AS is_profiled, false AS is_logged
FROM range(1, $models + 1) r(m), range($operators) s(o);
INSERT INTO run_signatures BY NAME SELECT
    m AS run_signature_id, 'Execute' AS name, -1 AS bundled_input_index,
    list_transform(range($operators), lambda o: m * 100 + o) AS events
FROM range(1, $models + 1) r(m);
"""
# A model has enough dumps of the last builds on 100 devices for its alert.
_DUMPS = """
INSERT INTO dumps BY NAME SELECT
    row_number() OVER (ORDER BY b, d, m, k)::INT AS dump_id,
    lpad(dump_id::VARCHAR, 64, '0') AS sha256, dump_id || '.etdp' AS source, 5000 AS byte_count,
    d::INT AS device_id, b::INT AS build_id, m::INT AS model_id,
    '2026-01-01'::TIMESTAMPTZ + INTERVAL (b) DAY AS captured_at, now() AS ingested_at,
    'ns' AS tick_unit, 1.0 AS ns_per_tick, 1.0 AS delegate_ns_per_tick,
    1 AS resolution_ticks, 1000 AS delegate_resolution_ticks, 0 AS schema_version,
    true AS is_size_prefixed,
    30 AS n_runs, 300 AS n_events, 0 AS n_flagged_events, 0 AS n_allocations, 0 AS n_debug_events,
    0 AS n_empty_events, '{"tags":{}}' AS manifest
FROM range(1, $builds + 1) r(b), range(1, $devices + 1) s(d), range(1, $models + 1) t(m),
    LATERAL unnest(range(
        IF(m = 5 AND d <= 100 AND b > $builds - 12, greatest(10, $dumps), $dumps)
    )) u(k);
"""
_RUNS = """
INSERT INTO runs BY NAME SELECT
    dump_id, 0 AS run_index, model_id AS run_signature_id, 'Execute' AS name,
    -1 AS bundled_input_index, 0 AS start_ticks, $operators AS n_events
FROM dumps
"""
# Noise of 3 % between dumps; an operator of one model is 8 % slower from the last build but one on.
_STATS = """
INSERT INTO event_stats BY NAME SELECT
    dump_id, model_id AS run_signature_id, model_id * 100 + o AS event_signature_id,
    30 AS sample_count, 0 AS zero_count,
    900 AS min_ticks, 1500 AS max_ticks, 30000.0 AS sum_ticks, 950.0 AS p10_ticks,
    1000.0 AS p50_ticks, 1100.0 AS p90_ticks, 1200.0 AS p95_ticks, 1300.0 AS p99_ticks,
    25 AS steady_count, value AS steady_grouped_ticks, value AS steady_p50_ticks
FROM (
    SELECT
        dump_id, model_id, o,
        (50000.0 + o * 7770) * IF(o = 3 AND model_id = 5 AND build_id >= $builds - 1, 1.08, 1)
            * exp(0.03 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())) AS value
    FROM dumps, range($operators) u(o)
)
ORDER BY dump_id, event_signature_id
"""


def fill(store: Path, *sizes: int) -> None:
    """Make a store of so many devices, models, builds, dumps and operators."""
    names = "devices", "models", "builds", "dumps", "operators"
    given = dict(zip(names, sizes, strict=True))
    Warehouse.open(store, create=True).close()
    with duckdb.connect(str(store / "warehouse.duckdb"), config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'; SELECT setseed(0.5)")
        for statement in (*_NAMES.split(";")[:-1], _DUMPS, _RUNS, _STATS):
            own = {name: value for name, value in given.items() if f"${name}" in statement}
            connection.execute(statement, own)
        update_build_order(connection)
    Warehouse.open_to_write(
        store
    ).close()  # keeps the names of runs and operators, as after an ingest


def bench_scale(
    folder: Path, devices: int = DEVICES, models: int = MODELS, builds: int = BUILDS
) -> Figures:
    """The report of a night, and a comparison of two builds, each as a process of its own."""
    farm, pair = folder / "farm.store", folder / "pair.store"
    fill(farm, devices, models, builds, DUMPS, OPERATORS)
    fill(pair, *PAIR)
    dumps = devices * models * builds * DUMPS
    what = f"report of {devices} devices x {models} models x {builds} builds, {dumps:,} dumps"
    page = str(folder / "report.html")
    series = PAIR[0] * PAIR[1] * PAIR[-1]
    return {
        what: _time("report", "--output", page, "--store", str(farm)),
        f"compare {series:,} series of {PAIR[3]} dumps": _time(
            "compare", "b1", "b2", "--format", "json", "--store", str(pair)
        ),
    }


def _time(*arguments: str) -> dict[str, float]:
    cost = measure(lambda: subprocess.run([*COMMAND, *arguments], check=True, capture_output=True))
    return {"s wall": cost.wall, "s CPU": cost.cpu}


def main(*sizes: int) -> None:
    """Print the figures of so many devices, models and builds."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-scale-") as folder:
        for what, by_unit in bench_scale(Path(folder), *sizes).items():
            print(what, *(f"{render_figure(value)} {unit}" for unit, value in by_unit.items()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
