"""What must hold of the fast reader for any bytes: verdict, values, time and memory."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa

from tests.support.plain_rows import Rows, decoded_rows, expected_rows
from tests.support.reference_reader import DumpFault, read_reference
from tracehouse import DecodedBatch, decode_dumps
from tracehouse.ingest import decode
from tracehouse.ingest.etdump import long_runs, runs
from tracehouse.ingest.etdump.templates import TEMPLATES
from tracehouse.ingest.profiler_blob import is_profiler_blob

Content = dict[str, Any]

SLOW = 10  # times what its dumps may take alone: a batch that takes more is not just on a busy CPU

_pools: list[pa.MemoryPool] = []  # Arrow does not own a pool it is told to use


class Cost(NamedTuple):
    """What decoding one dump alone took: CPU seconds, and most bytes allocated at a time."""

    seconds: float
    peak_bytes: int

    def excess(self, byte_count: int, times: int = 8, slack: float = 1.0) -> str | None:
        """What is over the bounds for a dump of this size: 16 MB and so many times its size.

        `slack` multiplies the bound of time, for machines that are busy with other things.
        """
        if self.seconds > _most_seconds(byte_count) * slack:
            return f"takes {self.seconds * 1e3:,.0f} ms of CPU, {byte_count:,} bytes"
        if self.peak_bytes > (16 << 20) + times * byte_count:
            return f"takes {self.peak_bytes / 1e6:,.1f} MB, {byte_count:,} bytes"
        return None


@dataclass
class Findings:
    """What was seen: dumps accepted, refusals by reason, differences by position."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    differences: dict[int, str] = field(default_factory=dict)


def read_or_fault(dump: bytes) -> Content | DumpFault:
    """What the reference reader says."""
    try:
        return read_reference(dump)
    except DumpFault as fault:
        return fault


def check_batch(dumps: Sequence[bytes], readings: Sequence[Content | DumpFault]) -> Findings:
    """Decode the dumps in one call, and compare with what the reference reader said of each."""
    start = time.process_time()
    try:
        batch = decode_dumps(dumps)
    except Exception as error:
        return Findings(differences=_blame(dumps, f"raises {error!r}"))
    seconds = time.process_time() - start
    if decode.ARENA_BYTES > 1 and seconds > SLOW * sum(_most_seconds(len(dump)) for dump in dumps):
        return Findings(differences=dict.fromkeys(range(len(dumps)), f"takes {seconds:.1f} s"))
    reasons = {row["dump_index"]: row["reason"] for row in batch.errors.to_pylist()}
    findings = Findings(len(dumps) - len(reasons), Counter(reasons.values()))
    for i, content in enumerate(readings):
        if is_profiler_blob(dumps[i]):  # a profiler blob by chance: it has an oracle of its own
            continue
        if (i in reasons) != isinstance(content, DumpFault):
            verdict = f"refused, {reasons[i]}" if i in reasons else "accepted"
            findings.differences[i] = f"is {verdict}; the reference reader: {str(content)[:99]}"
    if not findings.differences:
        read = {i: (dumps[i], c) for i, c in enumerate(readings) if not isinstance(c, DumpFault)}
        findings.differences = _compare(batch, read)
    return findings


@contextmanager
def parts_of(byte_count: int, event_count: int = 1 << 16) -> Iterator[None]:
    """Within it, dumps are decoded a run at a time, and large runs so many events at a time.

    Large are runs in which more than `byte_count` bytes are to be visited.
    """
    with (
        knowing_no_dump(),
        patch.object(decode, "ARENA_BYTES", 1),
        patch.object(runs, "PART_BYTES", byte_count),
        patch.object(long_runs, "PART_BYTES", byte_count),
        patch.object(long_runs, "PART_EVENTS", event_count),
    ):
        yield


@contextmanager
def always_looking_for_repeats() -> Iterator[None]:
    """Within it, repeats are looked for in few bytes too."""
    with knowing_no_dump(), patch.object(runs, "FEWEST_WORDS", 0):
        yield


@contextmanager
def knowing_no_dump() -> Iterator[None]:
    """Within it, dumps are read in full, until one is known again."""
    TEMPLATES.clear()
    yield


def measure(dump: bytes) -> Cost:
    """The cost of decoding the dump alone; time and memory in passes of their own."""
    seconds = _time(dump)
    for _ in range(3):  # the first pass may pay for imports, any for a busy machine
        if seconds > _most_seconds(len(dump)):
            seconds = min(seconds, _time(dump))
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    _pools.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        _decode([dump])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    return Cost(seconds, peak + pool.max_memory())


def _most_seconds(byte_count: int) -> float:
    return 0.020 + 1e-6 * byte_count


def _decode(dumps: Sequence[bytes]) -> DecodedBatch:
    """Decode; a warning is an exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with knowing_no_dump():
            return decode_dumps(dumps)


def _time(dump: bytes) -> float:
    start = time.process_time()
    _decode([dump])
    return time.process_time() - start


def _blame(dumps: Sequence[bytes], problem: str) -> dict[int, str]:
    """Which dumps raise by themselves; all of them if none does."""
    found = {}
    for i, dump in enumerate(dumps):
        try:
            _decode([dump])
        except Exception as error:
            found[i] = f"raises {error!r}"
    return found or dict.fromkeys(range(len(dumps)), f"{problem}, only in its batch")


def _compare(batch: DecodedBatch, read: Mapping[int, tuple[bytes, Content]]) -> dict[int, str]:
    """Dumps whose decoded values differ from those that the reference reader gives."""
    found, expected = decoded_rows(batch), expected_rows(read)
    if found == expected:
        return {}
    different = {}
    for i in read:
        for name in expected:
            if (ours := _of_dump(found, name, i)) != (theirs := _of_dump(expected, name, i)):
                pairs = zip(ours, theirs, strict=False)
                first = next((p for p in pairs if p[0] != p[1]), (len(ours), len(theirs)))
                different[i] = f"has other {name}: {first[0]}, the reference reader: {first[1]}"
    return different or dict.fromkeys(read, "has its rows in another order, in its batch")


def _of_dump(rows: Rows, name: str, index: int) -> list[dict[str, object]]:
    return [row for row in rows[name] if row["dump_index"] == index]
