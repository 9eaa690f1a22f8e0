"""Measures decode, ingest, queries and start-up here: `make bench`. Reports, never gates.

CPU time is that of the whole process, all threads; each figure is the best of a few passes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ingest import decode_dumps
from ingest.manifest import Manifest
from tests.benchmarks.dumps import Template, repeat_runs
from warehouse import Warehouse
from warehouse.load import Loader, NewDump

DATA = Path(__file__).parents[1] / "data"
SMALL = DATA / "corpus/real/cnn_portable_n20.etdp"
MANIFEST = {"device": "bench", "build": "b0", "model": "cnn", "backend": "portable"}

Row = tuple[str, str, str]

INGEST_AND_PEAK = """
import sys
from warehouse import Warehouse
with Warehouse.open(sys.argv[1]) as warehouse:
    warehouse.ingest([sys.argv[2]])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def best(action: Callable[[], object], passes: int = 5) -> float:
    """CPU seconds of the fastest pass."""
    times = []
    for _ in range(passes):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def bench_decode(folder: Path) -> Iterator[Row]:
    small = SMALL.read_bytes()
    for title, buffers in (
        ("one dump of 200 k events", [repeat_runs(small, 451)]),
        ("2,000 dumps of 443 events", [small] * 2000),
    ):
        events = decode_dumps(buffers).tables["events"].num_rows
        seconds = best(lambda buffers=buffers: decode_dumps(buffers))  # type: ignore[misc]
        yield f"decode {title}", f"{seconds / events * 1e9:,.0f}", "CPU ns/event"


def bench_ingest(folder: Path) -> Iterator[Row]:
    big = Template(repeat_runs(SMALL.read_bytes(), 451))
    small = Template(SMALL.read_bytes())
    for title, template, count in (("200 k-event", big, 10), ("443-event", small, 4000)):
        source = folder / title
        source.mkdir()
        for i in range(count):
            (source / f"{i:05}.etdp").write_bytes(template.vary(i))
        Warehouse.open(folder / f"{title}.store").close()
        wall, cpu = time.perf_counter(), time.process_time()
        with Warehouse.open(folder / f"{title}.store") as warehouse:
            summary = warehouse.ingest([source], manifest=MANIFEST)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        name = f"ingest {count:,} {title} dumps, durable"
        yield name, f"{cpu / summary.n_events * 1e9:,.0f}", "CPU ns/event"
        yield name, f"{summary.n_events / cpu / 1e6:,.2f}", "M events per core second"
        yield name, f"{summary.n_dumps / cpu:,.0f}", "dumps per core second"
        yield name, f"{summary.n_dumps / wall:,.0f}", "dumps/s wall"


def bench_queries(folder: Path) -> Iterator[Row]:
    """20 M events: 2 builds x 5 devices x 20 dumps of 100 k events."""
    template = Template(repeat_runs(SMALL.read_bytes(), 226))
    total = 0
    with Warehouse.open(folder / "large.store") as warehouse:
        loader = Loader(warehouse._connection)
        for dump in range(200):
            build, device = dump // 100, dump // 20 % 5
            decoded = decode_dumps([template.vary(dump, scale=1 + build)])
            manifest = {**MANIFEST, "device": f"device{device}", "build": f"b{build}"}
            new = NewDump(f"{dump}", f"{dump}", Manifest.model_validate(manifest))
            loader.load([new], decoded, [])
            total += decoded.tables["events"].num_rows
    size = (folder / "large.store/warehouse.duckdb").stat().st_size
    yield f"size of a store of {total / 1e6:.1f} M events", f"{size / total:.1f}", "bytes/event"
    with Warehouse.open(folder / "large.store", read_only=True) as warehouse:
        for name, params in (
            ("percentiles", {}),
            ("percentiles", {"device": "device3", "build": "b1"}),
            ("regression_deltas", {"base": "b0", "head": "b1"}),
            ("framework_tax", {}),
            ("operator_hotspots", {}),
            ("build_history", {"event": "native_call_convolution.out"}),
        ):
            wall, cpu = time.perf_counter(), time.process_time()
            warehouse.query(name, **params)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            title = f"{name} {' '.join(params.values())} over {total / 1e6:.1f} M events"
            yield title, f"{wall:.2f} ({cpu:.2f})", "s wall (CPU)"


def bench_commands(folder: Path) -> Iterator[Row]:
    command = [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())"]
    for title, arguments in (
        ("tracehouse --help", ["--help"]),
        ("tracehouse inspect, 31 kB dump", ["inspect", str(SMALL)]),
    ):
        walls = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL)
            walls.append(time.perf_counter() - start)
        yield title, f"{min(walls):.2f}", "s wall"
    arguments = [str(folder / "farm.store"), str(DATA / "farm")]
    peak = subprocess.run(
        [sys.executable, "-c", INGEST_AND_PEAK, *arguments],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    yield "peak memory of ingesting tests/data/farm", f"{int(peak.stdout) / 1024:,.0f}", "MB"


def main() -> None:
    """Run everything and print one table."""
    table = Table("what", "figure", "unit", title="tracehouse benchmarks")
    table.columns[1].justify = "right"
    folder = Path(tempfile.mkdtemp(prefix="tracehouse-bench-"))
    try:
        for bench in (bench_decode, bench_ingest, bench_commands, bench_queries):
            for row in bench(folder):
                table.add_row(*row)
    finally:
        shutil.rmtree(folder)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
