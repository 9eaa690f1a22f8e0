from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources import private_bytes, zip_artifacts, zip_limits
from tracehouse.ingest.sources import private_bytes as packings
from tracehouse.ingest.sources.listing import CompanionFinder, find_sources, list_names
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import (
    count_bytes,
    count_unpacked_bytes,
    read_dump_bytes,
    read_end_if_present,
    read_source,
)
from tracehouse.ingest.sources.zip_artifacts import list_zip


def directory_of(count: int, name: bytes) -> bytes:
    """The directory of a zip that says it holds that many empty members of one name."""
    entry = struct.pack("<4s42x", b"PK\1\2")
    entry = bytearray(entry)
    struct.pack_into("<H", entry, 28, len(name))
    return (bytes(entry) + name) * count


def end_of(directory: bytes, *, count: int, zip64: bool) -> bytes:
    size = len(directory)
    end = b""
    if zip64:
        end += struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, 0)
        end += struct.pack("<4sLQL", b"PK\6\7", 0, size, 1)
        count, size = 0xFFFF, 0xFFFFFFFF
    return end + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, size, 0, 0)


@pytest.mark.parametrize("zip64", [False, True])
@pytest.mark.parametrize("stated", [1, 0xFFFF])
def test_a_zip_of_too_many_members_is_refused_before_they_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zip64: bool, stated: int
) -> None:
    directory = directory_of(200_000, b"a.etdp")
    path = tmp_path / "many.zip"
    path.write_bytes(directory + end_of(directory, count=stated, zip64=zip64))
    monkeypatch.setattr(zipfile, "ZipInfo", None)  # made for each member
    wanted = r"many\.zip: has 200,000 members, wanted at most 65,535; unpack it and ingest"
    with pytest.raises(SourceError, match=wanted) as told:
        find_sources([path])
    assert told.value.reason == "too_large"
    (source,) = find_sources([tmp_path])
    with pytest.raises(SourceError, match="has 200,000 members"):
        read_source(source)
    assert list_names(Source(str(path), "").folder) is None


def test_a_directory_of_few_members_and_many_bytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long.zip"
    directory = directory_of(300, b"n" * 65_000)
    path.write_bytes(directory + end_of(directory, count=300, zip64=True))
    tracemalloc.start()
    with pytest.raises(SourceError, match=r"a directory of 19,513,800 bytes, wanted at most 16,"):
        find_sources([path])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 << 20


def test_a_zip_with_the_most_allowed_members_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (zip_artifacts, zip_limits):
        monkeypatch.setattr(module, "MAX_MEMBERS", 3)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(3):
            archive.writestr(f"{i}.etdp", b"")
    assert len(find_sources([path])) == 3


def test_two_members_of_one_name_are_both_refused_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.etdp", b"one")
        archive.writestr("b.etdp", b"two")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.etdp", b"three")
    twice, once = find_sources([path])
    assert read_source(once) == b"two"
    with pytest.raises(SourceError, match=r"zip!a\.etdp: the zip has 2 members of this") as told:
        read_source(twice)
    assert told.value.reason == "duplicate_member"


def test_members_that_share_bytes_are_refused_by_what_they_inflate_to_together(
    tmp_path: Path,
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.etdp", bytes(15 << 20))
    whole = packed.getvalue()
    start = whole.index(b"PK\1\2")
    entry = whole[start : whole.index(b"PK\5\6")]
    entries = b"".join(
        entry[:28] + struct.pack("<H", 11) + entry[30:46] + b"%06d.etdp" % i for i in range(400)
    )
    end = bytearray(end_of(entries, count=400, zip64=False))
    struct.pack_into("<L", end, 16, start)
    path = tmp_path / "quine.zip"
    path.write_bytes(whole[:start] + entries + bytes(end))
    with pytest.raises(SourceError, match=r"its dumps would inflate from [\d,]+ to 6,291,456,000"):
        find_sources([path])


def test_a_member_states_its_size_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.etdp", bytes(5_000_000))
    assert count_bytes(Source(str(path), "a.etdp")) == 5_000_000
    assert count_bytes(Source(str(path))) == path.stat().st_size
    for nothing in (Source(str(path), "b"), Source(str(tmp_path / "b")), Source(__file__, "b")):
        assert count_bytes(nothing) == 0


def test_a_large_member_is_inflated_into_a_private_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_bytes, "COPY_FROM_BYTES", 1 << 20)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.etdp", bytes(60_000_000))
    source = Source(str(path), "a.etdp")
    tracemalloc.start()
    data = read_source(source)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(data), isinstance(data, memoryview)) == (60_000_000, True)
    assert peak < 8 << 20


def test_companions_of_two_names_are_found_and_refused_when_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.etdp", b"one")
        archive.writestr("a.debug.bin", b"two")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.debug.bin", b"three")
    (source,) = find_sources([path])
    buffer = CompanionFinder().find(source).debug_buffer
    assert buffer is not None
    with pytest.raises(SourceError, match="2 members of this name"):
        read_source(buffer)


