"""Every dump of the corpus holds what flatc, the Inspector and the reference reader say.

R and I numbers name bugs of the runtime and of the Inspector; tests/data/README.md lists them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.corpus import dump_names, read_dump, read_golden
from tests.support.plain_rows import Row, Rows, decoded_rows, expected_rows, reference_rows
from tests.support.plain_signatures import EventSignature
from tracehouse import decode_dumps

NAMES = dump_names("capi", "real", "synthetic", "upstream")
GOLDEN = {name: read_golden(name) for name in NAMES}
# Dumps with the answers of flatc, and of ExecuTorch's decoder and Inspector.
ANSWERED = {"flatc_json": 147, "per_run": 154, "event_blocks": 107}

# The runtime wrote these wrong.
REFUSED = {
    "capi/alloc_only": ("offset_out_of_bounds", "R2"),
    "capi/alloc_only_static": ("offset_out_of_bounds", "R2"),
    "real/half_portable_n1_debug": ("offset_out_of_bounds", "R3"),
}

# The Inspector raises on these, for a reason with a number or a plain one; here each is read.
UNREADABLE_BY_INSPECTOR = {
    "capi/badutf8": "I24",
    "capi/double_inf": "I5",
    "capi/double_inf_static": "I5",
    "capi/double_nan": "I5",
    "capi/double_nan_static": "I5",
    "real/clock_wrap64_mlp_portable": "I3",
    "real/dyn_portable_shapes_debug": "I11",
    "synthetic/allocations": "I9",
    "synthetic/no_populated_event": "an event without any member",
    "synthetic/value_bfloat16": "an element type it does not know",
    "synthetic/value_double_nan": "I5",
    "synthetic/value_float_inf": "I5",
    "synthetic/value_int_missing": "a value without its member",
    "synthetic/value_negative_size": "a negative tensor size",
    "synthetic/value_tensor_missing": "a value without its member",
    "synthetic/value_tensorlist_missing": "a value without its member",
    "synthetic/values_intermediate_differs": "I11",
    "synthetic/values_output_flag": "I11",
    "synthetic/values_tensorlist_output_twice": "I11",
    "synthetic/wrap64": "I3",
    "synthetic/wrap_start_above_32": "I3",
}
UNPREFIXED = ".noprefix"  # I23: the Inspector reads no dump without a size prefix

# The Inspector keeps the last of events that repeat in a run (I1); here every one is a row.
REPEATING = {
    "capi/delegate_static",
    "capi/repeat",
    "capi/repeat_static",
    "capi/repeat_wrap32",
    "real/map_portable_n3",
    "real/map_portable_n3_debug",
    "synthetic/delegate_ids",
    "synthetic/repeated_event",
    "synthetic/repeated_event_counts_differ",
    "synthetic/signature_chain_ignored",
    "synthetic/signatures",
}


@pytest.fixture(scope="module")
def decoded() -> tuple[dict[str, Rows], dict[str, str]]:
    """Rows of each dump, and reasons of each refused one, from a single call."""
    batch = decode_dumps([read_dump(name) for name in NAMES])
    tables = decoded_rows(batch)
    by_dump: dict[str, Rows] = {name: {table: [] for table in tables} for name in NAMES}
    for table, rows in tables.items():
        for row in rows:
            by_dump[NAMES[row.pop("dump_index")]][table].append(row)
    refused = {NAMES[e["dump_index"]]: e["reason"] for e in batch.errors.to_pylist()}
    return {name: rows for name, rows in by_dump.items() if name not in refused}, refused


def test_only_dumps_that_the_runtime_corrupted_are_refused(decoded):
    _, refused = decoded
    assert refused == {name: reason for name, (reason, _) in REFUSED.items()}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REFUSED])
def test_a_dump_decodes_as_by_the_reference_readers(decoded, name):
    rows, golden = decoded[0][name], GOLDEN[name]
    assert rows == _without_index(reference_rows({0: read_dump(name)}))
    if "flatc_json" in golden:
        expected = expected_rows({0: (read_dump(name), golden["flatc_json"])})
        assert _as_flatc_prints(rows) == _without_index(expected)
    if "per_run" in golden.get("decoded", {}):
        _assert_runs_are_those_that_executorch_decodes(rows, golden["decoded"])
    if "event_blocks" in (plain := golden.get("variants", {}).get("plain", {})):
        assert _event_blocks(rows) == [
            {
                "name": block["name"],
                "bundled_input_index": block["bundled_input_index"],
                "events": [_golden_event(event) for event in block["events"]],
            }
            for block in plain["event_blocks"]
        ]


def _assert_runs_are_those_that_executorch_decodes(rows: Rows, golden: Mapping[str, Any]) -> None:
    """Of the same names, allocators and counts."""
    assert rows["dumps"][0]["schema_version"] == golden["version"]
    assert rows["dumps"][0]["n_runs"] == golden["runs"]
    for run_index, (run_name, bundled, allocators, counts) in enumerate(golden["per_run"]):
        run = rows["runs"][run_index]
        assert (run["name"], run["bundled_input_index"]) == (run_name, bundled)
        names = [a["name"] for a in rows["allocators"] if a["run_index"] == run_index]
        assert names == (allocators or [])
        assert _event_counts(rows, run_index) == Counter(counts)


def test_corpus_dumps_have_the_expected_reference_answers():
    found = [
        [*golden, *golden.get("decoded", {}), *golden.get("variants", {}).get("plain", {})]
        for golden in GOLDEN.values()
    ]
    assert {kind: sum(kind in keys for keys in found) for kind in ANSWERED} == ANSWERED


def test_dumps_that_the_inspector_cannot_read_are_known_by_reason():
    raises = {
        name
        for name, golden in GOLDEN.items()
        if "exception" in golden.get("variants", {}).get("plain", {})
    }
    unprefixed = {name for name in NAMES if name.endswith(UNPREFIXED)}
    assert raises == UNREADABLE_BY_INSPECTOR.keys() | REFUSED.keys() | unprefixed


def test_events_repeat_within_a_run_only_where_that_is_known(decoded):
    repeating = {
        name.removesuffix(UNPREFIXED)
        for name, rows in decoded[0].items()
        if any(event["occurrence"] for event in rows["events"])
    }
    assert repeating == REPEATING


def _without_index(rows: Rows) -> Rows:
    for row in (row for table in rows.values() for row in table):
        del row["dump_index"]
    return rows


def _as_flatc_prints(rows: Rows) -> Rows:
    """The rows with doubles as flatc prints them (I5): 12 decimals, 6 for floats."""
    decimals = {"float": 6, "double": 12}
    values = [
        row | {"double_value": float(f"{row['double_value']:.{decimals[row['value_type']]}f}")}
        if row["double_value"] is not None
        else row
        for row in rows["debug_values"]
    ]
    return rows | {"debug_values": values}


def _event_counts(rows: Rows, run_index: int) -> Counter[str]:
    tables = {"profile_event": "events", "allocation_event": "allocations"}
    counts = Counter(
        member
        for member, table in tables.items()
        for row in rows[table]
        if row["run_index"] == run_index
    )
    debugs = {r["event_index"] for r in rows["debug_values"] if r["run_index"] == run_index}
    counts["debug_event"] = len(debugs)
    return counts


def _event_blocks(rows: Rows) -> list[Row]:
    """The Inspector's blocks: runs of one signature, the last sample of each event in each run."""
    runs = defaultdict(list)
    for run in rows["runs"]:
        if run["run_signature"] is not None:
            runs[run["run_signature"]].append(run["run_index"])
    wrapped = {e["run_index"] for e in rows["events"] if e["flags"] & 1}
    last = {
        (e["run_index"], e["event_signature"]): e | {"start": _logged(e, wrapped)}
        for e in rows["events"]
    }
    return [
        {
            "name": block.name,
            "bundled_input_index": block.bundled_input_index,
            "events": [
                _event(signature, [last.get((run, signature)) for run in members])
                for signature in block.events
            ],
        }
        for block, members in runs.items()
    ]


def _logged(event: Row, wrapped: set[int]) -> int:
    start: int = event["start"]
    return start % 2**32 if event["run_index"] in wrapped and start < 2**33 else start


def _event(signature: EventSignature, samples: list[Row | None]) -> Row:
    delegate_id = signature.delegate_id_int
    if delegate_id is None:
        delegate_id = signature.delegate_id_str
    name = str(delegate_id) if delegate_id is not None else signature.debug_name or signature.name
    starts = [sample["start"] for sample in samples if sample] if signature.is_profiled else None
    return {
        "name": name,
        "instruction_id": -1 if signature.instruction_id is None else signature.instruction_id,
        "delegate_debug_identifier": delegate_id,
        "start_time": starts,
    }


def _golden_event(event: Mapping[str, Any]) -> Row:
    keys = ("name", "instruction_id", "delegate_debug_identifier", "start_time")
    return {key: event[key] for key in keys}
