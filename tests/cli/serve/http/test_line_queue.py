from __future__ import annotations

import threading

import pytest

from tests.support.waiting import until
from tracehouse.cli.serve.http import logs
from tracehouse.cli.serve.http.logs import LineQueue


def test_lines_are_written_in_order_and_whole() -> None:
    written: list[bytes] = []
    with LineQueue(written.append) as lines:
        for number in range(5000):
            lines.put(f"{number}", is_needed=True)
    assert b"".join(written) == b"".join(b"%d\n" % number for number in range(5000))
    assert (lines.dropped, lines.problem) == (0, "")


def test_characters_that_utf8_cannot_hold_are_escaped() -> None:
    written: list[bytes] = []
    with LineQueue(written.append) as lines:
        lines.put("a\udcffb", is_needed=True)
    assert b"".join(written) == b"a\\udcffb\n"


def test_a_line_that_is_not_needed_is_dropped_where_too_many_wait() -> None:
    written: list[bytes] = []
    lines = LineQueue(written.append, most=2)
    for number in range(5):
        lines.put(f"{number}", is_needed=False)
    assert lines.dropped == 3
    with lines:
        pass
    assert b"".join(written) == b"0\n1\n"


def test_a_line_that_is_needed_waits_for_room() -> None:
    written: list[bytes] = []
    lines = LineQueue(written.append, most=1)
    lines.put("first", is_needed=True)
    waiting = threading.Thread(target=lambda: lines.put("second", is_needed=True))
    waiting.start()
    assert waiting.is_alive()
    with lines:
        waiting.join()
    assert b"".join(written) == b"first\nsecond\n"


def test_lines_that_come_soon_after_others_are_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[bytes] = []
    is_pausing, may_go_on = threading.Event(), threading.Event()

    def pause(_: float) -> bool:
        is_pausing.set()
        return may_go_on.wait(60)

    lines = LineQueue(written.append)
    monkeypatch.setattr(lines._ending, "wait", pause)
    with lines:
        lines.put("first", is_needed=True)
        assert is_pausing.wait(60)
        for number in range(50):
            lines.put(f"{number}", is_needed=True)
        assert written == [b"first\n"]
        may_go_on.set()
    assert written[1] == "".join(f"{number}\n" for number in range(50)).encode()


class FailingFile:
    """Takes no lines while it is full."""

    def __init__(self) -> None:
        self.is_full, self.written = True, b""

    def write(self, data: bytes) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.written += data


def test_lines_that_cannot_be_written_are_a_problem_and_wait_until_they_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "_RETRY_SECONDS", 0.01)
    file = FailingFile()
    with LineQueue(file.write) as lines:
        lines.put("first", is_needed=True)
        until(lambda: lines.problem == "No space left on device")
        lines.put("second", is_needed=True)
        file.is_full = False
        until(lambda: not lines.problem)  # although no other line comes
    assert file.written == b"first\nsecond\n"
    assert lines.dropped == 0


def test_writers_do_not_wait_for_a_log_that_cannot_be_written() -> None:
    file = FailingFile()
    with LineQueue(file.write, most=2) as lines:
        lines.put("first", is_needed=True)
        until(lambda: bool(lines.problem))
        for _ in range(5):
            lines.put("more", is_needed=True)
    assert (lines.dropped, file.written) == (3, b"")


def test_waiting_for_room_in_the_queue_ends_when_writing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs, "_RETRY_SECONDS", 0.01)
    may_fail = threading.Event()

    def write(_: bytes) -> None:
        may_fail.wait(60)
        raise OSError(28, "No space left on device")

    with LineQueue(write, most=1) as lines:
        lines.put("first", is_needed=True)
        until(lambda: not lines._waiting.qsize())
        lines.put("second", is_needed=True)
        waiting = threading.Thread(target=lambda: lines.put("third", is_needed=True))
        waiting.start()
        may_fail.set()
        waiting.join(60)
        assert not waiting.is_alive()
    assert lines.dropped == 1


@pytest.mark.parametrize("count", [1, 3])
def test_closing_the_queue_does_not_wait_for_a_reader_that_never_comes(count: int) -> None:
    never, begun = threading.Event(), threading.Event()

    def write(_: bytes) -> None:
        begun.set()
        never.wait()

    with LineQueue(write, most=2, patience=0.01) as lines:
        lines.put("first", is_needed=True)
        begun.wait()
        for _ in range(count):
            lines.put("more", is_needed=False)
    never.set()
