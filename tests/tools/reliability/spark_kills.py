"""Kill Spark while it fills a lake, again and again, and hold the lake against what it was given.

Four trials: the driver, with all that it started, and the executors, while `tracehouse spark
ingest` and `tracehouse spark watch` are under way. After every kill DuckDB reads all files that
there are, and must find no dump twice and none in part; in the end the lake must hold each dump
once, as a store of the same dumps does: `make torture-spark`.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from tests.support.command import COMMAND
from tests.support.processes import command_line, list_processes
from tests.support.stores import MANIFEST, write
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tests.tools.reliability.judge import describe_problems, judge_rows
from tests.tools.service.dumps import DumpMaker
from tracehouse import Warehouse
from tracehouse.warehouse.lake.commits import read_state
from tracehouse.warehouse.lake.place import Lake

DRIVER_MASTER, EXECUTORS_MASTER = "local[2,4]", "local-cluster[2,1,1024]"
DUMPS = 12  # that come with each round
EVENTS, RUNS = 1_000, 20  # of a dump, about 1.6 MB
LONGEST_START = 180.0  # seconds until a plan is there
LONGEST_ROUND = 300.0
AFTER_PLAN = 3.0
SETTINGS = {  # machines that stand still for a while are no failure
    "spark.network.timeout": "800s",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.task.maxFailures": "20",
}
_COMMAND = [*COMMAND, "spark"]
_SEEN = """
SELECT d.sha256, any_value(d.n_events), count(e.dump_id)
FROM read_parquet('{lake}/dumps/**/*.parquet', hive_partitioning = false) AS d
LEFT JOIN read_parquet('{lake}/events/**/*.parquet', hive_partitioning = false) AS e
USING (dump_id) GROUP BY d.dump_id, d.sha256
"""
_SUMS = """
SELECT d.sha256, count(*) AS n_events, CAST(sum(e.duration_ticks) AS BIGINT) AS total
FROM {dumps} AS d JOIN {events} AS e USING (dump_id) GROUP BY d.sha256
"""


class LakeTrial:
    """An inbox and its lake, for rounds of killing."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Begin with an empty inbox."""
        self.inbox, self.lake = folder / "inbox", folder / "lake"
        self.random = random.Random(seed)  # noqa: S311 - for choosing moments
        self._maker = DumpMaker(EVENTS, runs=RUNS)
        self.given: set[str] = set()
        write(self.inbox / "manifest.json", json.dumps(MANIFEST).encode())
        settings = "\n".join(f"{name} {value}" for name, value in SETTINGS.items())
        write(folder / "conf" / "spark-defaults.conf", settings.encode())
        self._environment = {**os.environ, "SPARK_CONF_DIR": str(folder / "conf")}

    def add_dumps(self) -> None:
        """Put dumps into the inbox, by renaming."""
        for _ in range(DUMPS):
            data = self._maker.dump(len(self.given))
            unfinished = write(self.inbox / ".unfinished", data)
            unfinished.rename(self.inbox / f"{len(self.given):05}.etdp")
            self.given.add(hashlib.sha256(data).hexdigest())

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command that runs in a session of its own, of which nothing is left afterwards."""
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                arguments,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,
            )
            try:
                with process:
                    yield process
            finally:
                kill_session(process.pid)

    def wait_for_plan(self, process: subprocess.Popen[str]) -> None:
        """Wait until dumps are about to be decoded."""
        start = time.time()
        plans = self.lake / "_lake" / "plans"

        def is_new(plan: Path) -> bool:
            with suppress(FileNotFoundError):
                return plan.stat().st_mtime > start
            return False

        wait_until(
            lambda: any(map(is_new, plans.glob("*.json"))) or process.poll() is not None,
            LONGEST_START,
        )

    def count_committed(self) -> int:
        """Dumps that are in the lake."""
        files = read_state(Lake(self.lake)).of("dumps")
        return sum(file.rows for file in files)

    def check_files(self) -> str:
        """Problems of the files of the lake, for a reader that knows nothing of commits."""
        if not any(self.lake.glob("dumps/**/*.parquet")):
            return ""
        with duckdb.connect() as connection:
            rows = connection.execute(_SEEN.format(lake=self.lake)).fetchall()
        counts = {sha256: [n_events] for sha256, n_events, _ in rows}
        stored = [(sha256, n) for sha256, _, n in rows]
        return describe_problems(judge_rows(stored, set(), lambda sha256: counts[sha256]))

    def check_lake(self, store: Path) -> str:
        """Differences between the lake and a store of the same dumps."""
        state = read_state(Lake(self.lake))
        files = {
            name: f"read_parquet({[str(self.lake / one.path) for one in state.of(name)]}, "
            "hive_partitioning = false)"
            for name in ("dumps", "events")
        }
        with duckdb.connect() as connection:
            found = sorted(connection.execute(_SUMS.format(**files)).fetchall())
        with Warehouse.open_to_write(store, create=True) as warehouse:
            warehouse.ingest([self.inbox])
            rows = warehouse.sql(_SUMS.format(dumps="dumps", events="events")).to_pylist()
        wanted = sorted(tuple(row.values()) for row in rows)
        if found == wanted and {row[0] for row in found} == self.given:
            return ""
        return f"the lake has {len(found)} dumps, the store {len(wanted)}, of {len(self.given)}"


def wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether a condition became true in time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def session_processes(session: int) -> list[int]:
    """Numbers of the processes of a session."""
    return [p.pid for p in list_processes() if p.session == session and not p.is_zombie]


def kill_session(session: int) -> None:
    """Kill all that a process started, and itself."""
    for _ in range(3):  # also processes that are started meanwhile
        for pid in session_processes(session):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def kill_executor(session: int, random_: random.Random) -> bool:
    """Kill the JVM of an executor, or a Python worker of one; whether there was any."""
    kind = random_.choice(["CoarseGrainedExecutorBackend", "pyspark.daemon"])
    found = [pid for pid in session_processes(session) if kind in command_line(pid)]
    if not found:
        return False
    with suppress(ProcessLookupError):
        os.kill(random_.choice(found), signal.SIGKILL)
    return True


def kill_drivers(trial: LakeTrial, count: int, command: list[str]) -> Iterator[str]:
    """Kill the driver, most often while dumps are decoded; outcomes, and problems."""
    for number in range(count):
        trial.add_dumps()
        with trial.running(*command) as process:
            if number % 4:
                trial.wait_for_plan(process)
                time.sleep(trial.random.uniform(0, AFTER_PLAN))
            else:
                time.sleep(trial.random.uniform(0, 3 * AFTER_PLAN))
            yield "killed" if process.poll() is None else f"ended with {process.returncode}"
            kill_session(process.pid)
        yield trial.check_files()


def batch_driver(trial: LakeTrial, count: int) -> Iterator[str]:
    """Kill `tracehouse spark ingest`; then let it end."""
    places = [str(trial.inbox), str(trial.lake)]
    command = [*_COMMAND, "ingest", *places, "--master", DRIVER_MASTER]
    yield from kill_drivers(trial, count, command)
    with trial.running(*command) as process:
        yield "" if process.wait(LONGEST_ROUND) == 0 else "the last ingest failed"


def stream_driver(trial: LakeTrial, count: int) -> Iterator[str]:
    """Kill `tracehouse spark watch`; then let it end."""
    places = [str(trial.inbox), str(trial.lake)]
    command = [*_COMMAND, "watch", *places, "--master", DRIVER_MASTER, "--pause-seconds", "0"]
    yield from kill_drivers(trial, count, command)
    with trial.running(*command, "--once") as process:
        yield "" if process.wait(LONGEST_ROUND) == 0 else "the last watch failed"


def batch_executors(trial: LakeTrial, count: int) -> Iterator[str]:
    """Kill executors of one driver, which takes what there is again and again."""
    program = [sys.executable, "-m", "tests.tools.reliability.spark_driver"]
    places = [str(trial.inbox), str(trial.lake), EXECUTORS_MASTER]
    with trial.running(*program, *places) as process:
        assert process.stdin
        assert process.stdout
        for _ in range(count):
            trial.add_dumps()
            print(file=process.stdin, flush=True)
            trial.wait_for_plan(process)
            time.sleep(trial.random.uniform(0, AFTER_PLAN))
            is_killed = kill_executor(process.pid, trial.random)
            yield "killed" if is_killed else "too late"
            yield trial.check_files()
            yield "" if process.stdout.readline() else "the driver ended"
        process.stdin.close()
        process.wait(LONGEST_ROUND)


def stream_executors(trial: LakeTrial, count: int) -> Iterator[str]:
    """Kill executors of one stream."""
    places = [str(trial.inbox), str(trial.lake)]
    options = ["--master", EXECUTORS_MASTER, "--pause-seconds", "0"]
    with trial.running(*_COMMAND, "watch", *places, *options) as process:
        for _ in range(count):
            trial.add_dumps()
            trial.wait_for_plan(process)
            time.sleep(trial.random.uniform(0, AFTER_PLAN))
            is_killed = kill_executor(process.pid, trial.random)
            yield "killed" if is_killed else "too late"
            yield trial.check_files()
            is_there = wait_until(
                lambda: trial.count_committed() == len(trial.given), LONGEST_ROUND
            )
            yield "" if is_there else "what was added did not come in"
        process.send_signal(signal.SIGTERM)
        process.wait(LONGEST_ROUND)


TRIALS: dict[str, Callable[[LakeTrial, int], Iterator[str]]] = {
    "driver, batch": batch_driver,
    "driver, stream": stream_driver,
    "executors, batch": batch_executors,
    "executors, stream": stream_executors,
}
_OUTCOMES = {"killed", "too late"}


def torture(name: str, count: int, *, seed: int) -> dict[str, Any]:
    """Kill so many times in a trial."""
    findings = Findings(seed)
    with tempfile.TemporaryDirectory() as folder:
        trial = LakeTrial(Path(folder), seed)
        for said in TRIALS[name](trial, count):
            if said in _OUTCOMES or said.startswith("ended with 0"):
                findings.outcomes[said] += 1
            elif said:
                findings.problems.append(said)
        checks = trial.check_files(), trial.check_lake(Path(folder, "store"))
        findings.problems += filter(None, checks)
        return findings.results(kills=findings.outcomes["killed"], dumps=len(trial.given))


def run(count: int, seed: int) -> Results:
    """Kill drivers and executors, in batches and streams."""
    return {name: torture(name, count, seed=seed) for name in TRIALS}


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 24, run))
