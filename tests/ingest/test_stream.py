"""A dump decoded in parts has the same rows as the dump decoded at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.corpus import read_dump
from tracehouse import decode_dumps, stream_dump
from tracehouse.ingest import decode
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source

NAMES = [
    "real/cnn_portable_n20",
    "real/traced_str_n20",
    "real/dyn_portable_shapes_debug",
    "real/clock_wrap64_mlp_portable",
    "synthetic/allocations",
    "synthetic/empty_version7",
]


def rows(tables: dict[str, pa.Table]) -> dict[str, list[str]]:
    return {name: sorted(map(str, table.to_pylist())) for name, table in tables.items()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part_bytes", [1, 4096])
def test_parts_together_are_the_dump(
    name: str, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = read_dump(name)
    whole = decode_dumps([dump]).tables
    monkeypatch.setattr(decode, "ARENA_BYTES", part_bytes)
    parts = [part.tables for part in stream_dump(dump)]
    together = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    together |= {name: parts[-1][name] for name in ("event_signatures", "run_signatures")}
    assert rows(together) == rows(whole)
    if part_bytes == 1:  # a run at a time, and the dump's own row
        assert len(parts) == max(whole["runs"].num_rows, 1) + 1
    assert rows(decode_dumps([dump]).tables) == rows(whole)


def test_a_dump_refused_in_a_later_part_leaves_no_signatures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good, bad = read_dump("real/mlp_portable_n1"), bytearray(read_dump("real/cnn_portable_n20"))
    bad[-300:-292] = b"\xff" * 8  # in the last part
    monkeypatch.setattr(decode, "ARENA_BYTES", 1024)
    batch = decode_dumps([bytes(bad), good])
    assert batch.errors["dump_index"].to_pylist() == [0]
    alone = decode_dumps([good]).tables
    for name in ("event_signatures", "run_signatures"):
        assert rows(batch.tables)[name] == rows(alone)[name]


def test_malformed_dump_is_refused_by_name_and_offset() -> None:
    dump = bytearray(read_dump("real/cnn_portable_n20"))
    dump[-300:-292] = b"\xff" * 8
    (row,) = decode_dumps([dump]).errors.to_pylist()
    with pytest.raises(DumpError, match=r"big\.etdp") as caught:
        list(stream_dump(dump, "big.etdp"))
    assert (caught.value.reason, caught.value.byte_offset) == (row["reason"], row["byte_offset"])


@pytest.mark.slow
def test_file_beyond_what_flatbuffers_address_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.etdp"
    with path.open("wb") as file:
        file.write(read_dump("real/mlp_portable_n1"))
        file.truncate(2**31)  # sparse: takes no room
    with pytest.raises(DumpError, match="2 GiB"):
        list(stream_dump(read_source(Source(str(path))), "huge.etdp"))
