"""What an ETDumpWriter refuses, and that nothing else is lost by it."""

from __future__ import annotations

from itertools import count

import flatbuffers
import numpy as np
import pytest

from tests.support.traced_blocks import read_block, write
from tracehouse import ETDumpWriter, decode_dumps
from tracehouse.ingest.errors import AllocatorError, EntryError, NoBlockError, UnwritableError
from tracehouse.ingest.tracer.event_tracer import Tensor


@pytest.mark.parametrize(
    "calls",
    [
        [("end_event_block",), ("track_allocator", "a")],
        [("end_event_block",), ("log_evalue", 1)],
        [("end_event_block",), ("start_profiling_delegate", 1)],
        [("end_event_block",), ("log_profiling_delegate", 1, 0, 1)],
        [("end_event_block",), ("end_event_block",)],
    ],
    ids=str,
)
def test_logging_without_an_open_block_is_an_error(calls):
    with pytest.raises(NoBlockError, match=f"^{calls[-1][0]}: no block is open; call create_"):
        write(*calls)


def test_event_cannot_end_before_any_block_but_can_afterwards():
    writer = ETDumpWriter()
    entry = writer.start_profiling("a")
    with pytest.raises(NoBlockError):
        writer.end_profiling(entry)
    with writer.block("Execute"):
        writer.end_profiling(entry)
    assert len(read_block(writer.finish().etdump)["events"]) == 1


def test_allocators_come_before_events():
    with pytest.raises(AllocatorError, match="'late': call it before the block's first event"):
        write(("track_allocator", "a"), ("log_evalue", 1), ("track_allocator", "late"))


@pytest.mark.parametrize("allocator_id", [0, 2, -1, 2**40])
def test_allocation_is_of_an_allocator_of_its_block(allocator_id):
    with pytest.raises(
        AllocatorError, match=f"found allocator {allocator_id}, wanted one from 1 to"
    ):
        write(("track_allocator", "a"), ("track_allocation", allocator_id, 8))


def test_event_ends_once_and_by_the_method_of_its_kind():
    writer = ETDumpWriter()
    writer.create_event_block("Execute")
    entry, delegate_entry = writer.start_profiling("a"), writer.start_profiling_delegate("b")
    with pytest.raises(
        EntryError, match="'b': an event of a delegate; call end_profiling_delegate"
    ):
        writer.end_profiling(delegate_entry)
    with pytest.raises(EntryError, match="'a': not an event of a delegate; call end_profiling"):
        writer.end_profiling_delegate(entry)
    writer.end_profiling(entry)
    with pytest.raises(EntryError, match="'a': not open; wanted an event that was started"):
        writer.end_profiling(entry)
    with pytest.raises(EntryError, match="'b': not open"):
        ETDumpWriter().end_profiling_delegate(delegate_entry)


@pytest.mark.parametrize(
    "call",
    [
        ("set_chain_debug_handle", 2**31, 0),
        ("set_chain_debug_handle", 0, 2**32),
        ("set_chain_debug_handle", 0.5, 0),
        ("start_profiling", "a", 2**31),
        ("set_bundled_input_index", 2**31),
        ("start_profiling_delegate", -1),
        ("start_profiling_delegate", 2**31),
        ("log_profiling_delegate", 1, -1, 0),
        ("log_profiling_delegate", 1, 0, 2**64),
        ("log_profiling_delegate", 1, 0.5, 1),
        ("log_profiling_delegate", "\ud800", 0, 1),
        ("log_intermediate_output_delegate", None, 1),
        ("log_evalue", 2**63),
        ("log_evalue", "text"),
        ("log_evalue", None),
        ("log_evalue", [1]),
        ("log_evalue", np.array(["text"])),
        ("log_evalue", Tensor(np.zeros(1), "float128")),
        ("track_allocator", "\ud800"),
        ("create_event_block", "\ud800"),
    ],
    ids=str,
)
def test_a_value_that_a_dump_cannot_hold_is_refused_and_nothing_else_is_lost(call):
    writer = ETDumpWriter(clock=count().__next__)
    writer.create_event_block("Execute")
    method, *arguments = call
    with pytest.raises(UnwritableError, match=", wanted "):
        getattr(writer, method)(*arguments)
    writer.create_event_block("next")
    writer.log_evalue(1)
    dump = writer.finish()
    assert decode_dumps([dump.etdump]).errors.num_rows == 0
    assert dump.debug_buffer == b""


def test_list_of_which_an_array_is_refused_leaves_no_bytes():
    writer = ETDumpWriter()
    writer.create_event_block("Execute")
    with pytest.raises(UnwritableError, match="elements of type str"):
        writer.log_evalue([np.zeros(3), np.array(["text"])])
    assert writer.finish().debug_buffer == b""


def test_allocation_size_has_64_bits():
    allocator = ("track_allocator", "a")
    dump = write(allocator, ("track_allocation", 1, 2**64 - 1))
    assert read_block(dump)["events"][0]["allocation_event"]["allocation_size"] == 2**64 - 1
    with pytest.raises(UnwritableError, match="wanted an integer from 0 to"):
        write(allocator, ("track_allocation", 1, 2**64))


def test_dump_that_grows_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(flatbuffers.Builder, "MAX_BUFFER_SIZE", 4096)
    with pytest.raises(UnwritableError, match="dump: over 2 GiB; call finish"):
        write(("log_profiling_delegate", "a", 0, 1, bytes(5000)))
