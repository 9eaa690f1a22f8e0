from __future__ import annotations

import json
import logging
from collections.abc import Callable

import pytest

from tracehouse.cli.serve.http.logs import LineQueue, Log, LogHandler, write_standard_error


def told(tell: Callable[[Log], None], *, is_terminal: bool = False) -> str:
    written: list[bytes] = []
    with LineQueue(written.append) as lines:
        tell(Log(lines, is_terminal=is_terminal))
    return b"".join(written).decode()


def test_a_line_is_json_without_what_is_not_known() -> None:
    line = told(lambda log: log.write("info", "request", {"status": 0, "dump": "", "reason": None}))
    said = json.loads(line)
    assert said.pop("time")
    assert said == {"level": "info", "event": "request", "status": 0}


def test_names_steer_no_terminal_and_no_reader_of_json() -> None:
    facts = {"path": "/\x1b[2J\n\udcff‮", "more": "x" * 10**5}
    for is_terminal in (False, True):
        line = told(lambda log: log.write("info", "request", facts), is_terminal=is_terminal)
        assert line.endswith("\n")
        assert line[:-1].isprintable()
        assert len(line) < 5000


def test_log_lines_on_a_terminal_are_short() -> None:
    line = told(lambda log: log.write("info", "request", {"status": 201}), is_terminal=True)
    assert line.rstrip("\n").partition(" ")[2] == "info request status=201"


def test_an_error_logged_by_a_library_keeps_its_traceback() -> None:
    def fail(log: Log) -> None:
        logger = logging.Logger("uvicorn.error")
        logger.addHandler(LogHandler(log))
        logger.info("not told")
        try:
            _ = 1 // 0
        except ZeroDivisionError:
            logger.exception("%s went wrong", "it")

    said = json.loads(told(fail))
    assert (said["level"], said["event"], said["logger"]) == ("error", "message", "uvicorn.error")
    assert said["message"] == "it went wrong"
    assert said["traceback"].endswith("ZeroDivisionError: integer division or modulo by zero")


def test_lines_go_to_standard_error_whole(capfd: pytest.CaptureFixture[str]) -> None:
    write_standard_error(b"line\n" * 1000)
    assert capfd.readouterr().err == "line\n" * 1000
