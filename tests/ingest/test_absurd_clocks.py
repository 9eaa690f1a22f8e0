"""Clock readings that cannot be are kept, flagged and no reason to stop."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.support.blob_builder import block, build_profiler_blob
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.tools.fuzz.checks import check_batch, parts_of, read_or_fault
from tracehouse import decode_dumps, stream_dump
from tracehouse.ingest.tables.clocks import restore_starts

READINGS = [
    0,
    1,
    2**31,
    2**32 - 3,
    2**32 - 1,
    2**32,
    2**32 + 10,
    2**63 - 1,
    2**63,
    2**63 + 1,
    2**64 - 2,
    2**64 - 1,
]
PAIRS = list(product(READINGS, repeat=2))


def run(pairs: list[tuple[int, int]]) -> dict[str, object]:
    events = [{"profile_event": {"start_time": start, "end_time": end}} for start, end in pairs]
    return {"name": "Execute", "events": events}


DUMPS = {
    "in one run": [run(PAIRS)],
    "a run each": [run([pair]) for pair in PAIRS],
    "backwards": [run(PAIRS[::-1]), run(PAIRS[50:] + PAIRS[:50])],
    "alike but for the clock": [run([pair, PAIRS[-1 - i]]) for i, pair in enumerate(PAIRS)],
}


@pytest.mark.parametrize("name", cross_section(DUMPS, 3))
def test_absurd_clocks_decode_like_the_reference_reader(name: str) -> None:
    dump = build_etdump({"run_data": DUMPS[name]})
    said = [read_or_fault(dump)]
    assert check_batch([dump], said).differences == {}
    with parts_of(1, 7):
        assert check_batch([dump], said).differences == {}


def starts_of(tables: Mapping[str, pa.Table]) -> list[list[int]]:
    """The starts of each run, whose events are alike, in file order."""
    run, offset, flags = (
        tables["events"][name].to_numpy() for name in ("run_index", "start_offset_ticks", "flags")
    )
    origin = np.array([int(one) for one in tables["runs"]["start_ticks"].to_pylist()], np.uint64)
    start = restore_starts(run, origin, offset, flags)
    return [start[run == number].tolist() for number in range(len(origin))]


@pytest.mark.parametrize("seed", range(4))
def test_readings_come_back_however_a_dump_is_read(seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - times
    near = [5, 10, 2**32 - 3, 2**32 - 1, 2**32 + 10, 2**33 + 1]
    runs = [[tuple(chance.choices(near, k=2)) for _ in range(3)] for _ in range(200)]
    wanted = [[start for start, _ in pairs] for pairs in runs]
    dump = build_etdump({"run_data": [run(pairs) for pairs in runs]})
    assert starts_of(decode_dumps([dump]).tables) == wanted  # repeated runs
    decode_dumps([dump])
    assert starts_of(decode_dumps([dump]).tables) == wanted  # a repeated dump
    with parts_of(1, 2):
        parts = [part.tables for part in stream_dump(dump)]
    together = {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}
    assert starts_of(together) == wanted  # long runs


@pytest.mark.parametrize("name", DUMPS)
def test_absurd_clocks_are_counted_as_flagged(name: str) -> None:
    tables = decode_dumps([build_etdump({"run_data": DUMPS[name]})]).tables
    flagged = pc.sum(pc.greater(tables["events"]["flags"], 1))
    assert tables["dumps"]["n_flagged_events"].to_pylist() == [flagged.as_py()]


def test_absurd_clocks_in_a_blob_decode() -> None:
    events = [("a", start, end) for start, end in PAIRS]
    blob = build_profiler_blob(block("b", *events))
    tables = decode_dumps([blob]).tables
    assert tables["events"].num_rows == len(PAIRS)
