from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run


def test_without_its_package_the_command_says_how_to_get_it(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anyio", None)
    done = run("mcp", "--store", store)
    assert done.code == 1
    assert "'pip install \"tracehouse[mcp]\"' adds it" in done.error


@pytest.mark.system
def test_the_end_of_the_input_ends_statements_too(store: Path) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    about["clientInfo"] = {"name": "test", "version": "1"}
    slow = {"statement": "SELECT count(*) FROM range(1000000000000)"}
    messages = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "sql", "arguments": slow}},
        {"id": 3, "method": "tools/call", "params": {"name": "coverage", "arguments": {}}},
    ]
    command = [*COMMAND, "mcp", "--store", str(store)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=ENVIRONMENT) as server:
        assert server.stdin
        assert server.stdout
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        next(line for line in server.stdout if '"id":3' in line)  # so the statement has begun
        server.stdin.close()
        try:
            assert server.wait(60) == 0
        finally:
            server.kill()
