"""What ExecuTorch's parser answers, but where docs/profiler-blobs.md says otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.blob_builder import block, build_profiler_blob
from tests.support.corpus import CORPUS
from tracehouse.ingest.errors import DumpError
from tracehouse.queries.profiler_blob import (
    FrameworkTax,
    ProfilerBlock,
    ProfilerTimeScale,
    build_profiler_blocks,
    profiler_blob_json,
)
from tracehouse.warehouse.errors import QueryError

NAMES = sorted(path.name.removesuffix(".prof") for path in (CORPUS / "legacy").glob("*.prof"))
SCALES = {
    "TIME_IN_NS": ProfilerTimeScale.NS,
    "TIME_IN_US": ProfilerTimeScale.US,
    "TIME_IN_MS": ProfilerTimeScale.MS,
    "CPU_CYCLES": ProfilerTimeScale.CYCLES,
}
REFUSALS = {"ValueError": QueryError, "error": DumpError, "AssertionError": DumpError}


@pytest.fixture
def read(tmp_path):
    """The blocks of a blob made of blocks; in cycles, so that times are ticks."""

    def read_(
        *blocks: Any, time_scale: ProfilerTimeScale = ProfilerTimeScale.CYCLES
    ) -> list[ProfilerBlock]:
        path = tmp_path / "a.prof"
        path.write_bytes(build_profiler_blob(*blocks))
        return build_profiler_blocks(path.read_bytes(), time_scale, name=path.name)

    return read_


def rounded_like_the_parser(blocks: list[ProfilerBlock]) -> dict[str, Any]:
    """The parser's answer from ours: rounded, and the tax of rounded times."""

    def rounded(times):
        return [round(time, 4) if isinstance(time, float) else time for time in times]

    profile = {
        block.name: [
            {
                "name": event.name,
                "ts": rounded(event.ts),
                "duration": rounded(event.duration),
                "chain_idx": event.chain_idx,
                "instruction_idx": event.instruction_idx,
            }
            for event in block.events
        ]
        for block in blocks
    }
    memory = {
        block.name: [
            {"allocator_name": total.allocator, "total_allocations_done": total.total_bytes}
            for total in block.memory
        ]
        for block in blocks
    }
    return {
        "prof_data": profile,
        "mem_data": memory,
        "framework_tax": {
            block.name: parsers_tax(profile[block.name]) for block in blocks if block.framework_tax
        },
    }


def parsers_tax(events: list[dict[str, Any]]) -> dict[str, Any]:
    execute = max(event["duration"] for event in events if "Method::execute" in event["name"])
    parts = [
        event["duration"]
        for event in events
        if "native_call" in event["name"] or "delegate_execute" in event["name"]
    ]
    taken = [sum(times) for times in zip(*parts, strict=True)]
    return {
        "exec_time": execute,
        "kernel_and_delegate_time": taken,
        "framework_tax": [
            round((whole - part) / whole, 4) * 100
            for whole, part in zip(execute, taken, strict=True)
        ],
    }


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_parsers_answer_follows_from_ours(name, scale):
    path = CORPUS / "legacy" / f"{name}.prof"
    golden = json.loads(path.with_suffix(".golden.json").read_text())["time_scales"][scale]
    exception = golden.pop("exception", {}).get("type")
    if exception in REFUSALS:
        with pytest.raises(REFUSALS[exception]):
            build_profiler_blocks(path.read_bytes(), SCALES[scale])
        return
    blocks = build_profiler_blocks(path.read_bytes(), SCALES[scale])
    if exception:
        assert exception == "UnicodeDecodeError"
        assert r"\x" in json.dumps(profiler_blob_json(blocks))
        return
    tables = golden.pop("profile_table", None)  # there only where it raised
    assert (tables is not None) == any(not block.events for block in blocks)
    assert rounded_like_the_parser(blocks) == golden


def test_framework_tax_is_worked_out_before_rounding(read):
    (only,) = read(
        block("b", ("Method::execute", 0, 100), ("native_call_a", 0, 70)),
        time_scale=ProfilerTimeScale.NS,
    )
    assert only.framework_tax == FrameworkTax([0.0001], [0.00007], [30.0])


def test_time_scale_is_the_unit_of_the_ticks_and_times_are_ms_or_cycles(read):
    for time_scale, duration in {"ns": 0.0015, "us": 1.5, "ms": 1500, "cycles": 1500}.items():
        (only,) = read(block("b", ("x", 0, 1500)), time_scale=ProfilerTimeScale(time_scale))
        assert only.events[0].duration == [duration]


def test_ticks_beyond_double_precision_are_exact_in_ms_and_cycles(read):
    (only,) = read(block("b", ("x", 2**53 + 1, 2**64 - 1)))
    assert only.events[0].ts == [2**53 + 1]
    assert only.events[0].duration == [2**64 - 2**53 - 2]
    assert only.wrong_count == 1


def test_name_ends_at_its_first_nul(read):
    (only,) = read(block(b"run\0ning", (b"abc\0xyz", 0, 1)), block("run", ("abc", 1, 2)))
    assert (only.name, only.iteration_count) == ("run", 2)
    assert [event.name for event in only.events] == ["abc"]


