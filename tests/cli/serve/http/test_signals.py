from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.command import ENVIRONMENT
from tests.support.service_process import ServiceProcess
from tests.support.store_template import copy_new_store
from tests.support.waiting import until
from tracehouse.cli.serve import running
from tracehouse.cli.serve.running import ENDING_SECONDS, Signals

_IDLE = """
import time
from tracehouse.cli.serve.running import Signals
Signals()
print(flush=True)
time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    copy_new_store(tmp_path / "store")
    return tmp_path / "store"


def test_the_supervisor_is_notified_of_a_reload(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[int, Any] = {}
    states: list[str] = []
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(running, "notify", states.append)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    Signals()
    handlers[signal.SIGHUP](signal.SIGHUP, None)
    reloading, ready = states
    assert ready == "READY=1"
    name, clock = reloading.split("\n")
    assert name == "RELOADING=1"
    assert int(clock.removeprefix("MONOTONIC_USEC=")) > 0


@pytest.mark.smoke
def test_sighup_reopens_a_log_that_was_renamed(store: Path, tmp_path: Path) -> None:
    log, renamed = tmp_path / "service.log", tmp_path / "service.log.1"
    with ServiceProcess(store, log=log, free_bytes=0) as service:
        log.rename(renamed)
        service.signal(signal.SIGHUP)
        until(log.exists)

        assert httpx2.get(f"{service.url}v1/status").status_code == 200

        until(lambda: '"/v1/status"' in log.read_text())
        assert service.is_running()
    assert "serving" in renamed.read_text()
    assert "/v1/status" not in renamed.read_text()


@pytest.mark.slow
def test_a_log_that_cannot_be_reopened_stays_where_it_is(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with ServiceProcess(store, log=folder / "service.log", free_bytes=0) as service:
        folder.rename(tmp_path / "renamed")
        service.signal(signal.SIGHUP)

        log = tmp_path / "renamed" / "service.log"
        until(lambda: f"{folder / 'service.log'}: No such file or directory" in log.read_text())


def test_sighup_does_not_end_a_service_whose_log_is_a_pipe(store: Path) -> None:
    with ServiceProcess(store, free_bytes=0) as service:
        service.signal(signal.SIGHUP)
        assert httpx2.get(f"{service.url}healthz").status_code == 200
        service.signal(signal.SIGTERM)
        assert service.wait() == 0


@pytest.mark.system
def test_work_that_nothing_interrupts_does_not_hold_up_the_end() -> None:
    command = [sys.executable, "-c", _IDLE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(ENDING_SECONDS + 10) == 0
