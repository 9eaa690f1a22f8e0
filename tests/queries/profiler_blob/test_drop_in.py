"""What ExecuTorch's deserialize_profile_results gives, under its names."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from tests.support.blob_builder import block, build_profiler_blob
from tests.support.corpus import CORPUS
from tracehouse.ingest.errors import DumpError
from tracehouse.queries.profiler_blob import TimeScale, deserialize_profile_results
from tracehouse.warehouse.errors import QueryError

SCALES = ("TIME_IN_NS", "TIME_IN_US", "TIME_IN_MS", "CPU_CYCLES")
ANSWERED = [
    path
    for path in sorted((CORPUS / "legacy").glob("*.golden.json"))
    if "exception" not in json.loads(path.read_text())["time_scales"]["TIME_IN_NS"]
]


def rounded(event):
    return asdict(event) | {
        "ts": [round(time, 4) for time in event.ts],
        "duration": [round(time, 4) for time in event.duration],
    }


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("golden", ANSWERED, ids=lambda path: path.name.split(".")[0])
def test_objects_are_those_of_the_parser_but_for_rounding(golden, scale):
    wanted = json.loads(golden.read_text())["time_scales"][scale]
    data = golden.with_name(golden.name.replace("golden.json", "prof")).read_bytes()
    events, memory = deserialize_profile_results(data, TimeScale[scale])
    without = {"stacktrace": None}
    assert {name: list(map(rounded, some)) for name, some in events.items()} == {
        name: [event | without for event in some] for name, some in wanted["prof_data"].items()
    }
    assert {name: list(map(asdict, some)) for name, some in memory.items()} == wanted["mem_data"]


def test_ticks_are_ns_unless_stated():
    blob = build_profiler_blob(block("b", ("a", 1_000_000, 3_000_000)))
    events, memory = deserialize_profile_results(blob)
    assert (events["b"][0].ts, events["b"][0].duration, memory) == ([1], [2], {"b": []})


def test_malformed_blobs_and_iterations_that_differ_are_refused():
    blob = build_profiler_blob(block("b", ("a", 1, 2)), block("b"))
    with pytest.raises(QueryError, match="blob: block 'b': 1 and 0 events in iterations 0 and 1"):
        deserialize_profile_results(blob)
    with pytest.raises(DumpError, match="blob: "):
        deserialize_profile_results(blob[:100])
