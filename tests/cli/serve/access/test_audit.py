from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.full_disk import no_room
from tracehouse.cli.serve.access import audit
from tracehouse.cli.serve.access.audit import FILE_NAME, AuditEntry, AuditFile, audit_command
from tracehouse.warehouse.errors import StoreError


def test_an_entry_is_one_line_that_says_who_did_what_when() -> None:
    said = json.loads(AuditEntry("lab", "PUT /v1/dumps/{sha256}", "ab", "ok", 201, 3.5, 9).line())
    now = datetime.now(UTC)
    assert abs((datetime.fromisoformat(said.pop("time")) - now).total_seconds()) < 60
    assert said == {
        "bearer": "lab",
        "action": "PUT /v1/dumps/{sha256}",
        "what": "ab",
        "result": "ok",
        "status": 201,
        "milliseconds": 3.5,
        "bytes": 9,
        "request_id": "",
    }


def test_texts_of_strangers_are_escaped_and_shortened() -> None:
    line = AuditEntry("", "POST /v1/sql", "SELECT '\x1b[2J\n\udcff'", "ok").line()
    assert line.isprintable()
    assert json.loads(line)["what"] == "SELECT '\x1b[2J\n\udcff'"
    assert len(AuditEntry("", "POST /v1/sql", "x" * 10**6, "ok").line()) < 21_000


def test_the_log_is_its_owner_s_and_is_appended_to(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        for line in (b"1\n", b"2\n"):
            file = AuditFile(tmp_path)
            file.append(line)
            file.close()
    finally:
        os.umask(before)
    assert (tmp_path / FILE_NAME).read_bytes() == b"1\n2\n"
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_a_full_log_makes_room_and_the_oldest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "KEPT_FILES", 3)
    file = AuditFile(tmp_path, full_bytes=10)
    for number in range(12):
        file.append(b"%03d\n" % number)
    file.close()
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {
        "audit.jsonl": b"010\n011\n",
        "audit.1.jsonl": b"008\n009\n",
        "audit.2.jsonl": b"006\n007\n",
        "audit.3.jsonl": b"004\n005\n",
    }


def test_a_line_longer_than_a_file_is_kept_whole(tmp_path: Path) -> None:
    file = AuditFile(tmp_path, full_bytes=10)
    file.append(b"x" * 50)
    file.append(b"y" * 50)
    file.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.1.jsonl", "audit.jsonl"]


def test_several_writers_lose_nothing_when_the_log_is_full(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        file = AuditFile(tmp_path, full_bytes=2000)
        for number in range(100):
            file.append(b"%d %03d\n" % (writer, number))
        file.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    lines = b"".join(path.read_bytes() for path in tmp_path.iterdir()).splitlines()
    assert sorted(lines) == [b"%d %03d" % (w, n) for w in range(4) for n in range(100)]


def test_lines_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, room = os.write, 6

    def write_some(descriptor: int, data: bytes) -> int:
        nonlocal room
        if not room:
            no_room()
        count = write(descriptor, bytes(data[:room]))
        room -= count
        return count

    file = AuditFile(tmp_path)
    file.append(b"1\n")
    monkeypatch.setattr(os, "write", write_some)
    with pytest.raises(OSError, match="No space left"):
        file.append(b"second\n")
    assert (tmp_path / FILE_NAME).read_bytes() == b"1\n"
    room = 100
    file.append(b"second\n")
    file.close()
    assert (tmp_path / FILE_NAME).read_bytes() == b"1\nsecond\n"


def test_a_line_after_a_torn_one_is_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b'{"time": "20')
    for line in (b"1\n", b"2\n"):
        file = AuditFile(tmp_path)
        file.append(line)
        file.close()
    assert (tmp_path / FILE_NAME).read_bytes() == b'{"time": "20\n1\n2\n'


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    file = AuditFile(tmp_path)
    file.append(b"1\n")
    (tmp_path / FILE_NAME).rename(tmp_path / "taken")
    file.append(b"2\n")
    file.close()
    assert (tmp_path / "taken").read_bytes() == b"1\n"
    assert (tmp_path / FILE_NAME).read_bytes() == b"2\n"


def test_a_command_is_audited_with_its_user_or_fails(tmp_path: Path) -> None:
    audit_command(tmp_path, "token_created", "lab")
    said = json.loads((tmp_path / FILE_NAME).read_text())
    assert (said["bearer"], said["action"], said["what"], said["result"]) == (
        f"uid {os.getuid()}", "token_created", "lab", "ok",
    )  # fmt: skip
    with pytest.raises(StoreError, match=r"none/audit\.jsonl: cannot be written: No such file"):
        audit_command(tmp_path / "none", "token_created", "lab")
