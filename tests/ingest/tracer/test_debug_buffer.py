"""Tensors that are traced stand in the debug buffer as the runtime would put them there."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.corpus import CORPUS
from tests.support.runtime_calls import VALUES_START, make_writer
from tests.support.traced_blocks import read_block, read_value
from tracehouse import ETDumpWriter


def test_the_runtimes_values_make_the_runtimes_debug_buffer():
    theirs = (CORPUS / "capi/values.debug.bin").read_bytes()
    assert make_writer("capi/values").finish().debug_buffer == theirs[VALUES_START:]


@pytest.mark.parametrize(
    ("array", "strides", "memory"),
    [
        (np.arange(6).reshape(2, 3), [3, 1], [0, 1, 2, 3, 4, 5]),
        (np.arange(6).reshape(2, 3).T, [1, 3], [0, 1, 2, 3, 4, 5]),
        (np.arange(8).reshape(1, 2, 2, 2).transpose(0, 3, 1, 2), [8, 1, 4, 2], list(range(8))),
        (np.arange(6).reshape(2, 3)[:, ::2], [2, 1], [0, 2, 3, 5]),
        (np.arange(3)[::-1], [1], [2, 1, 0]),
        (np.broadcast_to(np.int64(4), (2, 2)), [2, 1], [4, 4, 4, 4]),
        (np.arange(3, dtype=">i8"), [1], [0, 1, 2]),
        (np.array(5), [], [5]),
    ],
    ids=["c", "f", "channels_last", "gaps", "reversed", "broadcast", "big_endian", "scalar"],
)
def test_array_is_written_in_memory_order_without_gaps(array, strides, memory):
    writer = ETDumpWriter()
    writer.create_event_block("Execute")
    writer.log_evalue(array)
    dump = writer.finish()
    (event,) = read_block(dump.etdump)["events"]
    tensor = event["debug_event"]["debug_entry"]["tensor"]
    assert (tensor["sizes"], tensor["strides"]) == (list(array.shape), strides)
    stored = np.frombuffer(dump.debug_buffer, "<i8")
    assert stored.tolist() == memory
    bytes_apart = [8 * stride for stride in strides]
    assert np.array_equal(np.lib.stride_tricks.as_strided(stored, array.shape, bytes_apart), array)


def test_tensors_are_64_byte_aligned_and_empty_ones_have_no_offset():
    tensors = read_value([np.zeros(9), np.zeros((0, 4)), np.zeros(1)])["tensor_list"]["tensors"]
    assert [tensor["offset"] for tensor in tensors] == [0, -1, 128]
