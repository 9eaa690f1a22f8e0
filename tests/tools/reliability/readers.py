"""Ask a store again and again while others work with it: `make torture`.

One process ingests with snapshots, drops events, amends manifests, compacts and publishes in turn;
others loop over the Python API and over `query` and `sql` of the command line. None may meet an
error, and every answer must be of a state that the store was in between two of these actions: all
that is asked of an open store, of the same one.
"""

from __future__ import annotations

import io
import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.forks import fork, wait
from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump
from tests.tools.reliability.findings import Results, run_recorded
from tests.tools.reliability.operations import Operation, command
from tracehouse import Warehouse
from tracehouse.warehouse.errors import QueryError, WarehouseError

ROUNDS = 4  # of work on a store, before another takes its place
DUMPS = 3  # that a round ingests
READERS = 3  # the first of them by commands
QUERIES = ("operator_hotspots", "percentiles", "framework_tax")
LONGEST_LIFE = 600  # seconds
STATE = """
SELECT
    (SELECT count(*) FROM dumps) AS dump_count,
    (SELECT coalesce(sum(n_events), 0) FROM dumps)::BIGINT AS event_sum,
    (SELECT count(*) FROM events) AS event_count,
    (SELECT count(*) FROM event_stats) AS stats_count,
    (SELECT coalesce(max(os), '') FROM devices) AS newest_os
"""

State = tuple[Any, ...]


def list_actions(number: int, files: Path) -> dict[str, Operation]:
    """The actions of a round; each makes another state, or leaves the same."""
    build, patience = f"b{number}", ("--wait", "300")
    manifest = ("--device", "pixel8", "--build", build, "--model", "mv2", "--snapshot")
    corrections = ("--set", f"device.os={number:03}", "--yes")
    return {
        "ingest": command("ingest", files / build, *manifest, *patience),
        "amend": command("store", "amend", "--where", f"build={build}", *corrections, *patience),
        "retention": command("store", "retention", "--raw-days", "0", "--yes", *patience),
        "compact": command("store", "compact", *patience),
        "snapshot": command("store", "snapshot", *patience),
    }


def work(store: Path, files: Path, states: Path, rounds: int) -> None:
    """Do all actions, and write down the state after each."""
    signal.alarm(LONGEST_LIFE)
    for number in range(1, rounds + 1):
        for name, do in list_actions(number, files).items():
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                do(store)
            _append_line(states, {"deed": name, "state": read_state(store)})


def read_state(store: Path) -> State:
    """The state that a reader finds now, once it can be had."""
    with Warehouse.open(store, read_only=True, wait=300) as warehouse:
        assert warehouse.snapshot_time is None
        return ask_state(warehouse)


def ask_state(warehouse: Warehouse) -> State:
    """The state that an open store shows."""
    return tuple(warehouse.sql(STATE).to_pylist()[0].values())


def ask_python(store: Path) -> Iterator[dict[str, Any]]:
    """The answers of the Python API: one state, whatever happens meanwhile."""
    with Warehouse.open(store, read_only=True) as warehouse:
        state = ask_state(warehouse)
        n_dumps = warehouse.query("dumps").num_rows
        for name in QUERIES:
            warehouse.query(name)
        again = ask_state(warehouse)
        problem = "" if (state, n_dumps) == (again, state[0]) else f"{state}, {n_dumps}, {again}"
        is_old = warehouse.snapshot_time is not None
        yield {"state": state, "is_snapshot": is_old, "problem": problem and f"torn: {problem}"}


def ask_commands(store: Path) -> Iterator[dict[str, Any]]:
    """The answers of two command lines: a state each."""
    for words in (("sql", STATE), ("query", "dumps")):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            command(*words, "--format", "json")(store)
        rows = json.loads(out.getvalue())
        state = tuple(rows[0].values()) if words[0] == "sql" else (len(rows),)
        yield {"state": state, "is_snapshot": "snapshot of" in err.getvalue(), "problem": ""}


def read(store: Path, answers: Path, end: Path, seed: int) -> None:
    """Ask until the file `end` is there, and write down the answers."""
    signal.alarm(LONGEST_LIFE)
    ask = ask_python if seed % READERS else ask_commands
    while not end.exists():
        try:
            for answer in ask(store):
                _append_line(answers, answer)
        except (AssertionError, QueryError, WarehouseError, ValueError) as error:
            _append_line(answers, {"problem": f"{type(error).__name__}: {error}"})


def torture(count: int, *, seed: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Work on so many stores, one after the other, while readers ask each."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for number in range(count):
        with tempfile.TemporaryDirectory() as name:
            problems += _watch(Path(name), seed + number, rounds, counts)
    return {"stores": count, "seed": seed, **dict(sorted(counts.items())), "problems": problems}


def _watch(folder: Path, seed: int, rounds: int, counts: Counter[str]) -> list[str]:
    """Problems of the answers during the work on a store."""
    store, states, end = folder / "store", folder / "states", folder / "end"
    for number in range((rounds + 1) * DUMPS):
        write(folder / f"files/b{number // DUMPS}/{number}.etdp", tiny_dump(number))
    manifest = {"device": "pixel8", "build": "b0", "model": "mv2"}
    with Warehouse.open_to_write(store, create=True) as warehouse:
        warehouse.ingest([folder / "files/b0"], manifest=manifest, snapshot=True)
    _append_line(states, {"deed": "begin", "state": read_state(store)})
    files = [folder / f"answers{number}" for number in range(READERS)]
    readers = [
        fork(partial(read, store, file, end, READERS * seed + number))
        for number, file in enumerate(files)
    ]
    ends = [wait(fork(lambda: work(store, folder / "files", states, rounds)))]
    end.touch()
    ends += map(wait, readers)
    known = [tuple(one["state"]) for one in _read_lines(states)]
    answers = [answer for file in files for answer in _read_lines(file)]
    counts["answers"] += len(answers)
    counts["of_snapshots"] += sum(answer.get("is_snapshot", False) for answer in answers)
    counts["deeds"] += len(known) - 1
    found = [f"a process is {one}" for one in ends if one != "done"]
    return found + [one for one in dict.fromkeys(_judge(a, known) for a in answers) if one]


def _judge(answer: dict[str, Any], known: Sequence[State]) -> str:
    """The problem of an answer; "" without any."""
    if answer["problem"]:
        return str(answer["problem"])
    state = tuple(answer["state"])
    is_known = any(state == one[: len(state)] for one in known)
    return "" if is_known else f"{state} is no state the store was in"


def _append_line(file: Path, line: dict[str, Any]) -> None:
    with file.open("a") as opened:
        opened.write(json.dumps(line) + "\n")


def _read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run(count: int, seed: int) -> Results:
    """Read while another process works."""
    return {"readers": torture(count, seed=seed)}


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 10, run))
