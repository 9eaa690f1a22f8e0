"""Repeats of what was read before are decoded as if they were read in full, in limited memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.corpus import dump_names, read_dump, read_golden
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tracehouse import DecodedBatch, decode_dumps
from tracehouse.ingest.etdump import layouts, templates
from tracehouse.ingest.etdump.arena import Arena, Scope
from tracehouse.ingest.etdump.repeats import find_times
from tracehouse.ingest.etdump.runs import recall_dump
from tracehouse.ingest.etdump.schema import read_headers, read_runs
from tracehouse.ingest.etdump.templates import TEMPLATES

_SMALL = [
    name
    for name in dump_names("real")
    if len(read_dump(name)) < 1 << 17 and "flatc_exception" not in read_golden(name)
]


def know(dump: bytes) -> None:
    """Decode a dump until it is known."""
    for _ in range(2):
        decode_dumps([dump])


def read_in_full(dump: bytes, monkeypatch: pytest.MonkeyPatch) -> DecodedBatch:
    with monkeypatch.context() as context:
        context.setattr(TEMPLATES, "known", {})
        return decode_dumps([dump])


def with_other_times(dump: bytes) -> bytes:
    arena = Arena([dump])
    heads = read_headers(arena)
    runs = read_runs(Scope.of_dumps(arena, heads.run_dump), heads.run_word)
    words = np.concatenate(find_times(runs.profiles.tables))
    units = np.frombuffer(dump + bytes(-len(dump) % 8), np.uint64).copy()
    times = np.random.default_rng(1).integers(0, 2**64, len(words), np.uint64)
    units[words[words >= 0] >> 1] = times[words >= 0]
    return units.tobytes()[: len(dump)]


@pytest.mark.parametrize("name", cross_section(_SMALL, 8))
def test_a_repeat_with_other_times_decodes_as_if_read_in_full(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = read_dump(name)
    know(dump)
    for other in (dump, with_other_times(dump)):
        assert recall_dump(other)
        assert decode_dumps([other]) == read_in_full(other, monkeypatch)


def test_a_dump_with_any_other_byte_is_read_in_full() -> None:
    dump = read_dump("real/mlp_xnnpack_n1")
    know(dump)
    changed = np.frombuffer(with_other_times(dump), np.uint8) != np.frombuffer(dump, np.uint8)
    for place in range(len(dump)):
        other = bytearray(dump)
        other[place] ^= 1
        assert recall_dump(bytes(other)) is None or changed[place & ~7 : (place & ~7) + 8].any()


@pytest.mark.parametrize("bits", [1, 8])
def test_damaged_dumps_get_the_same_answer(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dump, chance = read_dump("real/identity_portable_n3"), np.random.default_rng(bits)
    know(dump)
    for _ in range(60):
        other = bytearray(dump)
        for _ in range(bits):
            other[chance.integers(len(other))] ^= 1 << int(chance.integers(8))
        assert decode_dumps([other]) == read_in_full(bytes(other), monkeypatch)


def test_a_time_that_is_also_a_name_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the second event is read from the bytes of the first one's start."""

    def overlapping(name: bytes) -> bytes:
        time = int.from_bytes(b"\3\0\0\0" + name + b"\0", "little")
        events = [
            {"profile_event": {"name": "first", "start_time": time, "end_time": 9}},
            {"profile_event": {"name": "other", "start_time": 5, "end_time": 6}},
        ]
        dump = bytearray(build_etdump({"run_data": [{"name": "E", "events": events}]}))
        arena = Arena([dump])
        heads = read_headers(arena)
        tables = read_runs(Scope.of_dumps(arena, heads.run_dump), heads.run_word).profiles.tables
        start = int(find_times(tables)[0][0])
        slots = tables.word + (tables.offset(0) >> 2)
        slot = int(slots[slots < start][-1])  # offsets lead forward
        dump[slot * 4 : slot * 4 + 4] = ((start - slot) * 4).to_bytes(4, "little")
        return bytes(dump)

    know(overlapping(b"abc"))
    assert recall_dump(overlapping(b"abc")) is None
    other = decode_dumps([overlapping(b"xyz")])
    assert "xyz" in other.tables["event_signatures"]["name"].to_pylist()
    assert other == read_in_full(overlapping(b"xyz"), monkeypatch)


def test_a_size_whose_dumps_never_repeat_is_rarely_studied() -> None:
    dumps = [
        build_etdump({"run_data": [{"name": f"{number:04}", "events": []}]}) for number in range(40)
    ]
    for dump in dumps:
        decode_dumps([dump])
    found = [number for number, dump in enumerate(dumps, 1) if recall_dump(dump)]
    assert found == [2, 4, 8, 16, 32]


def named(*names: str) -> bytes:
    events = [{"profile_event": {"name": name, "instruction_id": 0}} for name in names]
    return build_etdump({"version": 0, "run_data": [{"name": "Execute", "events": events}]})


def known_layouts() -> int:
    return sum(isinstance(key, tuple) for key in TEMPLATES.known)


def test_known_dumps_take_limited_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["real/mlp_xnnpack_n1", "real/identity_portable_n3"]
    monkeypatch.setattr(templates, "_MOST_BYTES", 3 * len(read_dump(names[1])))
    for name in names:
        know(read_dump(name))
    know(read_dump(names[1]))  # others may have been forgotten for it
    assert recall_dump(read_dump(names[1]))
    assert TEMPLATES.byte_count <= templates._MOST_BYTES


def test_dumps_of_one_program_are_grouped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = decode_dumps([named("a", "b")])
    monkeypatch.setattr(layouts, "group_events", lambda _: pytest.fail("grouped again"))
    assert decode_dumps([named("a", "b")]).tables == first.tables
    assert known_layouts() == 1


def test_the_number_of_cached_layouts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "_MOST_BYTES", 5 * layouts._EVENT_BYTES)
    decode_dumps([named("a", "b"), named("c", "d")])
    assert known_layouts() == 2
    decode_dumps([named("e", "f"), named(*"abcdef")])  # the latter is too large to be kept
    assert known_layouts() == 1


def test_a_layout_with_long_texts_is_not_kept() -> None:
    batch = decode_dumps([named(*(f"{number:060000}" for number in range(150)))])
    assert batch.tables["events"].num_rows == 150
    assert not known_layouts()
