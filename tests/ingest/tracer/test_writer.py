"""ETDumpWriter writes what ExecuTorch's tracer writes, and more where that fails.

R numbers name bugs of the runtime; docs/etdump-format.md lists them.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import read_dump
from tests.support.plain_rows import Rows, decoded_rows, reference_rows
from tests.support.reference_reader import is_size_prefixed, read_reference
from tests.support.runtime_calls import CALLS, VALUES_START, make_writer
from tests.support.traced_blocks import (
    BLOCKS,
    comparable,
    read_block,
    read_value,
    trace_block,
    write,
)
from tracehouse import ETDumpWriter, decode_dumps
from tracehouse.ingest.errors import EntryError, NoBlockError
from tracehouse.ingest.tracer.event_tracer import Tensor


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_runtimes_calls_make_the_runtimes_dump(name):
    dump = make_writer(name).finish().etdump
    assert is_size_prefixed(dump)
    assert len(dump) % 8 == 0
    start = VALUES_START if name == "capi/values" else 0
    assert _rows(dump) == _rows(read_dump(name), debug_buffer_start=start)


@given(st.lists(BLOCKS, min_size=1, max_size=3))
def test_any_traced_blocks_are_read_back(blocks):
    ticks: list[int] = []
    writer = ETDumpWriter(clock=lambda: ticks.pop(0))
    expected = [trace_block(writer, ticks, block) for block in blocks]
    dump = writer.finish().etdump
    assert comparable(read_reference(dump)["run_data"]) == comparable(expected)
    batch = decode_dumps([dump])
    assert batch.errors.num_rows == 0
    assert decoded_rows(batch) == reference_rows({0: dump})


def test_dump_of_many_equal_blocks_has_few_vtables_and_is_read_in_full():
    writer = ETDumpWriter()
    for _ in range(1000):
        with writer.block("Execute"), writer.profile("native_call_add.out", instruction=1):
            pass
    dump = writer.finish().etdump
    assert len(dump) < 1000 * 150
    assert decode_dumps([dump]).tables["events"].num_rows == 1000


def test_numbers_of_numpy_are_numbers():
    writer = ETDumpWriter(clock=lambda: np.uint64(2**64 - 1))
    writer.create_event_block("Execute")
    writer.set_chain_debug_handle(np.int64(-1), np.uint32(2**32 - 1))
    writer.end_profiling(writer.start_profiling("a"))
    writer.log_intermediate_output_delegate(np.int16(3), np.int8(-1))
    profile, debug = read_block(writer.finish().etdump)["events"]
    assert profile["profile_event"]["end_time"] == 2**64 - 1
    assert debug["debug_event"] == {
        "chain_index": 2**64 - 1,
        "instruction_id": -1,
        "delegate_debug_id_int": 3,
        "debug_entry": {"val": "Int", "int_value": {"int_val": -1}},
    }


def test_start_chooses_the_instruction_of_an_event_but_the_end_that_of_a_delegates():
    writer = ETDumpWriter()
    writer.create_event_block("Execute")
    entry, delegate_entry = writer.start_profiling("a"), writer.start_profiling_delegate("b")
    writer.set_chain_debug_handle(0, 7)
    writer.end_profiling(entry)
    writer.end_profiling_delegate(delegate_entry)
    events = [event["profile_event"] for event in read_block(writer.finish().etdump)["events"]]
    assert [(e["chain_index"], e["instruction_id"]) for e in events] == [(-1, 0), (0, 7)]


def test_event_is_logged_in_the_block_in_which_it_ends():
    writer = ETDumpWriter()
    entry = writer.start_profiling("a")
    writer.create_event_block("one")
    writer.create_event_block("two")
    writer.end_profiling(entry)
    runs = read_reference(writer.finish().etdump)["run_data"]
    assert [len(run.get("events", [])) for run in runs] == [0, 1]


def test_block_with_a_delegates_event_that_never_ends_has_an_empty_vector():
    assert read_block(write(("start_profiling_delegate", 1)))["events"] == []
    assert "events" not in read_block(write(("start_profiling", "a")))


def test_bundled_input_index_arrives_in_the_blocks_that_follow():  # R1
    writer = ETDumpWriter()
    writer.create_event_block("before")
    writer.set_bundled_input_index(2)
    writer.create_event_block("after")
    runs = read_reference(writer.finish().etdump)["run_data"]
    assert [run["bundled_input_index"] for run in runs] == [-1, 2]


def test_block_with_allocators_and_no_event_is_sound():  # R2
    dump = write(("track_allocator", "planned"), ("track_allocator", "temp"))
    assert decode_dumps([dump]).errors.num_rows == 0
    assert read_block(dump)["allocators"] == [{"name": "planned"}, {"name": "temp"}]


def test_allocator_of_an_earlier_block_is_named_in_each_block_that_uses_it():
    writer = ETDumpWriter()
    with writer.block("load"):
        assert [writer.track_allocator(name) for name in ("planned", "temp")] == [1, 2]
    with writer.block("own"):
        assert writer.track_allocator("method") == 1
        writer.track_allocation(2, 8)
    with writer.block("none"):
        writer.log_evalue(1)
    first = writer.finish()
    with writer.block("after the dump"):
        writer.track_allocation(1, 16)
    tables = [decode_dumps([dump.etdump]).tables for dump in (first, writer.finish())]
    named = [
        [(row["run_index"], row["name"]) for row in one["allocators"].to_pylist()] for one in tables
    ]
    assert named == [
        [(0, "planned"), (0, "temp"), (1, "method"), (1, "temp")],
        [(0, "method")],
    ]
    used = [row["allocator"] for one in tables for row in one["allocations"].to_pylist()]
    assert used == ["temp", "method"]


def test_blocks_are_counted_until_the_next_dump_begins():
    writer = ETDumpWriter()
    counts = [writer.num_blocks]
    for step in ("create_event_block", "create_event_block", "finish", "create_event_block"):
        getattr(writer, step)(*["block"] * (step != "finish"))
        counts.append(writer.num_blocks)
    assert counts == [0, 1, 2, 2, 1]


def test_reset_throws_away_all_blocks_and_open_events_and_nothing_else():
    writer = ETDumpWriter()
    writer.set_bundled_input_index(3)
    writer.create_event_block("ended")
    writer.track_allocator("planned")
    writer.log_evalue(np.arange(3))
    writer.create_event_block("open")
    entry = writer.start_profiling("a")
    writer.reset()
    assert writer.num_blocks == 0
    with pytest.raises(NoBlockError):
        writer.finish()
    writer.create_event_block("new")
    with pytest.raises(EntryError):
        writer.end_profiling(entry)
    writer.track_allocation(1, 8)
    dump = writer.finish()
    block = read_block(dump.etdump)
    assert (block["name"], block["bundled_input_index"]) == ("new", 3)
    assert (block["allocators"], dump.debug_buffer) == ([{"name": "planned"}], b"")


def test_half_precision_tensors_are_sound():  # R3
    half = read_value(np.array([1.5], np.float16))
    assert half["tensor"]["scalar_type"] == "HALF"
    brain = read_value(Tensor(np.array([0x3FC0], np.uint16), "bfloat16"))
    assert brain["tensor"]["scalar_type"] == "BFLOAT16"


@pytest.mark.parametrize("value", [7, True, 2.25, np.zeros(1), [np.zeros(1)]])
def test_program_outputs_of_every_type_are_marked(value):  # R5
    assert read_value(value, is_output=True)["output"] == {"bool_val": True}
    assert "output" not in read_value(value)


def test_sign_of_zero_is_kept():
    assert str(read_value(-0.0)["double_value"]["double_val"]) == "-0.0"


def test_writer_is_new_after_each_dump():  # R4
    writer = ETDumpWriter()
    dumps = []
    for name in ("one", "two"):
        writer.create_event_block(name)
        writer.log_evalue(np.arange(3))
        dumps.append(writer.finish())
    assert [read_block(dump.etdump)["name"] for dump in dumps] == ["one", "two"]
    assert dumps[0].debug_buffer == dumps[1].debug_buffer == np.arange(3).tobytes()
    with pytest.raises(NoBlockError, match="finish: nothing to write"):
        writer.finish()


@pytest.mark.system
def test_importing_the_reader_does_not_import_the_writer():
    code = "import tracehouse.ingest, sys; sys.exit('flatbuffers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def _rows(dump: bytes, *, debug_buffer_start: int = 0) -> Rows:
    """Decoded rows, without the length of the file and what comes before the first tensor."""
    rows = decoded_rows(decode_dumps([dump]))
    del rows["dumps"][0]["byte_count"]
    for row in rows["debug_values"]:
        if (row["tensor_offset"] or -1) >= 0:
            row["tensor_offset"] -= debug_buffer_start
    return rows
