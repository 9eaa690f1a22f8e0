"""A run too large to be read in one go has the rows that it has when read at once."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings

from tests.support.corpus import dump_names, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.etdump_strategies import etdumps
from tests.tools.fuzz import worst_cases
from tests.tools.fuzz.checks import check_batch, parts_of, read_or_fault
from tracehouse import decode_dumps, stream_dump
from tracehouse.ingest import decode
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.etdump import long_runs
from tracehouse.ingest.etdump import runs as events

SMALL = [name for name in dump_names("real", "capi", "synthetic") if len(read_dump(name)) < 6_000]
LOOP = 3_000
PARTS = [(1, 1), (150, 3), (1 << 20, 2)]  # a quick test tries one of them on each dump


def loop(count: int, **run: Any) -> bytes:
    """One run of a loop over ten operators: every event logs a value and takes a tick longer."""
    events = []
    for i in range(count):
        ids = {"instruction_id": i % 10, "delegate_debug_id_str": f"id {i % 10}"}
        times = {"start_time": 5_000 - i, "end_time": 5_000 + i}
        metadata = {"delegate_debug_metadata": b"m%d" % i} if i % 7 == 0 else {}
        value = {"val": "Int", "int_value": {"int_val": i}}
        events.append({"debug_event": {"name": "d", "debug_entry": value, "chain_index": 0} | ids})
        events.append({"profile_event": {"name": f"op {i % 10}"} | ids | times | metadata})
        if i % 5 == 0:
            events.append({"allocation_event": {"allocator_id": 2, "allocation_size": i}})
    allocators = [{"name": "one"}, {"name": "two"}]
    runs = [{"name": "Execute", "allocators": allocators, "events": events} | run]
    return build_etdump({"run_data": [{"events": []}, *runs, {"name": "last"}]})


def rows(tables: dict[str, pa.Table]) -> dict[str, list[str]]:
    return {name: sorted(map(str, table.to_pylist())) for name, table in tables.items()}


@pytest.mark.parametrize(
    ("name", "part"),
    [
        pytest.param(
            name, part, marks=[] if number % (2 * len(PARTS)) == place else [pytest.mark.slow]
        )
        for number, name in enumerate(SMALL)
        for place, part in enumerate(PARTS)
    ],
)
def test_real_runs_cut_anywhere_have_the_rows_of_the_reference_reader(
    name: str, part: tuple[int, int]
) -> None:
    dump = read_dump(name)
    with parts_of(*part):
        assert check_batch([dump], [read_or_fault(dump)]).differences == {}


@pytest.mark.slow
@given(etdumps())
@settings(deadline=None)
def test_any_run_cut_anywhere_has_the_rows_of_the_reference_reader(content: Any) -> None:
    dump = build_etdump(content)
    for part in ((1, 2), (60, 3)):
        with parts_of(*part):
            assert check_batch([dump], [read_or_fault(dump)]).differences == {}


@pytest.mark.slow
def test_parts_of_a_run_come_in_order_and_the_row_of_the_run_once() -> None:
    dump = loop(LOOP)
    whole = decode_dumps([dump]).tables
    with parts_of(1 << 14, 400):
        parts = [part.tables for part in stream_dump(dump)]
    together = {name: pa.concat_tables([part[name] for part in parts]) for name in whole}
    assert rows(together) == rows(whole)
    assert len(parts) > 10
    assert together["runs"]["n_events"].to_pylist() == [0, LOOP, 0]
    assert together["dumps"]["n_runs"].to_pylist() == [3]
    assert together["allocators"].num_rows == 2
    starts = [pc.max(part["events"]["start_offset_ticks"]).as_py() for part in parts]
    found = [start for start in starts if start is not None]
    assert found == sorted(found, reverse=True)  # the clock runs backwards, part after part
    assert pc.min(together["events"]["start_offset_ticks"]).as_py() == 0
    assert pc.max(together["events"]["occurrence"]).as_py() == LOOP // 10 - 1


def test_a_fault_in_the_last_event_of_a_run_is_found_before_any_part_of_it() -> None:
    dump = bytearray(worst_cases.distinct_events(100))
    dump[-16:-12] = b"\xff" * 4
    with parts_of(1, 5), pytest.raises(DumpError, match="vtable"):
        next(stream_dump(bytes(dump)))


@pytest.mark.slow
def test_a_run_that_is_read_twice_counts_once_towards_the_limit() -> None:
    dump = worst_cases.empty_events(1_000)  # all of its bytes are visited
    with parts_of(1, 100):
        assert decode_dumps([dump]).errors.num_rows == 0
    assert decode_dumps([dump]).tables["dumps"]["n_empty_events"].to_pylist() == [1_000]


@pytest.mark.parametrize(
    ("dump", "reason"),
    [
        (worst_cases.one_name_of_tensors(5_000), "event_too_large"),
        (build_etdump({"run_data": [{"allocators": [{}] * 5_000}]}), "event_too_large"),
        (worst_cases.one_name_of_tensors(500, b"n" * 50), "expands_too_much"),
    ],
    ids=["tensors", "allocators", "text"],
)
def test_an_event_too_large_for_a_part_is_refused(
    dump: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_runs, "MOST_EVENT_BYTES", 10_000)
    for module in (events, long_runs):
        monkeypatch.setattr(module, "MOST_PART_TEXT", 10_000)
    with parts_of(1, 5):
        assert decode_dumps([dump]).errors["reason"].to_pylist() == [reason]


@pytest.mark.slow
def test_distinct_events_of_a_long_run_are_counted_as_they_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_runs, "MOST_SIGNATURES", 700)
    with parts_of(1, 50):
        assert decode_dumps([worst_cases.distinct_events(700)]).errors.num_rows == 0
        (error,) = decode_dumps([worst_cases.distinct_events(701)]).errors.to_pylist()
    assert error["reason"] == "too_many_signatures"


@pytest.mark.slow
def test_memory_for_a_long_run_is_a_few_numbers_per_event() -> None:
    """Its row of the events table alone is 60 bytes, what is read of it some 400."""
    peaks = []
    for count in (60_000, 300_000):
        dump = worst_cases.distinct_events(count, kinds=100)
        tracemalloc.start()
        with parts_of(1 << 20, 4_096):
            parts = [part.tables["events"].num_rows for part in stream_dump(dump)]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert sum(parts) == count
        assert max(parts) <= 4_096
    assert peaks[1] - peaks[0] < 100 * (300_000 - 60_000)


def test_dumps_that_fill_an_arena_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dumps are aligned to 8 bytes in it, which may take more room than they have."""
    dumps = [worst_cases.distinct_events(count) + bytes(1) for count in (50, 51, 52)]
    monkeypatch.setattr(decode, "ARENA_BYTES", sum(map(len, dumps)))
    for module in (events, long_runs):
        monkeypatch.setattr(module, "PART_BYTES", 1)
    tables = decode_dumps(dumps).tables
    assert tables["dumps"]["n_events"].to_pylist() == [50, 51, 52]
    assert tables["events"].column("dump_index").num_chunks == 1
