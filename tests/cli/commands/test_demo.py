from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run, run_process
from tracehouse import Warehouse
from tracehouse.cli.commands.demo import _open_page
from tracehouse.warehouse.inbox.inbox import FoundService, mark_served


@pytest.mark.system
def test_demo_on_a_terminal_shows_all_uses_and_serves_the_page_until_interrupted(
    tmp_path: Path,
) -> None:
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "dumb", "TRACEHOUSE_URL": "http://127.0.0.1:9"}
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    with subprocess.Popen(
        [*COMMAND, "demo"],
        cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = ""
        while "serving tracehouse-demo/farm.store at http://127.0.0.1:" not in shown:
            shown += os.read(ours, 65536).decode(errors="replace")
        again = run_process("demo", tmp_path / "tracehouse-demo")
        process.send_signal(signal.SIGINT)
    os.close(ours)
    assert process.returncode == 0
    wanted = [
        "$ tracehouse sample tracehouse-demo/farm",
        "$ tracehouse ingest ",
        "understood: 3 devices (lab-x86-fresh, lab-x86-quiet, lab-x86-quiet-ab), 14 builds, 5 mod",
        "next: tracehouse report",
        "$ tracehouse report",
        "night5",
        "report: tracehouse-demo/report.html",
        "$ tracehouse compare base f136 ",
        "f136 against base",
        "tracehouse-demo has the dumps, the store and the report",
        "Ctrl-C ends it",
        "$ tracehouse serve --port 0 ",
    ]
    places = [shown.find(words) for words in wanted]
    assert -1 not in places
    assert places == sorted(places)
    assert (again.code, again.out) == (1, b"")
    assert "another process has it open; end that, or name another folder" in again.error


def test_page_opens_by_itself_only_where_there_is_a_display(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with mark_served(tmp_path) as announce:
        announce(FoundService("http://127.0.0.1:9", "key"))
        _open_page(tmp_path)
        assert opened == []
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        _open_page(tmp_path)
    assert opened == ["http://127.0.0.1:9"]


def test_store_of_an_earlier_demo_is_replaced_and_no_other(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "farm.store"
    Warehouse.open(store, create=True).close()
    done = run("demo", tmp_path)
    assert (done.code, done.text) == (1, "")
    assert "farm.store: not made by a demo; wanted a new folder" in done.error
    (tmp_path / "farm").mkdir()
    (tmp_path / "farm" / "truth.json").write_text("{}")  # which stops the demo where it begins
    done = run("demo", tmp_path)
    assert done.code == 1
    assert "truth.json: another file has this name" in done.error
    assert not store.exists()
