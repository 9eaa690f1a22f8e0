"""Measures decode, ingest, commands and queries here: `make bench`. Reports, never gates."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.tools.benchmarks.commands import bench_commands
from tests.tools.benchmarks.decode import bench_decode, bench_yardstick
from tests.tools.benchmarks.ingest import bench_ingest
from tests.tools.benchmarks.queries import bench_fixed_cost, bench_queries
from tests.tools.benchmarks.record import FOLDER, Figures, Record, ratio, render_figure
from tests.tools.benchmarks.report import publish
from tests.tools.benchmarks.scale import bench_scale
from tests.tools.benchmarks.stream import bench_stream
from tests.tools.benchmarks.views import bench_views

RECORD = FOLDER / "record.json"
BENCHES = (
    bench_yardstick, bench_decode, bench_stream, bench_ingest, bench_commands, bench_fixed_cost,
    bench_queries, bench_scale, bench_views,
)  # fmt: skip


def main(path: Path) -> None:
    """Run everything, on two cores at most, print one table and write the record to `path`."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="tracehouse-bench-") as folder:
        for bench in BENCHES:
            figures |= bench(Path(folder))
    record, before = Record.of(figures), Record.read(RECORD)
    rows = [
        ("" if i else what, unit, render_figure(value), ratio(before, what, unit, value))
        for what, by_unit in record.figures.items()
        for i, (unit, value) in enumerate(by_unit.items())
    ]
    columns = ("what", "unit", "figure", "now / record")
    publish(record, before, path, columns=columns, rows=rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
