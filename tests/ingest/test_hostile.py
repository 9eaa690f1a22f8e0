"""Broken dumps are refused for the right reason or decode like the reference, and harm no other."""

from __future__ import annotations

import random
import struct

import flatbuffers
import pytest

from tests.support.corpus import dump_names, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.plain_rows import decoded_rows, reference_rows
from tracehouse import decode_dumps

HOSTILE = {
    "hostile/all_zero": "bad_identifier",
    "hostile/an_etrecord": "bad_identifier",
    "hostile/bad_identifier": "bad_identifier",
    "hostile/bitflip_1": "vtable_out_of_bounds",
    "hostile/bitflip_4": "offset_out_of_bounds",
    "hostile/bitflip_5": "offset_out_of_bounds",
    "hostile/bitflip_6": "offset_out_of_bounds",
    "hostile/bitflip_7": "field_out_of_bounds",
    "hostile/json_text": "bad_identifier",
    "hostile/size_prefix_huge": "bad_size_prefix",
    "hostile/size_prefix_minus_eight": "bad_size_prefix",
    "hostile/size_prefix_zero": "bad_size_prefix",
    "hostile/trailing_garbage": "bad_size_prefix",
    "hostile/truncated_00003": "truncated",
    "hostile/truncated_00004": "truncated",
    "hostile/truncated_00008": "truncated",
    "hostile/truncated_00012": "truncated",
    "hostile/truncated_00100": "bad_size_prefix",
    "hostile/two_dumps_concatenated": "bad_size_prefix",
    "hostile/vector_length_huge": "vector_out_of_bounds",
}


def test_every_hostile_file_has_a_verdict():
    assert set(dump_names("hostile")) == HOSTILE.keys()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_refused_for_its_reason(name):
    assert _refusals([read_dump(name)]) == {0: HOSTILE[name]}


def test_every_truncation_of_a_sized_dump_is_refused():
    dump = read_dump("real/load_only")
    refused = _refusals([dump[:size] for size in range(len(dump))])
    assert len(refused) == len(dump)
    assert set(refused.values()) == {"empty", "truncated", "bad_size_prefix"}


def test_refusal_says_where_and_what():
    dump = bytearray(read_dump("real/load_only"))
    struct.pack_into("<I", dump, 4, 0)
    (error,) = decode_dumps([dump]).errors.to_pylist()
    assert (error["reason"], error["byte_offset"]) == ("offset_out_of_bounds", 4)
    assert error["detail"]


@pytest.mark.parametrize("field", ["name", "delegate_debug_id_str"])
def test_string_without_its_nul_is_refused(field):
    event = {"profile_event": {field: "wxyz"}}
    dump = build_etdump({"run_data": [{"events": [event]}]}, size_prefixed=False)
    at = dump.index(b"wxyz\0") + 4
    (error,) = decode_dumps([dump[:at] + b"!" + dump[at + 1 :]]).errors.to_pylist()
    assert (error["reason"], error["byte_offset"]) == ("string_unterminated", at)


@pytest.mark.parametrize("depth", [2, 3])
def test_shared_tables_cannot_multiply(depth):
    bomb = _bomb(fan_out=60, depth=depth)
    assert _refusals([bomb, read_dump("real/load_only")]) == {0: "shared_bytes"}


def test_bad_dumps_change_nothing_about_the_others_in_a_batch():
    good = [read_dump(name) for name in ("real/load_only", "real/mlp_xnnpack_n1", "capi/values")]
    bad = [read_dump(name) for name in HOSTILE]
    rng = random.Random(20261121)  # noqa: S311
    batch = [rng.choice(good) for _ in range(500)]
    places = sorted(rng.sample(range(500), len(bad)))
    for place, dump in zip(places, bad, strict=True):
        batch[place] = dump
    decoded = decode_dumps(batch)
    assert decoded.errors.column("dump_index").to_pylist() == places
    intact = {i: dump for i, dump in enumerate(batch) if i not in places}
    assert decoded_rows(decoded) == reference_rows(intact)


def test_a_batch_of_only_bad_dumps_gives_empty_tables():
    batch = decode_dumps([b"", b"ED00", read_dump("hostile/bitflip_1")])
    assert batch.errors.column("dump_index").to_pylist() == [0, 1, 2]
    assert {table.num_rows for table in batch.tables.values()} == {0}


def _refusals(dumps: list[bytes]) -> dict[int, str]:
    errors = decode_dumps(dumps).errors.to_pylist()
    return {error["dump_index"]: error["reason"] for error in errors}


def _bomb(*, fan_out: int, depth: int) -> bytes:
    """A dump whose vectors point at one table many times: runs, events, then logged tensors."""
    builder = flatbuffers.Builder()

    def table(slot: int, target: int) -> int:
        builder.StartObject(slot + 1)
        builder.PrependUOffsetTRelativeSlot(slot, target, 0)
        return int(builder.EndObject())

    def vector(target: int) -> int:
        builder.StartVector(4, fan_out, 4)
        for _ in range(fan_out):
            builder.PrependUOffsetTRelative(target)
        return int(builder.EndVector())

    if depth == 3:
        tensors = vector(table(3, 0))
        event = table(2, table(2, table(2, table(0, tensors))))
    else:
        event = table(0, table(0, builder.CreateString("x" * 1_000)))
    run = table(3, vector(event))
    builder.Finish(table(1, vector(run)), file_identifier=b"ED00")
    return bytes(builder.Output())
