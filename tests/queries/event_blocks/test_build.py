from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.etdump_builder import build_etdump
from tests.support.etdump_strategies import etdumps
from tests.support.event_blocks import blocks_of, integer, json_of, logged, run, timed
from tracehouse import decode_dumps
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.event_blocks.build import build_event_blocks, read_event_blocks
from tracehouse.queries.event_blocks.table import event_blocks_json
from tracehouse.queries.event_blocks.time_scales import TimeScale


def test_blocks_stand_in_order_of_first_appearance():
    blocks = blocks_of(
        run(timed("z", 0, 1)),
        run(timed("a", 0, 1), name="Other"),
        run(timed("z", 0, 1)),
        run(timed("z", 0, 1), bundled_input_index=2),
        run(timed("z", 0, 1), timed("a", 0, 1)),
    )
    assert [(block.name, block.bundled_input_index, len(block.events)) for block in blocks] == [
        ("Execute", -1, 1),
        ("Other", -1, 1),
        ("Execute", 2, 1),
        ("Execute", -1, 2),
    ]


def test_only_a_run_without_an_event_vector_makes_no_block():
    output = {"output": {"bool_val": True}}
    blocks = blocks_of({"name": "gone"}, run(name="empty"), run(logged(integer(5) | output)))
    assert [(block.name, block.run_output, block.events) for block in blocks] == [
        ("empty", [], []),
        ("Execute", [5], []),
    ]


def test_an_event_has_all_that_the_inspector_tells():
    [block] = json_of(run(timed("op", 3_000_000, 5_000_000, instruction_id=7)))
    assert block == {
        "name": "Execute",
        "bundled_input_index": -1,
        "source_time_scale": "ns",
        "target_time_scale": "ms",
        "run_output": [],
        "is_run_output_same_in_all_runs": True,
        "reference_output": None,
        "method": None,
        "method_candidates": [],
        "notes": [],
        "events": [
            {
                "name": "op",
                "kind": "other",
                "unit": None,
                "rule": None,
                "instruction_id": 7,
                "raw": [2.0],
                "p10": 2.0,
                "p50": 2.0,
                "p90": 2.0,
                "avg": 2.0,
                "min": 2.0,
                "max": 2.0,
                "p95": 2.0,
                "p99": 2.0,
                "n": 1,
                "stddev": None,
                "start_time": [3_000_000],
                "op_types": [],
                "delegate_debug_identifier": None,
                "is_delegated_op": False,
                "delegate_backend_name": None,
                "debug_handles": None,
                "num_outputs": 1,
                "stack_traces": {},
                "module_hierarchy": {},
                "raw_delegate_debug_metadatas": [],
                "delegate_debug_metadatas": [],
                "debug_data": [],
                "is_debug_data_same_in_all_runs": True,
            }
        ],
    }


def test_a_delegated_event_is_called_by_its_id():
    [block] = json_of(
        run(
            timed("x", 0, 1, delegate_debug_id_int=0),
            timed("x", 0, 1, delegate_debug_id_str="conv"),
            timed("x", 0, 1, delegate_debug_id_str=""),
        )
    )
    found = [
        (event["name"], event["delegate_debug_identifier"], event["is_delegated_op"])
        for event in block["events"]
    ]
    assert found == [("0", 0, True), ("conv", "conv", True), ("x", None, False)]


def test_an_event_outside_the_program_has_instruction_minus_one():
    [block] = json_of(run(timed("load", 0, 1)))
    assert block["events"][0]["instruction_id"] == -1


def test_a_refused_dump_names_file_offset_and_reason(tmp_path):
    path = tmp_path / "cut.etdp"
    path.write_bytes(build_etdump({"run_data": [run(timed("op", 0, 1))]})[:-8])
    with pytest.raises(DumpError) as caught:
        read_event_blocks(Source(str(path)))
    assert caught.value.source == str(path)
    assert caught.value.reason == "bad_size_prefix"
    assert caught.value.byte_offset == 0


@settings(deadline=None)
@given(etdumps())
def test_every_sample_and_every_value_type_of_any_dump_is_accounted_for(content):
    batch = decode_dumps([build_etdump(content)])
    blocks = build_event_blocks(batch.tables, target_time_scale=TimeScale.NS)
    event_blocks_json(blocks)
    events = [(e, e.perf_data.raw if e.perf_data else []) for b in blocks for e in b.events]
    counted = sum(len(raw) + len(event.flagged) for event, raw in events)
    assert counted == batch.tables["events"].num_rows
    for event, raw in events:
        assert len(raw) == len(event.start_time or [])
        assert len(event.raw_delegate_debug_metadatas) in (0, len(raw))
        if raw:
            assert event.perf_data.p90 == np.percentile(raw, 90)
