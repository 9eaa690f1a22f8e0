from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT
from tests.support.corpus import FARM
from tracehouse import Warehouse

# As from a terminal: Ctrl-C comes when the first batch is committed.
PROGRAM = """
import os, signal, time
from contextlib import contextmanager
signal.signal(signal.SIGINT, signal.default_int_handler)
import tracehouse.cli.output.progress
@contextmanager
def stop(**_):
    yield lambda done: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60))
tracehouse.cli.output.progress.progress_bar = stop
from tracehouse.cli.main import main
main()
"""
# The main thread is in a statement of DuckDB, and hears nothing.
BUSY = """
import os, signal, threading
import duckdb
from tracehouse.cli.output.progress import interruptible_bar
signal.signal(signal.SIGINT, signal.SIG_DFL)
with interruptible_bar():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    duckdb.sql("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b").fetchall()
"""


def _run(code: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT, timeout=50, check=False
    )


def test_ingest_that_is_stopped_says_what_is_in(tmp_path: Path) -> None:
    done = _run(PROGRAM, "ingest", FARM / "lab-x86-quiet", "--store", tmp_path / "s")
    with Warehouse.open(tmp_path / "s", read_only=True) as store:
        (count,) = store.sql("SELECT count(*) AS n FROM dumps")["n"].to_pylist()
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "")
    assert count > 0
    assert done.stderr == (
        f"stopped: {count} of 40 files are done; run the same command again to do the rest\n"
    )


@pytest.mark.smoke
def test_process_that_is_busy_ends_at_once(tmp_path: Path) -> None:
    done = _run(BUSY)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.startswith("stopped: no file is done; ")
