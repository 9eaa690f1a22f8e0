"""Measures decoding a dump of 1 GB from a memory map, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.support.processes import memory_bytes
from tests.tools.benchmarks.cost import Cost, measure
from tests.tools.benchmarks.decode import SMALL
from tests.tools.benchmarks.record import Figures
from tests.tools.simulation.dump_template import stream_repeated_runs
from tracehouse import stream_dump
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source

REPEATS = 32_850  # 1.0 GB


def bench_stream(folder: Path) -> Figures:
    """Time of one pass, and the most memory it takes beside the file's."""
    path = folder / "1GB.etdp"
    with path.open("wb") as file:
        file.writelines(stream_repeated_runs(SMALL.read_bytes(), REPEATS))
    command = [sys.executable, "-m", "tests.tools.benchmarks.stream", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        child.stdout.readline()  # all is imported, and the file is not yet mapped
        libraries = peak = memory_bytes(child.pid, "RssFile")
        while child.poll() is None:
            own = memory_bytes(child.pid, "RssAnon") + memory_bytes(child.pid, "RssShmem")
            peak = max(peak, libraries + own)
            time.sleep(0.005)
        events, cost = json.loads(child.stdout.readline())
    path.unlink()
    return {
        f"stream a dump of 1 GB, {events:,} events": {
            "CPU ns/event": Cost(*cost).cpu / events * 1e9,
            "MB peak beside the file": peak / 2**20,
        }
    }


def main(path: str) -> None:
    """Say that all is imported; decode; say how many events there were and what it took."""
    events = 0

    def decode() -> None:
        nonlocal events
        for batch in stream_dump(read_source(Source(path))):
            events += batch.tables["events"].num_rows

    print("ready", flush=True)
    cost = measure(decode)
    print(json.dumps([events, cost]))


if __name__ == "__main__":
    main(sys.argv[1])
