from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.stores import write
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources import private_bytes as packings
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.private_bytes import most_inflated, read_declared_bytes, unpack
from tracehouse.ingest.sources.reading import count_unpacked_bytes, read_dump_bytes, read_source

DUMP = bytes(range(256)) * 300


def pack_zstd(data: bytes) -> bytes:
    """One frame that states the size of its contents."""
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def pack_stream(data: bytes) -> bytes:
    """A frame that does not state it, as a pipe into zstd writes."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def declared(data: bytes, packing: str) -> int:
    def read(start: int, count: int) -> bytes:
        return data[start : start + count]

    return read_declared_bytes(read, len(data), packing)


@pytest.mark.parametrize(("end", "pack"), [("gz", gzip.compress), ("zst", pack_zstd)])
@pytest.mark.parametrize("data", [DUMP, DUMP[:200], DUMP[:300]])
def test_packed_dump_is_read_unpacked_and_says_its_size_before(
    tmp_path: Path, end: str, pack: object, data: bytes
) -> None:
    assert callable(pack)
    source = Source(str(write(tmp_path / f"run.etdp.{end}", pack(data))))
    assert count_unpacked_bytes(source) == len(data)
    assert read_dump_bytes(source) == data


def test_frame_without_a_size_may_become_as_large_as_anything_packed() -> None:
    packed = pack_stream(DUMP)
    assert declared(packed, "zstd") == most_inflated(len(packed))
    assert unpack(packed, "run.etdp.zst", "zstd", most_bytes=1 << 30) == DUMP
    with pytest.raises(SourceError, match="unpacks to another size than it states or may have"):
        unpack(pack_stream(bytes(9 << 20)), "a.zst", "zstd", most_bytes=1 << 30, free_bytes=0)


@pytest.mark.parametrize("name", ["net.etrecord.gz", "run.debug.bin.gz", "debug_output.bin.gz"])
def test_packed_companion_is_read_unpacked(tmp_path: Path, name: str) -> None:
    source = Source(str(write(tmp_path / name, gzip.compress(DUMP))))
    assert (count_unpacked_bytes(source), read_source(source)) == (len(DUMP), DUMP)


def test_a_file_without_a_packed_suffix_is_read_as_it_is(tmp_path: Path) -> None:
    packed = gzip.compress(DUMP)
    source = Source(str(write(tmp_path / "run.etdp", packed)))
    assert (count_unpacked_bytes(source), read_dump_bytes(source)) == (len(packed), packed)
    assert count_unpacked_bytes(Source(str(tmp_path / "gone.etdp.gz"))) == 0


def test_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packings, "INFLATION_FREE_BYTES", 1 << 20)
    bomb = gzip.compress(bytes(2 << 20))
    monkeypatch.setattr(pa, "CompressedInputStream", None)
    with pytest.raises(SourceError, match=r"would inflate from [\d,]+ to 2,097,152 bytes") as told:
        unpack(bomb, "run.etdp.gz", "gzip", most_bytes=1 << 30)
    assert told.value.reason == "too_large"


def test_false_size_is_refused_and_never_exceeded() -> None:
    packed = gzip.compress(bytes(5_000_000))
    for stated in (9, 6_000_000):
        lie = packed[:-4] + stated.to_bytes(4, "little")
        with pytest.raises(SourceError, match=r"damaged gzip|unpacks to another size"):
            unpack(lie, "run.etdp.gz", "gzip", most_bytes=1 << 30)
    several = gzip.compress(DUMP) + gzip.compress(DUMP[:9])
    with pytest.raises(SourceError, match="unpacks to another size than it states"):
        unpack(several, "run.etdp.gz", "gzip", most_bytes=1 << 30)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_damaged_data_is_refused(packing: str) -> None:
    pack = {"gzip": gzip.compress, "zstd": pack_zstd}[packing]
    refuse = partial(unpack, name="run.etdp.gz", packing=packing, most_bytes=1 << 30)
    packed = pack(DUMP)
    for data in (packed[:-40], packed[:9], packed[:50] + bytes(9) + packed[50:]):
        with pytest.raises(SourceError, match=r"damaged|would inflate|another size"):
            refuse(data)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_data_that_is_not_packed_stays_as_it_is(packing: str) -> None:
    """Some clients unpack what they fetch, and keep its name."""
    for data in (DUMP, b"<html>", b""):
        assert declared(data, packing) == len(data)
        assert unpack(data, "run.etdp.gz", packing, most_bytes=1 << 30) == data


def test_large_dump_is_unpacked_into_a_private_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.ingest.sources.private_bytes.COPY_FROM_BYTES", 1 << 10)
    unpacked = unpack(gzip.compress(DUMP), "run.etdp.gz", "gzip", most_bytes=1 << 30)
    assert isinstance(unpacked, memoryview)
    assert unpacked == DUMP
