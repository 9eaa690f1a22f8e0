from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run
from tests.support.service_process import ServiceProcess
from tests.support.waiting import until
from tracehouse.warehouse.opening.snapshots import find_snapshots


def test_mcp_without_its_extra_says_how_to_install_it(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anyio", None)
    done = run("mcp", "--store", store)
    assert done.code == 1
    assert "'pip install \".[mcp]\"' in a checkout adds it" in done.error


_SLOW = {"statement": "SELECT count(*) FROM range(1000000000000)"}
_PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
_SECONDS = 60  # until a test fails


class Agent:
    """An agent that has started the command and begun a session."""

    def __init__(self, *args: str | Path) -> None:
        command = [*COMMAND, *map(str, args)]
        self.server = subprocess.Popen(command, text=True, env=ENVIRONMENT, **_PIPES)
        about = {"protocolVersion": "2025-06-18", "capabilities": {}}
        about["clientInfo"] = {"name": "test", "version": "1"}
        self.send("initialize", about, number=0)
        self.send("notifications/initialized")
        self.await_answer(0)

    def send(self, method: str, params: Any = None, *, number: int | None = None) -> None:
        """Send a request with a number, or a notification without."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        text = json.dumps(message if number is None else {**message, "id": number})
        assert self.server.stdin
        self.server.stdin.write(f"{text}\n")
        self.server.stdin.flush()

    def call(self, number: int, tool: str, arguments: Any = None) -> None:
        """Call a tool."""
        params = {"name": tool, "arguments": arguments or {}}
        self.send("tools/call", params, number=number)

    def await_answer(self, number: int) -> None:
        """Wait until a request is answered."""
        assert self.server.stdout
        alarm = Timer(_SECONDS, self.server.kill)
        alarm.start()
        assert next(line for line in self.server.stdout if json.loads(line)["id"] == number)
        alarm.cancel()

    def await_end(self) -> tuple[int, str]:
        """Exit status of the command, and what it wrote to standard error."""
        assert self.server.stderr
        return self.server.wait(_SECONDS), self.server.stderr.read()


@contextmanager
def talking(*args: str | Path) -> Iterator[Agent]:
    """An agent whose command is killed at the end."""
    agent = Agent(*args)
    try:
        yield agent
    finally:
        agent.server.kill()
        agent.server.wait()
        for file in (agent.server.stdin, agent.server.stdout, agent.server.stderr):
            with suppress(OSError):
                file.close()


@pytest.fixture(params=["store", "service"])
def agent(request: pytest.FixtureRequest, store: Path, farm_copy: Path) -> Iterator[Agent]:
    """An agent that asks a store, by its files or through its service."""
    with ExitStack() as opened:
        place = ["mcp", "--store", store]
        if request.param == "service":
            served = ServiceProcess(farm_copy, free_bytes=0, sql_seconds=600, sql_workers=2)
            place = ["--url", opened.enter_context(served).url, "mcp"]
            until(lambda: bool(find_snapshots(farm_copy)))
        yield opened.enter_context(talking(*place))


@pytest.mark.system
def test_mcp_answers_pings_during_many_calls_and_calls_can_be_cancelled(
    agent: Agent,
) -> None:
    numbers = range(100, 160)  # more than the threads of anyio
    for number in numbers:
        agent.call(number, "sql", _SLOW)
    agent.send("ping", number=1)
    agent.await_answer(1)
    for number in numbers:
        agent.send("notifications/cancelled", {"requestId": number})
    agent.call(2, "query", {"name": "coverage"})
    agent.await_answer(2)


@pytest.mark.system
def test_mcp_ends_with_its_input_even_during_calls(agent: Agent) -> None:
    for number in range(100, 110):
        agent.call(number, "sql", _SLOW)
    agent.send("ping", number=1)  # so the statements have been read
    agent.await_answer(1)
    agent.server.stdin.close()
    assert agent.await_end() == (0, "")


@pytest.mark.system
@pytest.mark.parametrize("is_input_closed", [True, False])
def test_mcp_ends_when_its_output_is_closed(store: Path, is_input_closed: bool) -> None:
    with talking("mcp", "--store", store) as agent:
        agent.server.stdout.close()
        agent.call(1, "query", {"name": "coverage"})
        if is_input_closed:
            agent.server.stdin.close()
        assert agent.await_end() == (0, "")


@pytest.mark.system
def test_answers_that_are_not_read_do_not_keep_the_command_from_its_end(store: Path) -> None:
    with talking("mcp", "--store", store) as agent:
        for number in range(40):  # together longer than a pipe
            agent.send("tools/list", number=number)
        agent.server.stdin.close()
        assert agent.await_end() == (0, "")
