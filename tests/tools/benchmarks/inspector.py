"""Measures tracehouse beside ExecuTorch's Inspector, on the same files: `make bench-inspector`.

Both take turns, each in a process of its own. All times are CPU times, of all threads and of the
flatc that the Inspector starts; each is the best pass. Event blocks are what the Inspector makes;
tables are what an ingest loads, signatures included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.tools.benchmarks.cost import Cost, least, measure
from tests.tools.benchmarks.decode import LARGE_REPEATS, SMALL, SMALL_EVENTS
from tests.tools.benchmarks.dumps import Template
from tests.tools.benchmarks.record import FOLDER, Figures, Record, ratio, render_figure
from tests.tools.benchmarks.report import publish
from tests.tools.simulation.dump_template import repeat_runs
from tracehouse import decode_dumps
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source
from tracehouse.queries.event_blocks.build import read_event_blocks

RECORD = FOLDER / "record-inspector.json"
PASSES = 5
IMPORT = """
import json
from tests.tools.benchmarks.cost import measure
print(json.dumps(measure(lambda: __import__("tracehouse.queries.event_blocks.build"))))
"""


class Inspector:
    """ExecuTorch's Inspector in a process of its own; `log` is what it says on stderr."""

    def __init__(self, worker: subprocess.Popen[str], log: IO[str]) -> None:
        self._worker, self._log = worker, log
        import_cost, self.versions = self._hear()
        self.import_cost = Cost(*import_cost)

    def inspect(self, paths: Sequence[Path]) -> Cost:
        """The cost of inspecting the files, one after the other."""
        assert self._worker.stdin
        print(json.dumps([str(path) for path in paths]), file=self._worker.stdin, flush=True)
        return Cost(*self._hear())

    def _hear(self) -> Any:
        assert self._worker.stdout
        answer = self._worker.stdout.readline()
        if not answer:
            self._log.seek(0)
            sys.exit(f"the Inspector ended:\n{self._log.read()}")
        return json.loads(answer)


@contextmanager
def start_inspector(python: Path) -> Iterator[Inspector]:
    """The Inspector of another Python; ends with the context."""
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [python, "-m", "tests.tools.benchmarks.inspector_worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        ) as worker,
    ):  # fmt: skip
        yield Inspector(worker, log)


class Work(NamedTuple):
    """Files to inspect, and what tracehouse does, to which files, for comparison."""

    title: str
    inspected: list[Path]
    action: Callable[[Sequence[Path]], object]
    files: list[Path]
    events_per_file: int


def to_tables(paths: Sequence[Path]) -> None:
    batch = decode_dumps([read_source(Source(str(path))) for path in paths])
    assert not batch.errors.num_rows


def to_event_blocks(paths: Sequence[Path]) -> None:
    for path in paths:
        read_event_blocks(Source(str(path)))


def plan(folder: Path) -> list[Work]:
    """Write the files; what to do with them."""
    template = Template(SMALL.read_bytes())
    small = [folder / f"{i}.etdp" for i in range(20)]
    for i, path in enumerate(small):
        path.write_bytes(template.vary(i))
    large = [folder / "large.etdp"]
    large[0].write_bytes(repeat_runs(SMALL.read_bytes(), LARGE_REPEATS))
    count, many = SMALL_EVENTS, small * 100
    small_title = f"20 dumps of {count} events"
    return [
        Work(f"{small_title} -> event blocks", small, to_event_blocks, small, count),
        Work(f"{small_title} -> tables", small, to_tables, small, count),
        Work(f"{small_title}, 100 times -> tables", small, to_tables, many, count),
        Work("200 k events -> event blocks", large, to_event_blocks, large, count * LARGE_REPEATS),
        Work("200 k events -> tables", large, to_tables, large, count * LARGE_REPEATS),
    ]


def bench_work(work: Work, inspector: Inspector) -> Figures:
    """CPU nanoseconds per event of both, in turns."""
    theirs, ours = [], []
    for _ in range(PASSES):
        theirs.append(inspector.inspect(work.inspected))
        ours.append(measure(lambda: work.action(work.files)))
    nanoseconds = [
        least(costs).cpu / len(files) / work.events_per_file * 1e9
        for costs, files in ((theirs, work.inspected), (ours, work.files))
    ]
    return {f"{work.title}, ns/event": _compare(*nanoseconds)}


def bench_import(python: Path) -> Figures:
    """CPU milliseconds to import either."""
    theirs, ours = [], []
    for _ in range(2):
        with start_inspector(python) as inspector:
            theirs.append(inspector.import_cost)
        text = subprocess.check_output([sys.executable, "-c", IMPORT], text=True)
        ours.append(Cost(*json.loads(text)))
    return {"import, ms": _compare(least(theirs).cpu * 1e3, least(ours).cpu * 1e3)}


def _compare(theirs: float, ours: float) -> dict[str, float]:
    return {"Inspector": theirs, "tracehouse": ours, "ratio": theirs / ours}


def main(python: Path, path: Path) -> None:
    """Run everything with the Inspector of that Python, print one table and write the record."""
    figures = bench_import(python)
    with start_inspector(python) as inspector, tempfile.TemporaryDirectory() as folder:
        for work in plan(Path(folder)):
            figures |= bench_work(work, inspector)
        record = Record.of(figures, **inspector.versions)
    before = Record.read(RECORD)
    rows = [
        (
            what,
            *map(render_figure, values.values()),
            ratio(before, what, "ratio", values["ratio"]),
        )
        for what, values in record.figures.items()
    ]
    columns = ("what", "Inspector", "tracehouse", "ratio", "now / record")
    publish(record, before, path, columns=columns, rows=rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
