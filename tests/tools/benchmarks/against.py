"""Measures this version beside another revision, in turns: `make bench-against REV=...`.

A worker of each side does the same things one after the other, so a machine that becomes slower
slows both. Both use the libraries that are installed here. Each side fills its own stores. The
least of the turns counts; reports, never gates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from tests.support.documents import ROOT
from tests.support.questions import every_query
from tests.tools.benchmarks.decode import DATA, LARGE_REPEATS, SMALL
from tests.tools.benchmarks.dumps import Template
from tests.tools.benchmarks.queries import (
    DELEGATED,
    DELEGATED_REPEATS,
    NEEDED,
    PROGRAM,
    STEADY_REPEATS,
    WARM,
)  # fmt: skip
from tests.tools.benchmarks.record import render_figure
from tests.tools.fuzz.worst_cases import distinct_events
from tests.tools.simulation.dump_template import repeat_runs

TURNS = 5
DEVICES, DUMPS = 5, 20  # of a device and build of the large store: 20 M events
NIGHTS = (30, 10, 20, 10, 10)  # devices, models, builds, dumps, operators
# Commands that had other words, the former ones first: a revision may know them by another meaning.
NIGHTLY = (("report", "--nightly"), ("report",))
REBUILD = (("rebuild",), ("store", "rebuild"))
_WORKER = Path(__file__).with_name("against_worker.py")
_START = f"import runpy; runpy.run_path({str(_WORKER)!r}, run_name='__main__')"


class NotDoneError(Exception):
    """A side cannot do an action: a query is newer than that revision."""


class Side:
    """A process with the code of one revision."""

    def __init__(self, tree: Path, folder: Path) -> None:
        """Start it."""
        # Installed code is compiled once; else a process would pay for each line that it imports.
        own = {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": str(folder / "pycache")}
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            cwd=tree,
            env=kept | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, *action: object, turn: int) -> float:
        """The CPU seconds of an action.

        In it, `{own}` is this side's folder, and `{new}` the beginning of a new path in it.

        Raises:
            NotDoneError: It failed.
        """
        assert self._process.stdin
        assert self._process.stdout
        line = json.dumps(action, default=str)
        line = line.replace("{own}", f"{self._folder}").replace("{new}", f"{self._folder}/{turn}.")
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if isinstance(answer, str):
            raise NotDoneError(f"{self._folder.name}: {answer}")
        return float(answer[1])

    def close(self) -> None:
        """End it."""
        self._process.communicate()


class Question(NamedTuple):
    """What is measured, and how often."""

    what: str
    action: tuple[object, ...]
    turns: int = TURNS


def main(revision: str) -> None:
    """Measure both and print the table."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tracehouse-bench-")))
        tree = stack.enter_context(_checked_out(revision, folder))
        sides = []
        for name, place in (("other", tree), ("this", ROOT)):
            (folder / name).mkdir()
            sides.append(side := Side(place, folder / name))
            stack.callback(side.close)
        table = Table("CPU seconds", f"{revision}", "now", "now / before")
        for column in table.columns[1:]:
            column.justify = "right"
        ratios: dict[str, list[float]] = {}
        for group, questions in _questions(_make_dumps(folder / "dumps")):
            for question in questions:
                try:
                    before, now = _in_turns(sides, question)
                except NotDoneError as error:
                    table.add_row(question.what, "", "", str(error).splitlines()[0][:40])
                    continue
                ratios.setdefault(group, []).append(now / before)
                shown = (render_figure(before), render_figure(now), f"{now / before:.2f}")
                table.add_row(question.what, *shown)
                print(question.what, *shown, sep="\t", file=sys.stderr, flush=True)
    console = Console(width=110, highlight=False)
    console.print(table)
    for group, own in ratios.items():
        worst = f"{min(own):.2f} to {max(own):.2f}"
        console.print(f"{group}: median {median(own):.2f} of {len(own)} ({worst})")


def _in_turns(sides: list[Side], question: Question) -> list[float]:
    costs: list[list[float]] = [[], []]
    for turn in range(question.turns):
        for number in (0, 1) if turn % 2 else (1, 0):
            costs[number].append(sides[number].do(*question.action, turn=turn))
    return [min(own) for own in costs]


