"""Measures processes: start-up, and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.tools.benchmarks.cost import cheapest
from tests.tools.benchmarks.decode import DATA, SMALL
from tests.tools.benchmarks.record import Figures

COMMAND = "import sys; from cli.main import main; sys.exit(main())"
INGEST = """
import sys
from warehouse import Warehouse
with Warehouse.open(sys.argv[1], create=True) as warehouse:
    warehouse.ingest([sys.argv[2]])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def bench_commands(folder: Path) -> Figures:
    """Two commands that start and end, and an ingest's memory."""
    figures: Figures = {}
    for title, arguments in (
        ("tracehouse --help", ["--help"]),
        ("tracehouse inspect, a 31 kB dump", ["inspect", str(SMALL)]),
    ):
        cost = cheapest(lambda arguments=arguments: _run(COMMAND, *arguments))  # type: ignore[misc]
        figures[title] = {"s wall": cost.wall}
    peak = int(_run(INGEST, str(folder / "farm.store"), str(DATA / "farm")))
    figures["ingest tests/data/farm"] = {"MB peak": peak / 1024}
    return figures


def _run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
