"""Measures processes: start-up, and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median

from tests.support.command import COMMAND
from tests.tools.benchmarks.cost import cheapest, measure
from tests.tools.benchmarks.decode import DATA, LARGE_REPEATS, SMALL
from tests.tools.benchmarks.record import Figures
from tests.tools.simulation.dump_template import repeat_runs

# What `tracehouse sql` cannot do without, as it imports them.
_IMPORTS = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import duckdb, numpy, pyarrow"
IMPORTS = (sys.executable, "-c", _IMPORTS)
TURNS = 15
_INGEST = """
import sys
from tracehouse import Warehouse
with Warehouse.open(sys.argv[1], create=True) as warehouse:
    warehouse.ingest([sys.argv[2]])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
INGEST = (sys.executable, "-c", _INGEST)


def bench_commands(folder: Path) -> Figures:
    """Commands that start and end, an ingest's memory, and the smallest question."""
    figures: Figures = {}
    for title, arguments in (
        ("tracehouse --help", ["--help"]),
        ("tracehouse inspect, a 31 kB dump", ["inspect", str(SMALL)]),
    ):
        cost = cheapest(lambda arguments=arguments: _run(*COMMAND, *arguments))  # type: ignore[misc]
        figures[title] = {"s wall": cost.wall}
    dump = folder / "200k.etdp"
    dump.write_bytes(repeat_runs(SMALL.read_bytes(), LARGE_REPEATS))
    export = ["export", "trace", str(dump), "--output", str(folder / "trace.json")]
    figures["tracehouse export trace, 200 k events"] = {
        "s CPU": cheapest(lambda: _run(*COMMAND, *export)).cpu
    }
    peak = int(_run(*INGEST, str(folder / "farm.store"), str(DATA / "farm")))
    figures["ingest tests/data/farm"] = {"MB peak": peak / 1024}
    figures["tracehouse sql 'SELECT 1'"] = _bench_question(str(folder / "farm.store"))
    return figures


def _bench_question(store: str) -> dict[str, float]:
    """The smallest question, and in turns with it what is imported for it."""
    costs = [
        (
            measure(lambda: _run(*COMMAND, "sql", "SELECT 1", "--store", store)),
            measure(lambda: _run(*IMPORTS)),
        )
        for _ in range(TURNS)
    ]
    whole, imports = (median(cost.cpu for cost in own) for own in zip(*costs, strict=True))
    return {"s CPU": whole, "s CPU of its imports": imports}


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
