from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.support.command import Run, run_on_terminal
from tests.support.corpus import FARM
from tracehouse.warehouse.archive.archive import Archive

DUMP = next(iter(sorted(FARM.rglob("*.etdp"))))
SHA256 = hashlib.sha256(DUMP.read_bytes()).hexdigest()


def test_a_file_comes_back_bit_for_bit(run: Run, store: Path, tmp_path: Path) -> None:
    assert run("archive", "get", SHA256[:12].upper(), "--store", store).out == DUMP.read_bytes()
    target = tmp_path / "again.etdp"
    assert run("archive", "get", SHA256, "--store", store, "--output", target).code == 0
    assert target.read_bytes() == DUMP.read_bytes()


def test_a_file_appears_when_it_is_whole(run: Run, store: Path, tmp_path: Path) -> None:
    target, other = tmp_path / "again.etdp", tmp_path / "other.etdp"
    other.write_bytes(b"before")
    target.hardlink_to(other)
    assert run("archive", "get", SHA256, "--store", store, "--output", target).code == 0
    assert (target.read_bytes(), other.read_bytes()) == (DUMP.read_bytes(), b"before")


def test_a_hash_that_names_no_file_or_several_is_an_error(run: Run, store: Path) -> None:
    for prefix, problem in (
        ("f" * 64, "has no file whose SHA-256 begins with"),
        ("abc", "wanted the first 6 or more hex digits of a SHA-256"),
        ("not hex", "wanted the first 6 or more hex digits of a SHA-256"),
    ):
        asked = run("archive", "get", prefix, "--store", store)
        assert (asked.code, asked.out) == (1, b"")
        assert problem in asked.error


@pytest.mark.system
def test_bytes_do_not_go_to_a_terminal(store: Path) -> None:
    shown = run_on_terminal("archive", "get", SHA256, "--store", store)
    assert shown.code == 2
    assert "--output FILE" in shown.text


def test_an_archive_that_is_whole_is_told_so(run: Run, store: Path) -> None:
    done = run("archive", "verify", "--store", store, "--format", "json")
    rows = json.loads(done.text)
    assert done.code == 0
    assert {row["problem"] for row in rows} == {""}
    counted = run("sql", "SELECT count(*) FROM dumps", "--store", store, "--format", "csv")
    assert sum(row["file_count"] for row in rows) == int(counted.text.split()[1])


def test_a_damaged_or_missing_segment_is_told(run: Run, store: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(store, tmp_path / "own.store"))
    segment = Archive(own).segments()[0]
    data = bytearray(segment.path.read_bytes())
    data[len(data) // 2] ^= 1
    segment.path.chmod(0o600)
    segment.path.write_bytes(data)
    done = run("archive", "verify", "--store", own, "--format", "json")
    assert (done.code, "is damaged" in json.loads(done.text)[0]["problem"]) == (1, True)
    segment.path.unlink()
    done = run("archive", "verify", "--store", own, "--format", "csv")
    assert (done.code, done.text.splitlines()[-1]) == (1, "1,1,0,0,0,is gone")


def test_an_archive_of_no_store_is_not_whole(run: Run, tmp_path: Path) -> None:
    done = run("archive", "verify", "--store", tmp_path / "misspelt")
    assert (done.code, done.text) == (1, "")
    assert "misspelt: no store here" in done.error
