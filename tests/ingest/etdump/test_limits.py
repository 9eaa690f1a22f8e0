"""What one dump may become is limited: by its size and absolutely, alone and beside good dumps."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.support import plain_limits
from tests.support.corpus import dump_names, read_dump
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.support.reference_reader import DumpFault
from tests.tools.fuzz import worst_cases
from tests.tools.fuzz.bombs import bomb
from tests.tools.fuzz.checks import measure, read_or_fault
from tests.tools.fuzz.mutations import mutant
from tracehouse import decode_dumps
from tracehouse.ingest import decode
from tracehouse.ingest.etdump import arena, dumps, flatbuffer, layouts, long_runs
from tracehouse.ingest.etdump import schema as etdump
from tracehouse.ingest.etdump.arena import EXPANSION, EXPANSION_SLACK, LONGEST_NAME
from tracehouse.ingest.tables import build

GOOD = read_dump("real/mlp_portable_n1")
COMPANY = 250


def built(*events: dict[str, Any], **run: Any) -> bytes:
    return build_etdump({"run_data": [{"events": list(events)} | run]}, size_prefixed=False)


def profile(name: str, **fields: Any) -> dict[str, Any]:
    return {"profile_event": {"name": name} | fields}


def allocations(name: str, count: int) -> bytes:
    event = {"allocation_event": {"allocator_id": 1, "allocation_size": 8}}
    return built(*[event] * count, allocators=[{"name": name}])


def signatures_of_one_value(name: str, count: int) -> bytes:
    """The value's name stands in the signature of each profile event of its operator."""
    return built({"debug_event": {"name": name}}, *(profile(f"p{i}") for i in range(count)))


def reason(dump: bytes) -> str | None:
    reasons = [row["reason"] for row in decode_dumps([dump]).errors.to_pylist()]
    said = read_or_fault(dump)
    assert reasons == ([said.reason] if isinstance(said, DumpFault) else [])
    return reasons[0] if reasons else None


LONG = {
    "run": lambda name: built(name=name),
    "allocator": lambda name: built(allocators=[{"name": name}]),
    "profile event": lambda name: built(profile(name)),
    "delegate id": lambda name: built(profile("a", delegate_debug_id_str=name)),
    "value": lambda name: built({"debug_event": {"name": name}}),
}


@pytest.mark.parametrize("of", LONG)
def test_names_are_read_up_to_a_length_and_refused_beyond(of: str) -> None:
    assert reason(LONG[of]("n" * LONGEST_NAME)) is None
    assert reason(LONG[of]("n" * (LONGEST_NAME + 1))) == "name_too_long"


