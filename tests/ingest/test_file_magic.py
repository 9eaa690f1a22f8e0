from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from tests.support.corpus import dump_names, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import run, timed
from tests.support.traced_dumps import traced_dump
from tracehouse.ingest.decode import decode_dumps
from tracehouse.ingest.file_magic import begins_like_dump, describe_bytes, is_text_mode, is_utf16

DUMP = read_dump("real/mlp_portable_n1")
LARGE = read_dump("real/cnn_portable_n20")


def pack_tar(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def pack_zip(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


KINDS = {
    "gzip": (gzip.compress(DUMP), "gzip data: unpack it"),
    "bzip2": (bz2.compress(DUMP), "bzip2 data: unpack it"),
    "xz": (lzma.compress(DUMP), "xz data: unpack it"),
    "Zstandard": (b"\x28\xb5\x2f\xfd" + bytes(40), "Zstandard data: unpack it"),
    "tar": (pack_tar("run.etdp", DUMP), "a tar archive: unpack it and ingest the folder"),
    "zip": (pack_zip("run.etdp", DUMP), "a zip: end its name in .zip"),
    "program": (b"\x1c\0\0\0ET12" + bytes(90), "an ExecuTorch program"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
    "HTML": (b"\r\n<!DOCTYPE HTML><html>", "an HTML page"),
    "XML": (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code>", "XML, such as the error"),
    "JSON": (b'\xef\xbb\xbf{"device": "pixel8"}', "JSON"),
    "base64": (base64.encodebytes(DUMP), "base64 of an ETDump: decode it"),
    "bare base64": (base64.b64encode(DUMP[4:]), "base64 of an ETDump"),
    "script": (
        b'#[RUN THIS]\necho "' + base64.b64encode(DUMP) + b'" | base64 -d >etdump.bin\n#[END]\n',
        "text with an ETDump in base64: decode that part",
    ),
    "xxd": (
        b"00000000: 9c02 0000 1800 0000 4544 3030 0000 0000  ........ED00....\n",
        "text with an ETDump in hexadecimal",
    ),
    "PowerShell": (("\ufeff" + DUMP.decode("latin-1")).encode("utf-16-le"), "UTF-16 text, as Pow"),
    "wide": (DUMP.decode("latin-1").encode("utf-16-le"), "UTF-16 text, as Pow"),
    "UTF-16": ('{"device": "pixel8"}'.encode("utf-16-be"), "UTF-16 text"),
    "error": (b"adb: error: no devices/emulators\n", "text that begins with 'adb: error:"),
    "zeros": (bytes(999), "zeros: it was copied before it was written"),
    "macOS": (b"\0\5\x16\7" + bytes(78), "attributes of a file from macOS"),
}


@pytest.mark.parametrize("name", KINDS)
def test_bytes_in_place_of_a_dump_are_named(name: str) -> None:
    data, kind = KINDS[name]
    assert (describe_bytes(data) or "").startswith(kind)
    assert describe_bytes(memoryview(data)) == describe_bytes(data)
    (row,) = decode_dumps([data]).errors.to_pylist()
    assert row["detail"].startswith(f"not an ETDump, but {kind}")


def test_each_kind_of_file_is_described_differently() -> None:
    assert len({describe_bytes(data) for data, _ in KINDS.values()}) >= len(KINDS) - 3


def test_dumps_and_unknown_bytes_have_no_other_name() -> None:
    for data in (DUMP, DUMP[4:], b"", bytes(range(256)), b"\x93random\x00\x01"):
        assert describe_bytes(data) is None
    assert begins_like_dump(DUMP)
    assert begins_like_dump(DUMP[4:])


DAMAGES = {
    "text mode": (LARGE.replace(b"\n", b"\r\n"), "copied in text mode"),
    "zeros": (LARGE[:4096] + bytes(len(LARGE) - 4096), "zero from byte 4,096 to its end"),
    "hole": (LARGE[:8192] + bytes(4096) + LARGE[12288:], "zero from byte 8,192 for 4,096 bytes"),
    "replaced": (LARGE.decode("utf-8", "replace").encode(), "read and written as text"),
    "code page": (b"\xef\xbb\xbf" + LARGE.decode("cp437").encode(), "read and written as text"),
    "re-encoded": (LARGE.decode("latin-1").encode(), "read and written as text"),
    "line end": (LARGE + b"\n", "a line end follows the dump"),
    "joined": (LARGE + DUMP, "another dump follows in the same file"),
    "buffer": (LARGE + bytes(999), "zeros follow the dump, as if a whole static buffer"),
    "cut": (LARGE[:9000], "the file is shorter than its size prefix says: copy it again"),
    "longer": (LARGE + b"\x93", "the file is longer than its size prefix says"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(name: str) -> None:
    data, words = DAMAGES[name]
    assert data != LARGE
    (row,) = decode_dumps([data]).errors.to_pylist()
    assert row["detail"].startswith(words)


def test_text_mode_is_proved_by_the_size_where_there_are_few_line_feeds() -> None:
    dumps = [traced_dump(number) for number in range(40)]
    few = [dump for dump in dumps if dump.count(b"\n") == 1]
    assert few
    for dump in few:
        assert is_text_mode(dump.replace(b"\n", b"\r\n"))
        assert not is_text_mode(dump)


def test_no_dump_of_the_corpus_looks_copied_in_text_mode() -> None:
    assert not any(is_text_mode(read_dump(name)) for name in dump_names())


def test_refusal_for_a_limit_keeps_its_words() -> None:
    long = build_etdump({"version": 0, "run_data": [run(timed("\n" * 70_000, 1, 2), name="r")]})
    (row,) = decode_dumps([long]).errors.to_pylist()
    assert row["reason"] == "name_too_long"
    assert "text" not in row["detail"].partition(":")[0]


def test_utf16_is_recognised_with_and_without_a_byte_order_mark() -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        assert is_utf16('{"device": "d"}'.encode(encoding))
    for data in (b"", b"a", b'{"device": "d"}', DUMP, bytes(9)):
        assert not is_utf16(data)
