"""Files as artefact stores, phones and shells hand them over: read, or refused by their cause."""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import read_dump
from tests.support.ingesting import ingest_files, write_all

SMALL, LARGE = read_dump("real/mlp_portable_n1"), read_dump("real/cnn_portable_n20")


def pack_tar(data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo("night/run.etdp")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


# By name: contents, and words of the refusal; without any, the file is read.
FILES = {
    "packed.etdp.gz": (gzip.compress(SMALL), ""),
    "unpacked.etdp.gz": (read_dump("real/mlp_xnnpack_n1"), ""),  # by whoever fetched it
    "packed.etdp": (gzip.compress(SMALL), "not an ETDump, but gzip data: unpack it, or end its"),
    "tar.etdp.gz": (pack_tar(SMALL), "not an ETDump, but a tar archive: unpack it"),
    "packed.etdp.xz": (b"\xfd7zXZ\0rest of it all", "not an ETDump, but xz data: unpack it"),
    "textmode.etdp": (LARGE.replace(b"\n", b"\r\n"), "copied in text mode"),
    "shell.etdp": (("\ufeff" + LARGE.decode("latin-1")).encode("utf-16-le"), "UTF-16 text"),
    "appended.etdp": (LARGE + b"\n", "a line end follows the dump"),
    "half.etdp": (LARGE[: len(LARGE) // 2], "the file is shorter than its size prefix says"),
    "zeros.etdp": (LARGE[:4096] + bytes(len(LARGE) - 4096), "zero from byte 4,096 to its end"),
    "empty.etdp": (b"", "the file is empty"),
    "uart.etdp": (
        b'#[RUN THIS]\necho "' + base64.b64encode(SMALL) + b'" | base64 -d >etdump.bin\n',
        "text with an ETDump in base64: decode that part",
    ),
    "base64.etdp": (base64.b64encode(SMALL), "base64 of an ETDump: decode it"),
    "html.etdp": (b"<!DOCTYPE html><title>Sign in</title>", "an HTML page"),
    "lfs.etdp": (b"version https://git-lfs.github.com/spec/v1\n", "run 'git lfs pull'"),
    "html.zip": (b"<!DOCTYPE html><title>Sign in</title>", "not a zip, but an HTML page"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {name: data for name, (data, _) in FILES.items()}
    return write_all(tmp_path / "in", files | {"night.tar.gz": pack_tar(SMALL)})


def test_each_file_is_read_or_refused_by_its_own_cause(run: Run, own: Path, folder: Path) -> None:
    done = ingest_files(run, own, folder)
    told = {Path(path).name: words for path, words in done.refused.items()}
    assert told.keys() == {name for name, (_, words) in FILES.items() if words}
    for name, words in told.items():
        assert FILES[name][1] in words
    assert len(set(told.values())) == len(told)
    assert (done.row["dumps"], done.row["passed_over"]) == (2, 1)
    assert done.notes == ["note: passed over: 1 file (1 *.tar.gz)"]


def test_inspect_says_the_same(run: Run, folder: Path) -> None:
    for name, (_, words) in FILES.items():
        shown = run("inspect", folder / name)
        assert (shown.code != 0) == bool(words)
        assert words in shown.err
    assert "a tar archive" in run("inspect", folder / "night.tar.gz").err
