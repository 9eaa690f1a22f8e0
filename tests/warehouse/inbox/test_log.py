from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.support.tiny_dumps import tiny_incoming
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.inbox import log as intake_log
from tracehouse.warehouse.inbox import records as log_records
from tracehouse.warehouse.inbox.log import LogWriter, SealedLog, seal_logs
from tracehouse.warehouse.inbox.records import Delivery, LogRecord, delete_log, pack_delivery


def delivery(number: int = 0) -> Delivery:
    return pack_delivery(tiny_incoming(number))


def names(folder: Path) -> list[str]:
    """What dumps are called in the sealed logs of a folder."""
    found = []
    for path in seal_logs(folder):
        log = SealedLog.open(path)
        assert log is not None
        found += [log.record(offset).dump.name for offset in log.scan().offsets]
        log.close()
    return found


def test_appended_deliveries_are_read_in_order(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    writer.append([delivery(1), delivery(2)])
    writer.append([delivery(3)])
    assert names(tmp_path) == ["1.etdp", "2.etdp", "3.etdp"]


def test_a_log_that_was_sealed_is_not_appended_to_any_more(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    writer.append([delivery(1)])
    (sealed,) = seal_logs(tmp_path)
    size = sealed.stat().st_size
    writer.append([delivery(2)])
    assert sealed.stat().st_size == size
    assert names(tmp_path) == ["1.etdp", "2.etdp"]
    writer.close()


def test_a_log_that_is_taken_as_soon_as_it_is_made_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The consumer of a service looks at any moment, also between a log and its first record."""
    make, taken = os.open, []

    def make_and_take(path: Path, flags: int, mode: int = 0o777) -> int:
        file = make(path, flags, mode)
        if path.suffix == ".log" and not taken:
            taken.append(path)
            (sealed,) = seal_logs(tmp_path)
            delete_log(sealed)
        return file

    monkeypatch.setattr(os, "open", make_and_take)
    writer = LogWriter(tmp_path)
    writer.append([delivery(1)])
    writer.close()
    assert (len(taken), names(tmp_path)) == (1, ["1.etdp"])
    assert {path.suffix for path in tmp_path.iterdir()} == {".sealed", ".tally"}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_log_that_is_big_enough_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_log, "LOG_BYTES", 1000)
    writer = LogWriter(tmp_path)
    for number in range(9):
        writer.append([delivery(number)])
    assert len(list(tmp_path.iterdir())) > 2
    assert names(tmp_path) == [f"{number}.etdp" for number in range(9)]


def test_big_files_are_written_whole_and_read_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_log, "MAP_BYTES", 1 << 20)
    big = pack_delivery(tiny_incoming(1))._replace(files=[os.urandom(3 << 20), b"", b""])
    writer = LogWriter(tmp_path)
    writer.append([delivery(), big, delivery()])
    writer.close()
    (path,) = seal_logs(tmp_path)
    log = SealedLog.open(path)
    assert log is not None
    start = delivery().byte_count + big.byte_count - (3 << 20)
    mapped = log.pread(start, 3 << 20)
    log.close()
    assert isinstance(mapped, memoryview)
    assert mapped == big.files[0]


def test_a_failed_append_is_rolled_back_and_the_next_one_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LogWriter(tmp_path)
    writer.append([delivery(1)])
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", lambda _: _fail())
        with pytest.raises(StoreError, match="nothing was accepted: free some space and try again"):
            writer.append([delivery(2)])
    writer.append([delivery(3)])
    assert names(tmp_path) == ["1.etdp", "3.etdp"]


def test_only_what_this_process_wrote_whole_is_not_hashed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []

    def is_whole(_: int, record: LogRecord) -> bool:
        hashed.append(record.dump.name)
        return True

    monkeypatch.setattr(log_records, "_is_whole", is_whole)
    own, other = LogWriter(tmp_path), LogWriter(tmp_path)
    own.append([delivery(1)])
    other.append([delivery(2)])
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", lambda _: _fail())
        with pytest.raises(StoreError, match="nothing was accepted: free some space and try again"):
            other.append([delivery(3)])
    assert (names(tmp_path), hashed) == (["1.etdp", "2.etdp"], ["2.etdp"])
    hashed.clear()
    assert (names(tmp_path), hashed) == (["1.etdp", "2.etdp"], ["1.etdp", "2.etdp"])


def test_refusals_of_a_full_disk_leave_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LogWriter(tmp_path)
    monkeypatch.setattr(os, "fdatasync", lambda _: _fail())
    for _ in range(3):
        with pytest.raises(StoreError, match="No space left"):
            writer.append([delivery()])
    assert list(tmp_path.iterdir()) == []


def test_a_closed_log_reads_from_no_file_that_is_opened_after_it(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    writer.append([delivery()])
    writer.close()
    (path,) = seal_logs(tmp_path)
    log = SealedLog.open(path)
    assert log is not None
    record = log.record(0)
    log.close()
    (tmp_path / "other").write_bytes(bytes(1 << 20))
    with open(tmp_path / "other", "rb"), pytest.raises(StoreError, match="cannot be read"):
        log.read(record.dump)


def test_a_log_that_is_being_written_to_is_left_for_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_log, "_LONGEST_APPEND", 0.0)
    found: list[SealedLog | None] = []
    sync = os.fdatasync

    def seal_meanwhile(file: int) -> None:
        found.extend(SealedLog.open(path) for path in seal_logs(tmp_path))
        sync(file)

    monkeypatch.setattr(os, "fdatasync", seal_meanwhile)
    writer = LogWriter(tmp_path)
    writer.append([delivery()])
    assert found == [None]
    writer.close()
    assert names(tmp_path) == ["0.etdp"]


def test_files_of_other_names_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.log").write_text("something")
    assert seal_logs(tmp_path) == []
    assert (tmp_path / "mine.log").exists()


def _fail() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
