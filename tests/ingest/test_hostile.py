"""Broken dumps are refused for the right reason or decode like the reference, and harm no other."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator

import flatbuffers
import pytest

from ingest import decode_dumps
from tests.support.corpus import dump_names, read_dump
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.support.plain_rows import decoded_rows, reference_rows
from tests.support.reference_reader import DumpFault, read_reference

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

# Small dumps that between them hold every kind of table.
VICTIMS = (
    "capi/names_static",
    "capi/values",
    "real/cnn_portable_n1_debug",
    "real/failed_run_middle_debug",
    "real/mlp_xnnpack_n1",
    "real/traced_str_n1_debug",
    "synthetic/allocations",
    "synthetic/debug_and_two_profiles.noprefix",
    "synthetic/delegate_ids",
    "synthetic/values_all.noprefix",
    "upstream/tutorial",
)


def test_every_hostile_file_has_a_verdict():
    assert set(dump_names("hostile")) == HOSTILE.keys()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_refused_for_its_reason(name):
    assert _refusals([read_dump(name)]) == {0: HOSTILE[name]}


def _flip_bits(dump: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 4))):
        dump[rng.randrange(len(dump))] ^= 1 << rng.randrange(8)


def _overwrite_word(dump: bytearray, rng: random.Random) -> None:
    word = rng.choice((0, 1, 4, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(dump), len(dump) - 4))
    struct.pack_into("<I", dump, 4 * rng.randrange(len(dump) // 4), word)


def _nudge_word(dump: bytearray, rng: random.Random) -> None:
    at = 4 * rng.randrange(len(dump) // 4)
    (word,) = struct.unpack_from("<I", dump, at)
    struct.pack_into("<I", dump, at, (word + rng.choice((-8, -4, -1, 1, 4, 8, 64))) % 2**32)


def _cut_and_mend(dump: bytearray, rng: random.Random) -> None:
    """Cut the end off, and make the size prefix agree."""
    del dump[rng.randrange(16, len(dump)) :]
    if dump[8:12] == b"ED00":
        struct.pack_into("<I", dump, 0, len(dump) - 4)


@pytest.mark.parametrize(
    "mutate", cross_section([_flip_bits, _overwrite_word, _nudge_word, _cut_and_mend], 3)
)
@pytest.mark.parametrize("name", VICTIMS)
def test_mutants_get_the_verdict_and_the_values_of_the_reference_reader(name, mutate):
    mutants = list(_mutants(read_dump(name), mutate, count=25))
    refused = {i for i, mutant in enumerate(mutants) if _is_refused_by_reference(mutant)}
    batch = decode_dumps(mutants)
    assert set(batch.errors.column("dump_index").to_pylist()) == refused
    accepted = {i: mutant for i, mutant in enumerate(mutants) if i not in refused}
    assert decoded_rows(batch) == reference_rows(accepted)


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


def _mutants(
    dump: bytes, mutate: Callable[[bytearray, random.Random], None], count: int
) -> Iterator[bytes]:
    rng = random.Random(f"{mutate.__name__} {len(dump)}")  # noqa: S311
    for _ in range(count):
        mutant = bytearray(dump)
        mutate(mutant, rng)
        yield bytes(mutant)


def _refusals(dumps: list[bytes]) -> dict[int, str]:
    errors = decode_dumps(dumps).errors.to_pylist()
    return {error["dump_index"]: error["reason"] for error in errors}


def _is_refused_by_reference(dump: bytes) -> bool:
    try:
        read_reference(dump)
    except DumpFault:
        return True
    return False


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
