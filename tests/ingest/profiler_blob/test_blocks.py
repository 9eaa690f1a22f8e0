"""Profiler blobs: verified, and the same tables as ETDumps have."""

from __future__ import annotations

import struct
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.blob_builder import BLOCKS, block, build_profiler_blob
from tests.support.blob_reader import (
    BlobError,
    allocation_rows,
    cut,
    event_rows,
    read_plain,
    signed,
    text,
)
from tests.support.corpus import CORPUS, read_dump
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.etdump.layouts import SignatureBook
from tracehouse.ingest.profiler_blob import (
    Blocks,
    decode_profiler_blob,
    is_profiler_blob,
    read_blob,
)
from tracehouse.ingest.schemas.dumps import DECODED
from tracehouse.ingest.tables.build import (
    build_event_signatures,
    build_run_signatures,
    build_tables,
)

BLOBS_ON_DISK = sorted((CORPUS / "legacy").glob("*.prof"))


def plain(blocks: Blocks) -> list[dict]:
    found = [{"name": name} for name in blocks.names]
    for array in ("events", "allocators", "allocations"):
        rows = iter(blocks.rows(array).tolist())
        for one, count in zip(found, blocks.counts(array).tolist(), strict=True):
            one[array] = [tuple(map(cut, row)) for row in islice(rows, count)]
    return found


def verdict(blob: bytes) -> object:
    """The blocks, or reason and byte offset; whatever has blocks has tables."""
    try:
        blocks = plain(decode_profiler_blob(blob))
    except DumpError as error:
        return error.reason, error.byte_offset
    tables_of(blob)
    return blocks


def plain_verdict(blob: bytes) -> object:
    try:
        return read_plain(blob)
    except BlobError as error:
        return error.args


def tables_of(blob: bytes, part_bytes: int = 1 << 30) -> dict[str, pa.Table]:
    book = SignatureBook()
    size = np.array([len(blob)])
    read = read_blob(decode_profiler_blob(blob), book, part_bytes)
    parts = [build_tables(dumps, size) for dumps in read]
    return {
        **{name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]},
        "event_signatures": build_event_signatures(book),
        "run_signatures": build_run_signatures(book),
    }


def decoded_events(tables: dict[str, pa.Table]) -> list[dict]:
    """Events with readings of the clock and signatures in place of offsets and ids."""
    start_of = {row["run_index"]: row["start_ticks"] for row in tables["runs"].to_pylist()}
    signature_of = {
        row["event_signature_id"]: row for row in tables["event_signatures"].to_pylist()
    }
    rows = []
    for row in tables["events"].to_pylist():
        start = (int(start_of[row["run_index"]]) + row["start_offset_ticks"]) % 2**64
        duration = row["duration_ticks"] - (2**32 if row["flags"] == 1 else 0)
        signature = signature_of[row["event_signature_id"]]
        rows.append(
            {
                "run_index": row["run_index"],
                "name": signature["name"],
                "instruction_id": signature["instruction_id"],
                "chain_index": row["chain_index"],
                "start": start,
                "end": (start + duration) % 2**64,
                "flags": row["flags"],
            }
        )
    return sorted(rows, key=repr)


@given(BLOCKS)
def test_blocks_read_back_as_they_were_written(content):
    blob = build_profiler_blob(*content)
    assert plain(decode_profiler_blob(blob)) == read_plain(blob)


@given(BLOCKS, st.sampled_from([1, 200, 1 << 30]))
def test_tables_hold_every_value_of_the_blob(content, part_bytes):
    blob = build_profiler_blob(*content)
    blocks, tables = read_plain(blob), tables_of(blob, part_bytes)
    assert {name: table.schema for name, table in tables.items()} == DECODED
    assert decoded_events(tables) == event_rows(blocks)
    assert tables["allocations"].to_pylist() == allocation_rows(blocks)
    assert [row["name"] for row in tables["runs"].to_pylist()] == [
        text(block["name"]) for block in blocks
    ]
    assert tables["allocators"].to_pylist() == [
        {
            "dump_index": 0,
            "run_index": run,
            "allocator_id": signed((min(id_, 2**32 - 1) + 1) % 2**32),
            "name": text(name),
        }
        for run, block in enumerate(blocks)
        for name, id_ in block["allocators"]
    ]


@given(BLOCKS, st.data())
def test_broken_blob_gets_the_plain_readers_verdict(content, data):
    blob = bytearray(build_profiler_blob(*content))
    if blob:
        for place in data.draw(st.lists(st.integers(0, len(blob) - 1), max_size=3)):
            blob[place] ^= 1 << data.draw(st.integers(0, 7))
    broken = bytes(blob[: data.draw(st.integers(0, len(blob)))])
    assert verdict(broken) == plain_verdict(broken)