def _questions(dumps: Path) -> Iterator[tuple[str, list[Question]]]:
    """What is measured, in groups; `{new}` begins a path that every turn makes anew."""
    small, many = DATA / "farm", sorted(dumps.glob("large/??/*.etdp"))
    yield (
        "stores",
        [
            Question("ingest 148 dumps", ("ingest", "{own}/small", small), 1),
            Question(
                "ingest 210 dumps of 100 k events", ("ingest", "{own}/large", dumps / "large"), 1
            ),
            Question("fill a store of nights", ("fill", "{own}/nights", *NIGHTS), 1),
        ],
    )
    yield (
        "decode",
        [
            Question("one dump of 422 events, 100 times", ("decode", *[SMALL] * 100)),
            Question("one dump of 200 k events", ("decode", dumps / "200k.etdp")),
            Question(
                "100 dumps of 100 k events",
                ("decode", *many[:100]),
                3,
            ),
            Question("one run of 1 M events", ("decode", dumps / "1m.etdp")),
        ],
    )
    yield (
        "ingest",
        [
            Question("ingest 20 dumps of 100 k events", ("ingest", "{new}few", dumps / "few"), 3),
            Question(
                "ingest 3,000 dumps of 422 events", ("ingest", "{new}many", dumps / "many"), 3
            ),
        ],
    )
    yield (
        "start-up",
        [
            Question("tracehouse --help", ("run", [[]], "--help")),
            Question("tracehouse inspect", ("run", [["inspect"]], SMALL)),
            Question(
                "tracehouse sql 'SELECT 1'",
                ("run", [["sql"]], "SELECT 1", "--store", "{own}/small"),
            ),
        ],
    )
    for size, action in (
        ("small", "open"), ("small", "ask"), ("large", "open"), ("large", "ask"),
    ):  # fmt: skip
        text = "opened for it" if action == "open" else "kept open"
        yield (
            f"queries, {size} store, {text}",
            [
                Question(f"{name}, {size}, {text}", (action, f"{{own}}/{size}", name, params))
                for name, params in _all_queries(size)
            ],
        )
    nights, pair = ("--store", "{own}/nights"), ("b19", "b20")
    yield (
        "reports",
        [
            # Once: a night that was judged is stored, and only read again.
            Question("nightly report", ("run", NIGHTLY, "--format", "json", *nights), 1),
            Question("compare", ("run", [["compare"]], *pair, "--format", "json", *nights), 3),
        ],
    )
    served = ("serve", "{new}served", dumps / "few", "percentiles")
    rebuild = ("run", REBUILD, "--store", "{own}/small")
    yield "upkeep", [Question("rebuild a store of 148 dumps", rebuild, 3)]
    yield "service", [Question("serve 20 uploads and 20 queries", served, 3)]


def _all_queries(size: str) -> Iterator[tuple[str, dict[str, str]]]:
    known = NEEDED if size == "large" else NEEDED | {"base": "base", "head": "ch26"}
    for name, query in every_query().items():
        required = (param.name for param in query.header.params if param.is_required)
        yield name, {one: known[one] for one in required}
    yield "percentiles", {"approx": "true"}
    yield "percentiles", {"device": "device3" if size == "large" else "lab-x86-quiet"}


def _make_dumps(folder: Path) -> Path:
    """The dumps that both sides read, in folders with their manifests."""
    small = Template(SMALL.read_bytes())
    steady = Template(repeat_runs(SMALL.read_bytes(), STEADY_REPEATS, first_run=WARM))
    delegated = Template(repeat_runs(DELEGATED.read_bytes(), DELEGATED_REPEATS, first_run=WARM))
    for build in range(2):
        for device in range(DEVICES):
            named = {"device": f"device{device}", "build": f"b{build}", "model": "cnn"}
            place = _folder(folder / f"large/{build}{device}", named | {"backend": "portable"})
            seed = (build * DEVICES + device) * DUMPS
            for dump in range(seed, seed + DUMPS):
                (place / f"{dump}.etdp").write_bytes(steady.vary(dump, scale=1 + build))
            tags = {"backend": "xnnpack", "tags": {"size": 1 + device}}
            place = _folder(folder / f"large/{build}{device}x", named | tags)
            (place / "run.etdp").write_bytes(delegated.vary(seed, scale=1 + build))
            (place / "run.etrecord").write_bytes(PROGRAM.read_bytes())
    named = {"device": "bench", "build": "b0", "model": "cnn", "backend": "portable"}
    for name, count, template in (("few", 20, steady), ("many", 3000, small)):
        place = _folder(folder / name, named)
        for number in range(count):
            (place / f"{number}.etdp").write_bytes(template.vary(1000 + number))
    (folder / "200k.etdp").write_bytes(repeat_runs(SMALL.read_bytes(), LARGE_REPEATS))
    (folder / "1m.etdp").write_bytes(distinct_events(1_000_000, kinds=20))
    return folder


def _folder(place: Path, manifest: dict[str, Any]) -> Path:
    place.mkdir(parents=True)
    (place / "manifest.json").write_text(json.dumps(manifest))
    return place


@contextmanager
def _checked_out(revision: str, folder: Path) -> Iterator[Path]:
    """A working tree of the revision, until the body ends."""
    tree, git = folder / "tree", ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make bench-against REV=COMMIT")
    main(sys.argv[1])
