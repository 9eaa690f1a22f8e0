"""Zips as other tools write them: read, or refused by their cause."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import read_dump
from tests.support.ingesting import ask, ingest_files, write_all
from tests.support.traced_dumps import traced_dump

LARGE = read_dump("real/cnn_portable_n20")
MANIFEST = json.dumps({"device": "pixel8", "build": "b1", "model": "m"}).encode()


class Pipe(io.BytesIO):
    """A file that cannot be sought, so that sizes follow the data."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: object) -> int:
        raise OSError


def pack(
    files: dict[str, bytes],
    *,
    method: int = zipfile.ZIP_DEFLATED,
    is_large: bool = False,
    file: io.BytesIO | None = None,
) -> bytes:
    file = file or io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo("x")
            info.filename, info.compress_type = name, method  # as it is given
            with archive.open(info, "w", force_zip64=is_large) as member:
                member.write(data)
    return file.getvalue()


def files(number: int, dump: str = "run.etdp", manifest: str = "run.json") -> dict[str, bytes]:
    return {dump: traced_dump(number), manifest: MANIFEST}


# By name: makes the zip of a dump of a number; all of these are read, with their manifest.
READ: dict[str, Callable[[int], bytes]] = {
    "backslash": lambda n: pack(files(n, "farm\\b1\\run.etdp", "farm\\manifest.json")),
    "mixed": lambda n: pack(files(n, "farm/b1\\run.etdp", "farm\\b1/run.json")),
    "zip64": lambda n: pack(files(n), is_large=True),
    "streamed": lambda n: pack(files(n), file=Pipe()),
    "folders": lambda n: pack({"a/": b"", "a/b/": b"", **files(n, "a/b/x.etdp", "manifest.json")}),
    "macos": lambda n: pack({**files(n), "__MACOSX/._run.etdp": b"\0\5\x16\7" + bytes(78)}),
    "absolute": lambda n: pack(files(n, "/data/local/tmp/run.etdp", "/data/local/tmp/run.json")),
    "above": lambda n: pack(files(n, "../run.etdp", "../run.json")),
    "drive": lambda n: pack(files(n, "C:\\Users\\x\\run.etdp", "C:\\Users\\manifest.json")),
    "upper": lambda n: pack(files(n, "RUN.ETDP", "RUN.JSON")),
    "shared upper": lambda n: pack(files(n, "A/RUN.ETDP", "MANIFEST.JSON")),
    "emoji": lambda n: pack(files(n, "📱/run 1.etdp", "📱/run 1.json")),
    "prefixed": lambda n: b"#!/bin/sh\nexit\n" + pack(files(n)),
    "trailing": lambda n: pack(files(n)) + b"\r\n",
    "cp437": lambda n: pack(files(n)).replace(b"run.", b"r\x81n."),
}
REFUSED: dict[str, tuple[Callable[[int], bytes], str]] = {
    "bzip2": (lambda n: pack(files(n), method=zipfile.ZIP_BZIP2), "packed with bzip2, wanted st"),
    "lzma": (lambda n: pack(files(n), method=zipfile.ZIP_LZMA), "packed with LZMA, wanted stored"),
    "cut": (lambda n: pack(files(n))[:-30], "its end with the list of its members is missing"),
    "textmode": (
        lambda n: pack({**files(n), "large.bin": LARGE}).replace(b"\n", b"\r\n"),
        "copied in text mode",
    ),
    "page": (lambda _: b"<html><title>Sign in</title>", "not a zip, but an HTML page"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = {f"{name}.zip": make(n) for n, (name, make) in enumerate(READ.items())}
    bad = {f"{name}.zip": make(99) for name, (make, _) in REFUSED.items()}
    return write_all(tmp_path / "in", made | bad)


def test_each_zip_is_read_with_its_manifest_or_refused_by_its_cause(
    run: Run, own: Path, folder: Path
) -> None:
    done = ingest_files(run, own, folder, is_named=False)
    rows = ask(own, "SELECT source, device FROM named_dumps")
    read = {Path(row["source"].partition("!")[0]).stem: row["device"] for row in rows}
    assert read == dict.fromkeys(READ, "pixel8")
    told = {Path(path.partition("!")[0]).stem: words for path, words in done.refused.items()}
    assert told.keys() == REFUSED.keys()
    for name, words in told.items():
        assert REFUSED[name][1] in words
    assert done.notes == ["note: passed over: 2 files (1 ._*, 1 *.bin)"]


def test_member_behind_backslashes_is_named_either_way(run: Run, folder: Path) -> None:
    for name in ("farm\\b1\\run.etdp", "farm/b1/run.etdp"):
        assert run("inspect", f"{folder / 'backslash.zip'}!{name}").code == 0