def test_letter_cut_at_32_bytes_fails_nothing(read):
    raw = b"x" * 31 + "é".encode()
    (only,) = read(block(raw[:32], (raw[:32], 0, 1), allocators=[(raw[:32], 0)]))
    assert only.name == only.events[0].name == "x" * 31 + r"\xc3"


def test_memory_is_that_of_one_iteration_beside_the_sum_of_all(read):
    once = block("b", allocators=[("a", 0), ("c", 1)], allocations=[(1, 2**32 - 1), (0, 5), (1, 1)])
    (only,) = read(once, once, once)
    assert only.memory == [("c", 2**32, 3 * 2**32), ("a", 5, 15)]


def test_iterations_that_name_an_allocator_differently_count_for_each_name(read):
    named, renamed = (
        block("b", allocators=[(name, 0)], allocations=[(0, 5), (0, 1)]) for name in ("old", "new")
    )
    (only,) = read(named, renamed, renamed)
    assert only.memory == [("old", 6, 6), ("new", 6, 12)]


def test_later_block_does_not_rename_the_allocators_of_earlier_ones(read):
    first, second, third = read(
        block("one", allocators=[("old", 0)], allocations=[(0, 1)]),
        block("two", allocators=[("new", 0)], allocations=[(0, 2)]),
        block("three", allocations=[(0, 3)]),
    )
    assert [one.memory for one in (first, second, third)] == [
        [("old", 1, 1)], [("new", 2, 2)], [("new", 3, 3)],
    ]  # fmt: skip


def test_an_unnamed_allocator_has_no_name(read):
    (only,) = read(block("b", allocations=[(7, 1), (8, 2)]))
    assert only.memory == [(None, 1, 1), (None, 2, 2)]


def test_execution_without_duration_has_no_percentage(read):
    (only,) = read(block("b", ("Method::execute", 5, 5), ("native_call_a", 5, 5)))
    assert only.framework_tax == FrameworkTax([0], [0], [None])


def test_longest_execution_is_chosen_per_iteration(read):
    (only,) = read(
        block("b", ("Method::execute", 0, 9), ("Method::execute", 9, 10), ("native_call_a", 0, 1)),
        block("b", ("Method::execute", 0, 5), ("Method::execute", 5, 55), ("native_call_a", 0, 1)),
    )
    assert only.framework_tax is not None
    assert only.framework_tax.exec_time == [9, 50]


def test_tax_needs_an_execution_and_what_it_executed(read):
    assert read(block("b", ("Method::execute", 0, 1)))[0].framework_tax is None
    assert read(block("b", ("native_call_a", 0, 1)))[0].framework_tax is None
    assert read(block("b"))[0].framework_tax is None


def test_negative_duration_is_given_as_logged_and_counted(read):
    (only,) = read(block("b", ("x", 10, 4), ("y", 2**63, 5), ("z", 0, 1)))
    assert [event.duration for event in only.events] == [[-6], [5 - 2**63], [1]]
    assert only.wrong_count == 2


DIFFERENCES = {
    "1 and 2 events": ({"events": 1}, {"events": 2}),
    "event 0 is 'x0' and 'y0'": ({"events": 1}, {"events": 1, "letter": "y"}),
    "0 and 1 allocations": ({}, {"allocations": [(0, 1)]}),
    "allocation 1 is 5 bytes of allocator 0 and 5 of allocator 1": (
        {"allocations": [(0, 1), (0, 5)]},
        {"allocations": [(0, 1), (1, 5)]},
    ),
    "allocation 0 is 1,000 bytes of allocator 0 and 2,000 of allocator 0": (
        {"allocations": [(0, 1000)]},
        {"allocations": [(0, 2000)]},
    ),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_iterations_that_differ_are_refused(read, difference):
    def made(events: int = 0, letter: str = "x", **fields: Any) -> Any:
        return block("b", *[(f"{letter}{i}", i, i + 1) for i in range(events)], **fields)

    base, other = (made(**fields) for fields in DIFFERENCES[difference])
    with pytest.raises(QueryError) as caught:
        read(base, base, block("another"), other)
    assert f"a.prof: block 'b': {difference} in iterations 0 and 2, wanted" in str(caught.value)


def test_json_has_every_block_of_the_blob(read):
    blocks = read(
        block("load"),
        block("run", ("Method::execute", 1, 11), ("native_call_a", 2, 7), allocations=[(0, 3)]),
    )
    assert profiler_blob_json(blocks) == {
        "profile": {
            "load": [],
            "run": [
                {
                    "name": name,
                    "chain_index": -1,
                    "instruction_id": 0,
                    "start": [start],
                    "duration": [duration],
                }
                for name, start, duration in [("Method::execute", 1, 10), ("native_call_a", 2, 5)]
            ],
        },
        "memory": {
            "load": [],
            "run": [{"allocator": None, "total_bytes": 3, "all_iterations_bytes": 3}],
        },
        "framework_tax": {
            "run": {
                "exec_time": [10],
                "kernel_and_delegate_time": [5],
                "framework_tax_percent": [50.0],
            }
        },
    }


def test_missing_corpus_would_be_noticed():
    assert len(NAMES) == len(list(Path(CORPUS / "legacy").glob("*.golden.json"))) == 18
