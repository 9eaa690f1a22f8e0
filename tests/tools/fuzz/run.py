"""Fuzzes the reader against the reference reader: `make fuzz`.

Whatever differs is written to a folder, as the mutant and a text that says how; a difference makes
the exit status 1. The record says what was tested with what.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.tools.fuzz.blocks import BLOCK, Tally, check_block
from tests.tools.fuzz.mutations import mutant


def main() -> int:
    """Run as the arguments say, and print a summary."""
    options = _parse_arguments()
    console = Console(width=None if sys.stdout.isatty() else 110)
    start = time.monotonic()
    tally = Tally()
    blocks = range(options.seed, options.seed + options.count, BLOCK)
    with _progress(console) as progress:
        task = progress.add_task("mutants", total=len(blocks) * BLOCK)
        for done in _run(blocks, options.processes, start + options.seconds):
            tally.add(done)
            _save(done, options.found)
            progress.update(task, completed=tally.mutants)
    record = _record(tally, options, time.monotonic() - start)
    if options.record:
        options.record.write_text(json.dumps(record, indent=2) + "\n")
    console.print(_summary(tally, record))
    for seed, what in sorted(tally.differences.items()):
        console.print(f"seed {seed} {what}", markup=False, highlight=False)
    return 1 if tally.differences else 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100_000, help="mutants, in whole blocks")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first mutant")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start none after")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--found", type=Path, default=Path("build/fuzz"), help="for differences")
    parser.add_argument("--record", type=Path, help="JSON file to write the record to")
    return parser.parse_args()


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    )


def _run(blocks: range, processes: int, deadline: float) -> Iterator[Tally]:
    """Blocks as they are done, a few ahead of the processes; none is started past the deadline."""
    waiting: dict[Future[Tally], int] = {}
    todo = iter(blocks)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        while True:
            while len(waiting) < 2 * processes and time.monotonic() < deadline:
                if (first := next(todo, None)) is None:
                    break
                waiting[pool.submit(check_block, first)] = first
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                first = waiting.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield Tally(differences={first: f"or one of the {BLOCK} from it: crashed"})
                    return


def _save(tally: Tally, folder: Path) -> None:
    for seed, what in tally.differences.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seed}.etdp").write_bytes(mutant(seed))
        (folder / f"{seed}.txt").write_text(f"{what}\n")


def _record(tally: Tally, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    return {
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": options.seed,
        "mutants": tally.mutants,
        "bombs": tally.bombs,
        "accepted": tally.accepted,
        "refused": dict(tally.refused.most_common()),
        "differences": len(tally.differences),
        "measured_alone": tally.measured,
        "most_cpu_ms": round(tally.most_ms, 1),
        "most_megabytes": round(tally.most_bytes / 1e6, 1),
        "seconds": round(seconds),
        "processes": options.processes,
        "mutants_per_second": round(tally.mutants / seconds),
        "versions": {
            "reader_sha256": _hash_of_reader(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pyarrow": pa.__version__,
        },
    }


def _hash_of_reader() -> str:
    """Hash of the code of the modules of ingest that a decode loads: which reader it was."""
    show = (
        "import sys, tracehouse; tracehouse.decode_dumps; room = 'tracehouse.ingest.'; "
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith(room)), sep='\\n')"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", show], capture_output=True, check=True, text=True
    )
    paths = map(Path, loaded.stdout.splitlines())
    code = sorted(_code(path) for path in paths if path.parent.name != "schemas")  # only names
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


def _code(path: Path) -> str:
    """A module without comments, docstrings and imports: one that is moved stays the same."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.unparse(tree)


def _summary(tally: Tally, record: dict[str, Any]) -> Table:
    table = Table("what", "figure", title="fuzz")
    table.columns[1].justify = "right"
    for what in ("mutants", "bombs", "accepted", "differences", "measured_alone"):
        table.add_row(what.replace("_", " "), f"{record[what]:,}")
    for reason, count in tally.refused.most_common():
        table.add_row(f"refused: {reason}", f"{count:,}")
    for what in ("most_cpu_ms", "most_megabytes", "seconds", "mutants_per_second"):
        table.add_row(what.replace("_", " "), f"{record[what]:,}")
    return table


if __name__ == "__main__":
    sys.exit(main())
