"""The calls that ExecuTorch's own tracer got when it wrote the dumps in tests/data/corpus/capi."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from tracehouse import ETDumpWriter
from tracehouse.ingest.tracer.event_tracer import Tensor

VALUES_START = 32  # where in the debug buffer of capi/values the first multiple of 64 is

LONGS = np.array([-(2**63), 2**63 - 1])
FLOATS = np.array([[0, -0.0, 1e-30], [3.4e38, 0.1, -1.5]], np.float32)
EMPTY = np.zeros((0, 4), np.float32)


def write_empty_block(writer: ETDumpWriter) -> None:
    writer.create_event_block("Empty")


def write_double_nan(writer: ETDumpWriter) -> None:
    _log_double(writer, float("nan"))


def write_double_inf(writer: ETDumpWriter) -> None:
    _log_double(writer, float("inf"))


def write_badutf8(writer: ETDumpWriter) -> None:
    writer.create_event_block("Execute")
    _profile(writer, "bad\udcff\udcfe utf8", 0, 0)


def write_names(writer: ETDumpWriter) -> None:
    writer.create_event_block("Exécute 永 🔥")
    for name, chain, instruction in (
        ("native_call_αβ.out", 0, 0),
        ('quote"back\\slash\ttab\nnewline/\x01\x1f\x7f', 0, 1),
        ("", 0, 2),
        (None, 0, 3),
        ("chain -5", -5, 4),
        ("chain big", 2**31 - 1, 4),
        ("handle max", 0, 2**32 - 1),
        ("handle 2^31", 0, 2**31),
    ):
        _profile(writer, name, chain, instruction)


def write_repeat(writer: ETDumpWriter) -> None:
    for _ in range(3):
        writer.create_event_block("Execute")
        for _ in range(3):
            _profile(writer, "native_call_add.out", 0, 4)
        _profile(writer, "native_call_mul.out", 0, 4)
        _profile(writer, "native_call_add.out", 0, 5)
        _profile(writer, "native_call_add.out", 1, 4)
        _profile(writer, "Method::execute", -1, 0)


def write_delegate(writer: ETDumpWriter) -> None:
    floats = np.array([[1, 2], [3, 0.1]], np.float32)
    longs = np.array([1, -2, 2**53 + 1])
    for run in range(4):
        writer.create_event_block("Execute")
        writer.set_chain_debug_handle(0, 5)
        call = writer.start_profiling("DELEGATE_CALL")
        for delegate_id in (0, 1, 10, 11, 2**31 - 1, -2):
            entry = writer.start_profiling_delegate(delegate_id)
            writer.end_profiling_delegate(entry, b'\x00\xff\x80\n"' if delegate_id else b"")
        for name, start, end, metadata in (
            ("conv", 100 + run, 200 + 3 * run, b"run %d" % run),
            ("conv_relu", 2**32 - 16, 16 + run, b""),
            ("", 5, 6, b""),
            ("卷積 🔥", 7, 1000, "α".encode()),
            ("x" * 300, 1, 2, b"x" * 300),
            ("dup", 10, 20, b""),
            ("dup", 20, 50, b""),
        ):
            writer.log_profiling_delegate(name, start, end, metadata)
        for delegate_id, value in (
            (0, floats),
            (1, -7),
            ("conv", False),
            ("conv_relu", 0.1),
            ("only_debug", [floats, longs]),
        ):
            writer.log_intermediate_output_delegate(delegate_id, value)
        writer.end_profiling(call)
        writer.set_chain_debug_handle(-1, 0)
        _profile(writer, "Method::execute", -1, 0)


def write_values(writer: ETDumpWriter) -> None:
    writer.create_event_block("Execute")
    numbers = (5, -(2**63), 1.5, 0.1, 1 / 3, 1e300, 123456789.12345679, True, False)
    tensors = (
        FLOATS,
        np.array([0.1, 1e300, -2.5]),
        np.array([-128, 0, 127], np.int8),
        np.array([0, 128, 255], np.uint8),
        np.array([-(2**15), 2**15 - 1], np.int16),
        np.array([-(2**31) + 1, 2**31 - 1], np.int32),
        LONGS,
        np.array([True, False, True, True]),
        np.array([0, 2**16 - 1], np.uint16),
        Tensor(np.array([1, 2**15], np.uint16), "bits16"),
        EMPTY,
        np.array(42, np.float32),
        np.array([[1, 3, 5], [2, 4, 6]], np.float32, order="F"),
        np.array([np.nan, np.inf, -np.inf, 1], np.float32),
        [FLOATS, LONGS, EMPTY],
    )
    for instruction, value in enumerate((*numbers, *tensors)):
        writer.set_chain_debug_handle(0, instruction)
        writer.log_evalue(value)
    writer.set_chain_debug_handle(0, 24)
    writer.log_evalue([FLOATS, LONGS, EMPTY], is_output=True)
    writer.set_chain_debug_handle(-1, 0)
    _profile(writer, "Method::execute", -1, 0)
    writer.log_evalue(FLOATS, is_output=True)
    for number in (7, True, 2.25):  # outputs too, but not logged as such by the runtime
        writer.log_evalue(number)
    writer.log_evalue(LONGS, is_output=True)


# Dump of the corpus: the calls, and the first tick.
CALLS: dict[str, tuple[Callable[[ETDumpWriter], None], int]] = {
    "capi/badutf8": (write_badutf8, 1_000_000),
    "capi/delegate_static": (write_delegate, 1_000_000),
    "capi/double_inf": (write_double_inf, 1_000_000),
    "capi/double_nan": (write_double_nan, 1_000_000),
    "capi/empty_block": (write_empty_block, 1_000_000),
    "capi/names_static": (write_names, 1_000_000),
    "capi/repeat": (write_repeat, 1_000_000),
    "capi/repeat_wrap32": (write_repeat, 2**32 - 5501),
    "capi/values": (write_values, 1_000_000),
}


def make_writer(name: str) -> ETDumpWriter:
    """A writer that got the calls of a dump of the corpus, with the clock of that time."""
    write, first_tick = CALLS[name]
    writer = ETDumpWriter(clock=_clock(first_tick).__next__)
    write(writer)
    return writer


def _clock(first_tick: int) -> Iterator[int]:
    bits = 32 if first_tick > 2**31 else 64
    return (tick % 2**bits for tick in count(first_tick, 1000))


def _profile(writer: ETDumpWriter, name: str | None, chain: int, instruction: int) -> None:
    writer.end_profiling(writer.start_profiling(name, chain, instruction))


def _log_double(writer: ETDumpWriter, number: float) -> None:
    writer.create_event_block("Execute")
    writer.set_chain_debug_handle(0, 0)
    writer.log_evalue(number)
