from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources import private_bytes
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import MAX_FILE_BYTES, read_source

SMALL, LARGE = 1 << 30, 1  # from this size on a file is copied: never, always


@pytest.fixture(params=[SMALL, LARGE], ids=["in memory", "copied"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_bytes, "COPY_FROM_BYTES", request.param)


def meddle(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Let something happen to the file after its first bytes were read."""
    read = os.read
    actions = [action]

    def read_and_meddle(file: int, count: int) -> bytes:
        data = read(file, min(count, 1000))
        if actions:
            actions.pop()()
        return data

    monkeypatch.setattr(private_bytes.os, "read", read_and_meddle)


@pytest.mark.usefixtures("_both_ways")
def test_bytes_stay_though_the_file_is_rewritten_and_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.etdp"
    path.write_bytes(whole := os.urandom(3_000_000))
    data = read_source(Source(str(path)))
    with path.open("r+b") as file:
        file.write(b"x" * 5000)
        file.truncate(4096)
    assert hashlib.sha256(data).digest() == hashlib.sha256(whole).digest()


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("change", ["cut", "grown", "rewritten"])
def test_a_file_that_changes_while_it_is_read_is_refused_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "a.etdp"
    path.write_bytes(bytes(3000))
    os.utime(path, ns=(0, 0))

    def alter() -> None:
        with path.open("r+b") as file:
            if change == "cut":
                file.truncate(2000)
            else:
                file.seek(0, os.SEEK_END if change == "grown" else os.SEEK_SET)
                file.write(b"x" * 100)

    meddle(monkeypatch, alter)
    with pytest.raises(SourceError, match=r"a\.etdp: changed while it was read; ingest it") as told:
        read_source(Source(str(path)))
    assert told.value.reason == "changed"


@pytest.mark.usefixtures("_both_ways")
def test_a_file_replaced_by_another_is_read_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "a.etdp", tmp_path / "b.etdp"
    path.write_bytes(b"a" * 3000)
    other.write_bytes(b"b" * 3000)
    meddle(monkeypatch, lambda: os.replace(other, path))
    assert read_source(Source(str(path))) == b"a" * 3000


def test_a_file_beyond_the_limit_is_refused_before_a_byte_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sparse.etdp"
    with path.open("wb") as file:
        file.truncate(8 << 30)
    monkeypatch.setattr(private_bytes, "gather", None)
    for most in (MAX_FILE_BYTES, 2 << 30):
        wanted = rf"is 8,589,934,592 bytes, wanted at most {most:,}"
        with pytest.raises(SourceError, match=wanted) as told:
            read_source(Source(str(path)), most_bytes=most)
        assert told.value.reason == "too_large"


def test_a_copy_has_the_holes_of_a_sparse_file_and_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_bytes.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.write(b"head")
        file.truncate(80 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"tail")
    blocks: list[int] = []
    truncate = os.ftruncate

    def finish(file: int, size: int) -> None:
        truncate(file, size)
        blocks.append(os.fstat(file).st_blocks)

    monkeypatch.setattr(private_bytes.os, "ftruncate", finish)
    data = read_source(Source(str(path)))
    assert (data[:4], data[-4:], len(data)) == (b"head", b"tail", (80 << 20) + 4)
    assert blocks[0] * 512 < 8 << 20
    assert os.listdir(tmp_path / "temporary") == []


def test_a_copy_without_room_names_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.etdp"
    path.write_bytes(b"x" * 100)
    monkeypatch.setattr(private_bytes, "COPY_FROM_BYTES", LARGE)

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(private_bytes.os, "pwrite", refuse)
    with pytest.raises(SourceError, match=r"no space for a private copy in .* set TMPDIR"):
        read_source(Source(str(path)))


@pytest.mark.usefixtures("_both_ways")
def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert read_source(Source(str(tmp_path / "a"))) == b""


def test_a_small_file_is_read_with_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read, sizes = tmp_path / "a.etdp", os.read, []
    path.write_bytes(b"a" * 3000)

    def note(file: int, count: int) -> bytes:
        sizes.append(count)
        return read(file, count)

    monkeypatch.setattr(private_bytes.os, "read", note)
    assert read_source(Source(str(path))) == b"a" * 3000
    assert sizes == [3001]