@pytest.mark.parametrize(
    ("dump", "rows"),
    [
        (worst_cases.one_name_of_tensors(3_000, b"n" * 300), 3_000),
        (allocations("n" * 3_000, 500), 500),
        (signatures_of_one_value("n" * 3_000, 500), 500),
    ],
    ids=["tensors", "allocations", "signatures"],
)
def test_text_repeated_by_rows_may_be_a_multiple_of_the_file(dump: bytes, rows: int) -> None:
    assert reason(dump) == "expands_too_much"
    paid = dump + bytes(3_000 * 500 // EXPANSION)
    assert reason(paid) is None


def test_budget_of_repeated_text_is_exact() -> None:
    dump = bytearray(worst_cases.one_name_of_tensors(1_000, b"n" * 100))
    needed = (1_000 * 100 + 100 - EXPANSION_SLACK) // EXPANSION  # a row each, and the signature
    room = needed - len(dump)
    assert room > 0
    assert reason(bytes(dump) + bytes(room + 1)) is None
    assert reason(bytes(dump) + bytes(room - 4)) == "expands_too_much"


def many_events(count: int) -> bytes:
    return worst_cases.distinct_events(count)


def many_runs(count: int) -> bytes:
    return worst_cases.distinct_runs(count) + bytes(4 * count)


def many_events_in_runs(count: int) -> bytes:
    """Runs of one event each, all distinct."""
    runs = [{"events": [profile("e", instruction_id=i)]} for i in range(count)]
    return build_etdump({"run_data": runs}, size_prefixed=False)


def many_outputs(count: int) -> bytes:
    """Events that are no signature, but distinct."""
    value = {"val": "Int", "int_value": {"int_val": 1}, "output": {"bool_val": True}}
    events = ({"debug_event": {"instruction_id": i, "debug_entry": value}} for i in range(count))
    return built(*events)


MANY = [many_events, many_runs, many_events_in_runs, many_outputs]


def allow_signatures(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    for module in (layouts, dumps, long_runs, plain_limits):
        monkeypatch.setattr(module, "MOST_SIGNATURES", count)


@pytest.mark.slow
@pytest.mark.parametrize("make", cross_section(MANY, 3))
@pytest.mark.parametrize("company", [0, 1, 30])
def test_dumps_with_too_many_signatures_are_refused_and_no_others(
    make: Callable[[int], bytes], company: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_signatures(monkeypatch, 600)
    assert (reason(make(600)), reason(make(601))) == (None, "too_many_signatures")
    others = [make(600 - i) for i in range(company)]
    batch = decode_dumps([make(601), *others])
    assert batch.errors["reason"].to_pylist() == ["too_many_signatures"]
    assert batch.tables["dumps"].num_rows == company


@pytest.mark.parametrize("company", [0, 3])
def test_events_of_distinct_runs_are_counted(company: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (dumps, plain_limits):
        monkeypatch.setattr(module, "MOST_SIGNATURE_EVENTS", 200)
    many = worst_cases.loops_in_any_order(21, 10)
    few = worst_cases.loops_in_any_order(20, 10)
    assert (reason(few), reason(many)) == (None, "too_many_signatures")
    batch = decode_dumps([many, *[few] * company])
    assert batch.tables["dumps"].num_rows == company


def test_runs_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (etdump, plain_limits):
        monkeypatch.setattr(module, "MOST_RUNS", 40)
    assert reason(worst_cases.tiny_runs(40)) is None
    assert reason(worst_cases.tiny_runs(41)) == "too_many_runs"


BOMBS: dict[str, Callable[[], bytes]] = {
    "vtables that overlap": lambda: worst_cases.overlapping_vtables(8, 4_000),
    "a name by tensors": lambda: worst_cases.one_name_of_tensors(10_000, b"n" * 60_000),
    "a name by tensors, too long": lambda: worst_cases.one_name_of_tensors(10_000, b"n" * 215_000),
    "a name by tensors, paid for": lambda: worst_cases.one_name_of_tensors(60_000, b"n" * 60),
    "a name by allocations": lambda: allocations("n" * 60_000, 5_000),
    "a name by signatures": lambda: signatures_of_one_value("n" * 60_000, 3_000),
    "loops in any order": lambda: worst_cases.loops_in_any_order(100, 500),
    "empty events": lambda: worst_cases.empty_events(250_000),
    "runs of all lengths": lambda: worst_cases.lengths_of_all_kinds(500),
    "signatures, many": lambda: worst_cases.distinct_events(40_000),
    "signatures, too many": lambda: worst_cases.distinct_events(100_001),
    "run signatures, too many": lambda: worst_cases.distinct_runs(100_001) + bytes(400_000),
}
PATIENCE = 10.0  # times the time that is documented, on machines that are busy


@pytest.mark.parametrize("name", cross_section(BOMBS, 5))
def test_bombs_take_time_and_memory_by_their_size(name: str) -> None:
    dump = BOMBS[name]()
    assert measure(dump).excess(len(dump), times=64, slack=PATIENCE) is None


@pytest.mark.parametrize("name", cross_section(BOMBS, 6))
def test_bombs_cost_only_themselves_in_company(name: str) -> None:
    dump = BOMBS[name]()
    company = [GOOD] * COMPANY
    decode_dumps(company)
    start = time.process_time()
    batch = decode_dumps([*company[:99], dump, *company[99:]])
    seconds = time.process_time() - start
    assert set(batch.errors["dump_index"].to_pylist()) <= {99}
    assert batch.tables["dumps"].num_rows >= COMPANY
    assert seconds < PATIENCE * (0.020 + 1e-6 * (len(dump) + COMPANY * len(GOOD)))


@pytest.mark.slow
def test_many_bad_dumps_cost_a_few_milliseconds_each() -> None:
    dumps = [mutant(seed) for seed in range(300)]
    dumps += [bomb(random.Random(seed)) for seed in range(200)]  # noqa: S311
    refused = {i for i, dump in enumerate(dumps) if isinstance(read_or_fault(dump), DumpFault)}
    assert len(refused) > 150
    start = time.process_time()
    batch = decode_dumps([GOOD] * COMPANY + dumps)
    seconds = time.process_time() - start
    assert set(batch.errors["dump_index"].to_pylist()) == {COMPANY + i for i in refused}
    assert seconds < PATIENCE * 0.007 * len(dumps)


def test_signatures_of_many_dumps_are_one_row_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_FULL", 50)
    monkeypatch.setattr(decode, "ARENA_BYTES", 1 << 12)
    dumps = [worst_cases.distinct_events(10 * count) for count in (3, 9, 2, 8, 5)]
    tables = decode_dumps(dumps).tables
    assert tables["events"].num_rows == 270
    for name, rows in (("event_signatures", 90), ("run_signatures", 5)):
        ids = tables[name].column(0).to_pylist()
        assert len(ids) == len(set(ids)) == rows


def test_real_dumps_are_far_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    real = [read_dump(name) for name in dump_names("real", "capi", "upstream")]
    refused = decode_dumps(real).errors.num_rows
    monkeypatch.setattr(arena, "EXPANSION", 1)
    monkeypatch.setattr(arena, "EXPANSION_SLACK", 1_000)
    monkeypatch.setattr(flatbuffer, "LONGEST_NAME", LONGEST_NAME // 100)
    for module in (layouts, dumps, long_runs):
        monkeypatch.setattr(module, "MOST_SIGNATURES", 1_000)
    assert decode_dumps(real).errors.num_rows == refused


@pytest.mark.slow
def test_good_dumps_are_not_read_again_for_each_bad_one(monkeypatch: pytest.MonkeyPatch) -> None:
    dumps = [mutant(seed) for seed in range(600)]
    bad = [dump for dump in dumps if isinstance(read_or_fault(dump), DumpFault)]
    laid_out = []

    class CountingArena(arena.Arena):
        def __init__(self, buffers: Sequence[bytes]) -> None:
            laid_out.append(sum(map(len, buffers)))
            super().__init__(buffers)

    monkeypatch.setattr(decode, "Arena", CountingArena)
    calls = [GOOD] * COMPANY + bad
    assert decode_dumps(calls).tables["dumps"].num_rows == COMPANY
    assert sum(laid_out) < 20 * sum(map(len, calls))
