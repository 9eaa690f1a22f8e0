from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tracehouse.ingest.errors import SourceError
from tracehouse.warehouse.inbox.drain import LoggedDumps
from tracehouse.warehouse.inbox.log import LogWriter, SealedLog, distrust_log, seal_logs
from tracehouse.warehouse.inbox.records import Scan, pack_delivery


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[list[SealedLog]]:
    """Two logs of two dumps each; the last dump was damaged by somebody else."""
    for first in (0, 2):
        writer = LogWriter(tmp_path)
        writer.append([pack_delivery(tiny_incoming(first + i)) for i in range(2)])
        writer.close()
    paths = seal_logs(tmp_path)
    with open(paths[1], "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    distrust_log(paths[1])
    opened = [log for log in map(SealedLog.open, paths) if log]
    yield opened
    for log in opened:
        log.close()


def scanned(log: SealedLog) -> Future[Scan]:
    found: Future[Scan] = Future()
    found.set_result(log.scan())
    return found


def test_dumps_of_a_log_come_before_the_next_is_proved(logs: list[SealedLog]) -> None:
    coming: Future[Scan] = Future()
    made = iter(LoggedDumps([(logs[0], scanned(logs[0])), (logs[1], coming)]))
    assert [next(made).name for _ in range(2)] == ["0.etdp", "1.etdp"]
    coming.set_result(logs[1].scan())
    assert next(made).name == "2.etdp"
    damaged = next(made)
    assert damaged.sha256 is None
    with pytest.raises(SourceError, match="has another SHA-256 than before"):
        damaged.read()


def test_the_log_positions_of_dumps_are_known_when_they_are_read(logs: list[SealedLog]) -> None:
    dumps = LoggedDumps([(logs[0], scanned(logs[0]))])
    made = iter(dumps)
    for number in range(2):
        path, offset, count = dumps.places[next(made).sha256]
        assert path.read_bytes()[offset : offset + count] == tiny_dump(number)


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_cut_log_says_how_many_acknowledged_dumps_it_lost(tmp_path: Path, left: int) -> None:
    deliveries = [pack_delivery(tiny_incoming(i)) for i in range(3)]
    writer = LogWriter(tmp_path)
    for delivery in deliveries:
        writer.append([delivery])
    writer.close()
    (path,) = seal_logs(tmp_path)
    whole = sum(delivery.byte_count for delivery in deliveries[:left])
    size = whole + (5 if left == 1 else 0)  # between two records, or within one
    os.truncate(path, size)
    (log,) = filter(None, map(SealedLog.open, [path]))
    *dumps, lost = LoggedDumps([(log, scanned(log))])
    log.close()
    assert len(dumps) == left
    problem = f"truncated to {size:,} of .* of the 3 dumps .* acknowledged in it {left} are intact"
    with pytest.raises(SourceError, match=f"{problem}.*submit its dumps again"):
        lost.read()
    assert [file.stat().st_size for file in tmp_path.glob("damaged/*")] == [5] * (left == 1)


def test_the_number_of_logged_dumps_includes_damaged_logs(logs: list[SealedLog]) -> None:
    coming: Future[Scan] = Future()
    dumps = LoggedDumps([(logs[0], scanned(logs[0])), (logs[1], coming)])
    assert len(dumps) == 2
    coming.set_result(logs[1].scan())
    assert len(dumps) == len(list(dumps)) == 4


def test_an_unreadable_log_raises_only_when_its_turn_comes(logs: list[SealedLog]) -> None:
    unread: Future[Scan] = Future()
    unread.set_exception(OSError(5, "Input/output error"))
    made = iter(LoggedDumps([(logs[0], scanned(logs[0])), (logs[1], unread)]))
    assert [next(made).name for _ in range(2)] == ["0.etdp", "1.etdp"]
    with pytest.raises(OSError, match="Input/output"):
        next(made)