@pytest.mark.parametrize("path", BLOBS_ON_DISK, ids=lambda path: path.stem)
def test_every_cut_of_a_real_blob_gets_the_plain_readers_verdict(path):
    blob = path.read_bytes()
    for size in range(0, len(blob), max(len(blob) // 300, 1)):
        assert verdict(blob[:size]) == plain_verdict(blob[:size])


WHOLE = build_profiler_blob(block("a", ("x", 0, 1), ("y", 1, 2), room=(0, 0, 0)), block("b"))
FAULTS = {
    "no whole header": (WHOLE[:60], "truncated", 60),
    "bytes after the last block": (WHOLE + bytes(16), "truncated", len(WHOLE) + 16),
    "a cut event": (WHOLE[:170], "truncated", 170),
    "another version": (WHOLE[:32] + b"\2" + WHOLE[33:], "bad_version", 32),
    "another version later on": (
        WHOLE[:208] + b"\2" + WHOLE[209:],
        "bad_version",
        176 + 32,
    ),
    "more events than room": (WHOLE[:36] + b"\1" + WHOLE[37:], "count_over_capacity", 40),
    "more allocators than room": (WHOLE[:48] + b"\1" + WHOLE[49:], "count_over_capacity", 48),
    "more allocations than room": (WHOLE[:56] + b"\1" + WHOLE[57:], "count_over_capacity", 56),
    "counts over every file": (
        WHOLE[:36] + struct.pack("<2I", 2**32 - 1, 2**32 - 1) + WHOLE[44:],
        "truncated",
        len(WHOLE),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_malformed_blob_is_refused_with_reason_and_offset(name):
    blob, reason, byte_offset = FAULTS[name]
    with pytest.raises(DumpError, match=r"^a\.prof: offset") as caught:
        decode_profiler_blob(blob, "a.prof")
    assert (caught.value.reason, caught.value.byte_offset) == (reason, byte_offset)


def test_last_block_may_end_after_its_last_used_entry():
    blob = build_profiler_blob(block("a", ("x", 0, 1), room=(9, 9, 9)))
    assert plain(decode_profiler_blob(blob[: 64 + 56])) == read_plain(blob)
    with pytest.raises(DumpError):
        decode_profiler_blob(blob[: 64 + 55])


def test_capacities_beyond_any_file_are_not_added_up_in_32_bits():
    room = struct.pack("<I", 2**32 - 1)
    blob = bytearray(build_profiler_blob(block("a", ("x", 0, 1), room=(0, 0, 0))))
    for at in (36, 44, 52):
        blob[at : at + 4] = room
    assert plain(decode_profiler_blob(bytes(blob))) == read_plain(
        build_profiler_blob(block("a", ("x", 0, 1)))
    )


def test_a_profiler_blob_is_recognised_by_its_content():
    assert is_profiler_blob(WHOLE)
    assert is_profiler_blob(WHOLE[:36])
    assert not is_profiler_blob(WHOLE[:32])
    assert not is_profiler_blob(b"")
    assert not is_profiler_blob(WHOLE[:48] + b"\x09" + WHOLE[49:])
    assert not is_profiler_blob(WHOLE[:32] + b"\2" + WHOLE[33:])
    dump = bytearray(read_dump("real/load_only"))
    dump[32:36] = WHOLE[32:36]
    assert not is_profiler_blob(dump)


@pytest.mark.parametrize("path", BLOBS_ON_DISK, ids=lambda path: path.stem)
def test_real_blobs_are_recognised(path):
    assert is_profiler_blob(path.read_bytes()) == (path.stem != "hand_empty_file")


def test_iterations_share_signatures_and_stale_bytes_do_not_matter():
    event, stale = ("native_call_a", 0, 5), (b"native_call_a\0old", 7, 9)
    tables = tables_of(build_profiler_blob(block("run", event), block(b"run\0ner", stale)))
    assert tables["event_signatures"]["name"].to_pylist() == ["native_call_a"]
    assert tables["event_signatures"]["kind"].to_pylist() == ["kernel"]
    assert tables["run_signatures"]["name"].to_pylist() == ["run"]


def test_name_that_is_not_utf8_keeps_its_bytes():
    letter_cut = b"x" * 31 + "é".encode()[:1]
    tables = tables_of(build_profiler_blob(block("a", (letter_cut, 0, 1))))
    (row,) = tables["event_signatures"].to_pylist()
    assert row["name"] == "x" * 31 + r"\xc3"
    assert row["name_hex"] == letter_cut.hex()


def test_event_that_never_ended_is_flagged_and_not_taken_for_a_wrap():
    tables = tables_of(
        build_profiler_blob(
            block("empty"),
            block("a", ("left open", 1000, 0), ("wraps", 1000, 999), ("instant", 0, 0)),
        ),
        part_bytes=1,
    )
    events = {row["start"]: row for row in decoded_events(tables) if row["name"] != "wraps"}
    assert events[1000]["flags"] == 2
    assert sorted(tables["events"]["flags"].to_pylist()) == [0, 1, 2]
    assert sorted(tables["events"]["duration_ticks"].to_pylist()) == [-1000, 0, 2**32 - 1]
    assert tables["dumps"]["n_flagged_events"].to_pylist() == [0, 1]


def test_allocator_is_the_blocks_own_or_the_last_one_before():
    tables = tables_of(
        build_profiler_blob(
            block("a", allocators=[("old", 0), ("kept", 1)], allocations=[(0, 1), (1, 2), (2, 3)]),
            block("b", allocators=[("new", 0)], allocations=[(0, 4), (1, 5)]),
            block("c", allocators=[("late", 2)], allocations=[(0, 6), (2, 2**32 - 1)]),
        )
    )
    assert tables["allocations"]["allocator"].to_pylist() == [
        "old", "kept", None, "new", "kept", "new", "late",
    ]  # fmt: skip
    assert [int(size) for size in tables["allocations"]["bytes"].to_pylist()][-1] == 2**32 - 1


def test_events_stand_in_the_order_of_the_events_table():
    blob = (CORPUS / "legacy" / "iterations.prof").read_bytes()
    events = tables_of(blob)["events"].to_pylist()
    keys = [
        (row["run_signature_id"], row["event_signature_id"], row["run_index"], row["occurrence"])
        for row in events
    ]
    seen = [key[:2] for key in keys]
    assert sum(one != two for one, two in pairwise(seen)) == len(set(seen)) - 1
    assert all(one[2:] < two[2:] for one, two in pairwise(keys) if one[:2] == two[:2])
