"""Asks a simulated farm everything: its store, a lake by DuckDB, and a lake by Apache Spark.

    python -m tests.tools.benchmarks.engines RECORD [DEVICES BUILDS ITERATIONS [FOLDER]]

The lake is a folder, and a bucket of moto's server on loopback. Answers must be equal; what each
cost is recorded. An event of the simulator's farm is one of 5,300 of a dump at 200 iterations.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pyarrow.feather as feather
import pyarrow.fs as pafs

from tests.support.buckets import serving_s3
from tests.support.command import COMMAND
from tests.tools.audit.comparing import compare_rows
from tests.tools.benchmarks.cost import Cost, measure
from tests.tools.benchmarks.record import Figures, Record
from tracehouse import Warehouse
from tracehouse.warehouse.lake.commits import read_state, sum_bytes
from tracehouse.warehouse.lake.place import Lake

SIZES = (21, 8, 200)  # 52 M events
MODELS, DUMPS = 3, 10
LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"
_WORKER = "tests.tools.benchmarks.engine_worker"


def main(record: str, *given: str) -> None:
    """Measure, and write the record."""
    sizes = [int(text) for text in given[:3]] or [*SIZES]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given[3]) if len(given) > 3 else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = bench(folder, sizes)
    Record.of(figures).write(Path(record))


def bench(folder: Path, sizes: list[int]) -> Figures:
    """Figures by what was asked; raises AssertionError where answers differ."""
    store, lake = folder / "farm.store", folder / "lake"
    figures: Figures = {}
    if not store.exists():
        _make_store(folder, store, sizes)
    if not lake.exists():
        figures["export"] = _seconds(measure(partial(_export, store, lake)))
    files = read_state(Lake(lake)).files.values()
    figures["lake"] = {"MB": sum_bytes(files) / 1e6, "files": len(files)}
    with serving_s3() as bucket:
        uri = bucket.uri("lake")
        figures["copy to S3"] = _seconds(measure(partial(_copy, lake, uri)))
        runs = {
            "store, DuckDB": ("store", str(store)),
            "lake in a folder, DuckDB": ("duckdb", str(lake)),
            "lake in S3, DuckDB": ("duckdb", uri),
            f"lake in a folder, Spark {LOCAL}": ("spark", str(lake), LOCAL),
            f"lake in S3, Spark {LOCAL}": ("spark", uri, LOCAL),
            f"lake in S3, Spark {CLUSTER}": ("spark", uri, CLUSTER),
        }
        answers = {what: folder / f"answers {n}" for n, what in enumerate(runs)}
        for what, (engine, place, *master) in runs.items():
            arguments = [engine, place, str(answers[what]), *master]
            if not (answers[what] / "sums of run_totals.arrow").exists():  # the last; asked before
                subprocess.run([sys.executable, "-m", _WORKER, *arguments], check=True)
            costs = json.loads((answers[what] / "costs.json").read_text())
            for name, cost in costs.items():
                figures[f"{name}: {what}"] = cost
    first, *others = answers.values()
    for other in others:
        compare(first, other)
    events = feather.read_table(first / "sums of events.arrow")
    figures["events"] = {"rows": events["row_count"][0].as_py()}
    return figures


def _make_store(folder: Path, store: Path, sizes: list[int]) -> None:
    from tests.tools.simulation import FarmSize, FarmWriter, plan_farm

    devices, builds, iterations = sizes
    plan = plan_farm(FarmSize(devices, builds, MODELS, DUMPS, iterations), 1)
    FarmWriter(plan).write(folder / "farm", lambda *_: None)
    with Warehouse.open(store, create=True) as warehouse:
        warehouse.ingest([folder / "farm"])


def _export(store: Path, lake: Path) -> None:
    command = [*COMMAND, "export", "lake", str(lake), "--store", str(store)]
    subprocess.run(command, check=True)


def _seconds(cost: Cost) -> dict[str, float]:
    return {"wall s": cost.wall, "CPU s": cost.cpu}


def _copy(lake: Path, uri: str) -> None:
    target = Lake(uri)
    pafs.copy_files(
        str(lake), target.root, source_filesystem=pafs.LocalFileSystem(),
        destination_filesystem=target.files, use_threads=False,
    )  # fmt: skip


def compare(one: Path, other: Path) -> None:
    """Pass if both engines gave the same answers; the order of equal rows may differ.

    Sums are made in another order, so that fractions differ in their last digits.
    """
    for path in sorted(one.glob("*.arrow")):
        wanted, found = (feather.read_table(folder / path.name) for folder in (one, other))
        # A store numbers dumps on its own.
        columns = [name for name in wanted.column_names if not name.endswith("dump_id")]
        differences = compare_rows(found.to_pylist(), wanted.to_pylist(), columns, near=1e-9)
        assert not differences, (path.stem, other.name, *map(str, differences))


if __name__ == "__main__":
    main(*sys.argv[1:])
