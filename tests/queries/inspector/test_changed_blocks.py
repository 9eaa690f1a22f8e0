"""Blocks and events that a script changes or makes, as ExecuTorch's own examples do."""

from __future__ import annotations

import csv
import io
import json

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tracehouse import Event, EventBlock, Inspector, PerfData, TimeScale
from tracehouse.queries.inspector.vgf_neural_statistics import SCHEMA

MIXED = CORPUS / "real" / "mixed_xnnpack_n20.etdp"
RECORD = MODELS / "mixed_xnnpack.etrecord"


def test_changes_that_a_script_makes_to_events_are_printed_and_summed():
    inspector = Inspector(MIXED, etrecord=RECORD, target_time_scale=TimeScale.US)
    for block in inspector.event_blocks:
        for event in block.events:
            event.op_types = [name for name in event.op_types if "relu" not in name]
            if event.perf_data:
                event.perf_data.raw = [1.0, 3.0]
    file = io.StringIO()
    inspector.save_data_to_tsv(file, include_units=False)
    assert "aten.relu" not in file.getvalue()
    rows = [*csv.DictReader(io.StringIO(file.getvalue()), delimiter="\t")]
    assert {(row["min"], row["avg"]) for row in rows} == {("1.0", "2.0")}
    assert inspector.find_total_for_module("L__self__c1") == 2.0


def test_blocks_that_a_script_makes_are_answered(capsys):
    inspector = Inspector(etdump_data=MIXED.read_bytes())
    events = [Event("op_0", PerfData([1.0, 2.0]), ["aten.add"]), Event("OPERATOR_CALL")]
    inspector.event_blocks = [EventBlock("mine", events, target_time_scale=TimeScale.S)]
    inspector.print_data_tabular()
    printed = capsys.readouterr().out
    assert "avg (s)" in printed
    assert "op_0" in printed
    assert "OPERATOR_CALL" not in printed


def test_delegated_events_can_be_left_out_of_the_list():
    inspector = Inspector.__new__(Inspector)
    events = [Event("7", op_types=["add"], is_delegated_op=True), Event("x", op_types=["add"])]
    inspector.event_blocks = [EventBlock("Execute", events)]
    found = inspector.get_op_list("Execute", show_delegated_ops=False)
    assert [event.name for event in found["add"]] == ["x"]


def test_neural_statistics_are_found_among_the_metadata_of_events():
    inspector = Inspector.__new__(Inspector)
    record = {"schema": SCHEMA, "schema_version": 1, "segments": []}
    event = Event("delegate_execute", _delegate_debug_metadatas=[b"x", json.dumps(record).encode()])
    inspector.event_blocks = [EventBlock("forward", [Event("other"), event])]
    assert inspector.get_vgf_neural_statistics() == [record]
