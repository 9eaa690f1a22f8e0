"""What Spark costs: CPU of decoding alone, of a lake by one process, and of the same by Spark.

The same dumps each time, made unlike each other. CPU is that of all processes: the driver, its JVM
and the Python workers. Reports, never gates: `make bench-spark`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.command import COMMAND
from tests.support.stores import MANIFEST, write
from tests.support.tasks import TasksHere
from tests.tools.benchmarks.cost import Cost, measure
from tests.tools.benchmarks.record import Figures, Record
from tests.tools.benchmarks.tree_cpu import watched_tree
from tests.tools.reliability.spark_kills import kill_session
from tests.tools.service.dumps import DumpMaker
from tracehouse import decode_dumps
from tracehouse.warehouse.spark.ingest import LakeIngester

DUMPS = 96
EVENTS, RUNS = 1_000, 20  # of a dump of about 1.6 MB
MASTERS = ("local[2,4]", "local-cluster[2,1,1024]")


def make_inbox(inbox: Path, count: int) -> Path:
    """Write dumps, with a manifest for all."""
    maker = DumpMaker(EVENTS, runs=RUNS)
    write(inbox / "manifest.json", json.dumps(MANIFEST).encode())
    for number in range(count):
        write(inbox / f"{number:04}.etdp", maker.dump(number))
    return inbox


def measure_decoding(inbox: Path) -> Cost:
    """Decode the dumps, and nothing else."""
    buffers = [path.read_bytes() for path in sorted(inbox.glob("*.etdp"))]

    def decode() -> None:
        for first in range(0, len(buffers), 8):
            decode_dumps(buffers[first : first + 8])

    return measure(decode)


def measure_lake(inbox: Path, lake: Path) -> Cost:
    """Take the dumps into a lake, in this process."""
    return measure(LakeIngester(TasksHere(1), str(inbox), str(lake)).ingest_all)


def measure_spark(inbox: Path, lake: Path, master: str) -> Cost:
    """Take the dumps into a lake, by a command that starts Spark."""
    command = [*COMMAND, "spark", "ingest", str(inbox), str(lake), "--master", master]
    with watched_tree() as tree:
        cost_since = tree.start()
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        code = process.wait()
        cost = cost_since()
    kill_session(process.pid)
    assert code == 0
    return cost


def run() -> Figures:
    """Measure each once."""
    with tempfile.TemporaryDirectory() as folder:
        inbox = make_inbox(Path(folder, "inbox"), DUMPS)
        nothing = make_inbox(Path(folder, "nothing"), 1)
        costs = {
            "decoding alone": measure_decoding(inbox),
            "a lake, by one process": measure_lake(inbox, Path(folder, "lake")),
        }
        for number, master in enumerate(MASTERS):
            lakes = Path(folder, f"started-{number}"), Path(folder, f"lake-{number}")
            costs[f"Spark, {master}, one dump"] = measure_spark(nothing, lakes[0], master)
            costs[f"Spark, {master}"] = measure_spark(inbox, lakes[1], master)
    figures = {what: {"s wall": cost.wall, "s CPU": cost.cpu} for what, cost in costs.items()}
    return figures | {"of": {"dumps": DUMPS, "events": DUMPS * EVENTS * RUNS}}


if __name__ == "__main__":
    record = Record.of(run())
    record.write(Path(sys.argv[1]))
    print(json.dumps(record.figures, indent=1))
