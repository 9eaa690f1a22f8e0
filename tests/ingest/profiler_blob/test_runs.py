"""Profiler blobs among ETDumps: recognised by content, decoded alike."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.support.blob_builder import block, build_profiler_blob
from tests.support.corpus import CORPUS, read_dump
from tests.support.etdump_builder import build_etdump
from tracehouse import decode_dumps, stream_dump
from tracehouse.ingest import decode, profiler_blob
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.etdump import dumps

BLOB = (CORPUS / "legacy" / "iterations.prof").read_bytes()
ETDUMP = read_dump("real/mlp_portable_n1")
TINY = build_etdump({}, size_prefixed=False)


def rows(tables: dict[str, pa.Table], dump_index: int) -> dict[str, list[dict]]:
    """Rows of one dump, without its index."""
    return {
        name: [row for row in table.to_pylist() if row.pop("dump_index") == dump_index]
        for name, table in tables.items()
        if "signatures" not in name
    }


def test_blobs_and_etdumps_in_one_call_do_not_touch_each_other():
    buffers = [TINY, ETDUMP, BLOB, BLOB[:-8000], ETDUMP, build_profiler_blob(block("a")), BLOB]
    batch = decode_dumps(buffers)
    assert [(row["dump_index"], row["reason"]) for row in batch.errors.to_pylist()] == [
        (3, "truncated")
    ]
    for index, buffer in enumerate(buffers):
        if index != 3:
            assert rows(batch.tables, index) == rows(decode_dumps([buffer]).tables, 0)
    assert batch.tables["dumps"]["dump_index"].to_pylist() == [0, 1, 2, 4, 5, 6]


def test_short_dump_before_another_is_no_blob():
    assert len(TINY) < 36
    batch = decode_dumps([TINY, b"\1\0\0\0" * 16, TINY])
    assert batch.tables["dumps"]["dump_index"].to_pylist() == [0, 2]


def test_block_is_a_run_and_its_totals_are_in_dumps():
    tables = decode_dumps([BLOB]).tables
    assert tables["runs"]["name"].to_pylist() == ["default"] + ["run_model_loop"] * 6
    (row,) = tables["dumps"].to_pylist()
    assert row == {
        "dump_index": 0,
        "byte_count": len(BLOB),
        "schema_version": 1,
        "is_size_prefixed": False,
        "n_runs": 7,
        "n_events": 67,
        "n_flagged_events": 0,
        "n_allocations": 18,
        "n_debug_events": 0,
        "n_empty_events": 0,
    }


def test_blob_in_parts_is_the_blob(monkeypatch):
    whole = decode_dumps([BLOB]).tables
    monkeypatch.setattr(decode, "ARENA_BYTES", 4096)
    parts = [part.tables for part in stream_dump(BLOB)]
    assert len(parts) > 3
    for name in whole.keys() - {"event_signatures", "run_signatures"}:
        together = pa.concat_tables([part[name] for part in parts])
        assert sorted(map(str, together.to_pylist())) == sorted(map(str, whole[name].to_pylist()))


def test_malformed_blob_raises_by_name_in_a_stream():
    with pytest.raises(DumpError, match=r"^a\.prof: offset 18,280: .* \[truncated\]"):
        list(stream_dump(BLOB[: 18240 + 40], "a.prof"))


@pytest.mark.parametrize(
    ("limit", "blob"),
    [
        ("MOST_BLOB_BLOCKS", build_profiler_blob(*[block("a")] * 3)),
        ("MOST_BLOB_ENTRIES", build_profiler_blob(block("a", *[("e", 1, 2)] * 3))),
        ("MOST_BLOB_ENTRIES", build_profiler_blob(block("a", allocators=[("x", 1), ("y", 2)]),
                                             block("b", allocations=[(1, 8)]))),
    ],
    ids=["blocks", "events", "allocations"],
)  # fmt: skip
def test_blobs_are_limited(limit: str, blob: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiler_blob, limit, 3)
    assert decode_dumps([blob]).errors.num_rows == 0
    monkeypatch.setattr(profiler_blob, limit, 2)
    assert decode_dumps([blob]).errors["reason"].to_pylist() == ["blob_too_large"]


def test_blocks_beyond_the_limit_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    blob = build_profiler_blob(*[block("a")] * 3)
    monkeypatch.setattr(profiler_blob, "MOST_BLOB_BLOCKS", 2)
    errors = decode_dumps([blob + b"no block"]).errors
    assert errors["reason"].to_pylist() == ["blob_too_large"]


def test_distinct_events_of_a_blob_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dumps, profiler_blob):
        monkeypatch.setattr(module, "MOST_SIGNATURES", 20)
    names = [f"e{i}" for i in range(21)]
    halves = [block("a", *((e, 1, 2) for e in some)) for some in (names[:9], names[9:])]
    for blob in (
        build_profiler_blob(block("a", *((e, 1, 2) for e in names))),
        build_profiler_blob(*halves),
    ):
        assert decode_dumps([blob, TINY]).errors["reason"].to_pylist() == ["too_many_signatures"]
    few = build_profiler_blob(block("a", *((e, 1, 2) for e in names[:20] * 5)))
    assert decode_dumps([few]).tables["events"].num_rows == 100