def test_backslashes_between_folders_are_slashes(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("farm\\b1\\run.etdp", "farm\\b1\\run.debug.bin", "farm\\manifest.json"):
            info = zipfile.ZipInfo("x")
            info.filename = name
            archive.writestr(info, name.encode())
    (source,) = find_sources([path])
    assert source.name == f"{path}!farm/b1/run.etdp"
    assert read_source(source) == b"farm\\b1\\run.etdp"
    buffer = CompanionFinder().find(source).debug_buffer
    assert buffer == Source(str(path), "farm/b1/run.debug.bin")
    assert find_sources([f"{path}!farm\\b1\\run.etdp"]) == [source]


def test_packed_dump_in_a_zip_counts_with_its_unpacked_size(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.etdp.gz", gzip.compress(bytes(5_000_000)))
    (source,) = find_sources([path])
    assert count_unpacked_bytes(source) == 5_000_000
    assert len(read_dump_bytes(source)) == 5_000_000


def test_packed_dumps_in_a_zip_may_not_inflate_too_much_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packings, "INFLATION_FREE_BYTES", 1 << 20)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.etdp.gz", gzip.compress(bytes(600_000)))
    with pytest.raises(SourceError, match=r"its dumps would inflate from [\d,]+ to 1,800,000 byte"):
        find_sources([path])


def pack_stream(data: bytes) -> bytes:
    """A frame of zstd that does not state the size of its contents, as a pipe writes it."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def test_streamed_dumps_in_a_zip_count_with_what_they_may_become(tmp_path: Path) -> None:
    """Otherwise each of them would count as 64 MB."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.etdp.zst", pack_stream(bytes(range(256)) * 99))
        archive.writestr("bomb.etdp.zst", pack_stream(bytes(9 << 20)))
    *dumps, bomb = find_sources([path])
    assert [len(read_dump_bytes(source)) for source in dumps] == [256 * 99] * 3
    with pytest.raises(SourceError, match="unpacks to another size than it states or may have"):
        read_dump_bytes(bomb)


def test_packed_companions_in_a_zip_may_not_inflate_too_much_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packings, "INFLATION_FREE_BYTES", 1 << 20)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(2):
            archive.writestr(f"{number}.etdp", b"")
            archive.writestr(f"{number}.debug.bin.gz", gzip.compress(bytes(600_000)))
    finder = CompanionFinder()
    first, second = (finder.find(source).debug_buffer for source in find_sources([path]))
    assert first is not None
    assert second is not None
    assert read_source(first) == bytes(600_000)
    with pytest.raises(SourceError, match="companions and manifests of its zip"):
        read_source(second)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"<!doctype html><title>Sign in</title>", r"not a zip, but an HTML page"),
        (gzip.compress(b"a.zip", mtime=0), r"not a zip, but gzip data: unpack it"),
        (b"PK\3\4\n\0\0\0\0\0rest", r"damaged zip: its end with the list of its members is miss"),
        (b"PK\3\4\r\n\0\0\0\r\n\0\r\nrest", r"copied in text mode"),
    ],
    ids=["page", "gzip", "cut", "text mode"],
)
def test_file_that_is_no_zip_says_what_it_is(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=rf"a\.zip: {problem}"):
        find_sources([path])


def test_zip_members_that_are_no_dumps_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("b.etdp", b"")
        archive.writestr("b.txt", b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("f/", b"")
        archive.writestr("f/a.etdp", b"")
        archive.writestr("f/a.json", b"")
        archive.writestr("__MACOSX/f/._a.etdp", b"")
        archive.writestr("f/notes.txt", b"")
        archive.writestr("in.zip", inner.getvalue())
    listed = list_zip(str(path))
    assert listed.dumps == ["f/a.etdp", "in.zip!b.etdp"]
    assert sorted(listed.passed_over) == [
        "__MACOSX/f/._a.etdp",
        "f/notes.txt",
        "in.zip!b.txt",
    ]


@pytest.mark.parametrize("folder", ["", "inner.zip!"])
def test_companions_may_inflate_together_to_what_the_dumps_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setattr(packings, "INFLATION_FREE_BYTES", 10_000)
    monkeypatch.setattr(packings, "MAX_INFLATION", 1)
    members = {"a.etdp": b"dump", "a.json": bytes(4_000), "a.log": bytes(4_000), "b": bytes(4_000)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    path = tmp_path / "a.zip"
    if folder:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inner.zip", packed.getvalue())
    else:
        path.write_bytes(packed.getvalue())

    def read(name: str) -> bytes:
        return bytes(read_source(Source(str(path), f"{folder}{name}")))

    for _ in range(3):  # each counts once
        assert read("a.json") == read_end_if_present(
            Source(str(path), f"{folder}a.log"), most_bytes=4_000
        )
    with pytest.raises(SourceError, match="would take more than 10,000 bytes inflated") as told:
        read("b")
    assert told.value.reason == "too_large"
    assert read("a.etdp") == b"dump"
