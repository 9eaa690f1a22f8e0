"""Runs that repeat another are recognised in real dumps, and only those."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.corpus import read_dump
from tests.support.etdump_builder import build_etdump
from tests.tools.fuzz import worst_cases
from tracehouse.ingest.etdump.arena import Arena
from tracehouse.ingest.etdump.repeats import Repeats, cut_pieces, find_repeats
from tracehouse.ingest.etdump.schema import read_headers


def repeats_of(*dumps: bytes) -> Repeats:
    arena = Arena(dumps)
    return find_repeats(arena, cut_pieces(arena, read_headers(arena)))


def recognised(repeats: Repeats) -> int:
    return sum(len(block.run) for block in repeats.blocks)


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("real/cnn_portable_n20", 18),  # all but the load, the first run, which is longer, and one
        ("real/mixed_xnnpack_n20", 18),
        ("real/cnn_xnnpack_n500", 498),
    ],
)
def test_runs_of_a_real_dump_repeat_one_template(name: str, runs: int) -> None:
    assert recognised(repeats_of(read_dump(name))) == runs


def test_runs_of_another_dump_of_the_program_repeat_the_same_template() -> None:
    dump = read_dump("real/cnn_portable_n20")
    repeats = repeats_of(*[dump] * 10)
    assert sum(len(part.run) for part in repeats.templates) == 3
    assert recognised(repeats) == 10 * 21 - 3 - 1  # the last piece of an arena is read in full


@pytest.mark.slow
def test_a_changed_word_is_a_run_of_its_own() -> None:
    dump = read_dump("real/cnn_portable_n20")
    whole = recognised(repeats_of(dump))
    arena = Arena([dump])
    start = int(read_headers(arena).run_word[10]) * 4
    changed = 0
    for word in range(start, start + 1512, 4):
        mutant = bytearray(dump)
        mutant[word] ^= 1
        changed += recognised(repeats_of(bytes(mutant))) == whole - 1
    # 21 events of 18 words; their 4 words of times may differ, and the run's own are compared.
    assert changed == 1512 // 4 - 21 * 4


def test_runs_with_more_than_profile_events_are_read_in_full() -> None:
    event = {"profile_event": {"name": "a", "start_time": 1, "end_time": 2}}
    allocation = {"allocation_event": {"allocator_id": 1, "allocation_size": 2}}
    plain = [{"name": "E", "events": [event]}] * 9
    mixed = [{"name": "E", "events": [event, allocation]}] * 9
    assert recognised(repeats_of(build_etdump({"run_data": plain}))) > 5
    assert recognised(repeats_of(build_etdump({"run_data": mixed}))) == 0


def test_visited_bytes_are_those_of_reading_in_full() -> None:
    dump = read_dump("real/cnn_portable_n20")
    repeats = repeats_of(dump)
    assert np.all(repeats.visited > 0.9 * 1512 * 19)
    assert np.all(repeats.visited < len(dump))


@pytest.mark.parametrize(("events", "runs"), [(31, 8), (32, 0)])
def test_a_template_leads_to_few_vtables(events: int, runs: int) -> None:
    """Two vtables per event and the run's; comparing thousands of them in each dump takes long."""
    dump = worst_cases.overlapping_vtables(10, events, 200)
    assert (recognised(repeats_of(dump)) > 0) == (runs > 0)


def test_only_what_is_read_of_a_vtable_is_compared() -> None:
    dump = worst_cases.overlapping_vtables(10, 4, 0xFFFE)
    changed = bytearray(dump)
    changed[-8 * 10 * 19 - 60_000] ^= 0xFF  # deep in all vtables, in slots that nobody knows
    one, both = repeats_of(dump), repeats_of(dump, bytes(changed))
    assert recognised(both) > recognised(one) + 5
