"""ETDumps built from plain data decode to that data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.etdump_builder import build_etdump
from tests.support.etdump_strategies import etdumps
from tests.support.plain_rows import Row, decoded_rows, expected_rows
from tests.support.reference_reader import is_size_prefixed, read_reference
from tracehouse import decode_dumps


@given(st.lists(st.tuples(etdumps(), st.booleans()), max_size=2))
def test_any_content_round_trips_through_bytes_and_tables(dumps):
    files = [build_etdump(content, size_prefixed=prefixed) for content, prefixed in dumps]
    batch = decode_dumps(files)
    assert batch.errors.num_rows == 0
    assert decoded_rows(batch) == expected_rows(
        {
            i: (file, content)
            for i, (file, (content, _)) in enumerate(zip(files, dumps, strict=True))
        }
    )


@given(etdumps(), st.booleans())
def test_reference_reader_reads_what_was_built(content, size_prefixed):
    file = build_etdump(content, size_prefixed=size_prefixed)
    assert len(file) % 8 == 0
    assert is_size_prefixed(file) == size_prefixed
    assert repr(_in_key_order(read_reference(file))) == repr(_in_key_order(content))


def test_content_that_only_has_defaults_is_the_same_as_absent_fields():
    explicit = _profile_dump({"name": "a", "chain_index": 0, "instruction_id": -1, "start_time": 0})
    assert explicit == _profile_dump({"name": "a"})


def test_the_smallest_bare_dump_is_read():
    file = build_etdump({}, size_prefixed=False)
    assert len(file) == 16
    assert _decode(file)["dumps"][0]["n_runs"] == 0


@pytest.mark.parametrize("size_prefixed", [True, False])
def test_dump_without_runs_has_a_row_and_nothing_else(size_prefixed):
    rows = _decode(build_etdump({"version": 0, "run_data": []}, size_prefixed=size_prefixed))
    assert {table for table, found in rows.items() if found} == {"dumps"}
    assert rows["dumps"][0]["is_size_prefixed"] == size_prefixed


def test_unknown_schema_version_is_recorded():
    rows = _decode(build_etdump({"version": 2**32 - 1, "run_data": []}))
    assert rows["dumps"][0]["schema_version"] == 2**32 - 1


def test_run_without_an_event_vector_has_no_signature_and_one_with_an_empty_vector_has():
    runs = [{"name": "Execute"}, {"name": "Execute", "events": []}]
    without, empty = _decode(build_etdump({"run_data": runs}))["runs"]
    assert without["run_signature"] is None
    assert empty["run_signature"] == ("Execute", -1, ())


def test_event_with_several_members_keeps_them_all():
    event = {
        "profile_event": {"name": "op", "instruction_id": 4},
        "allocation_event": {"allocator_id": 1, "allocation_size": 2**64 - 1},
        "debug_event": {"instruction_id": 4, "debug_entry": {"val": "Int", "int_value": {}}},
    }
    allocators = [{"name": "pool"}]
    rows = _decode(build_etdump({"run_data": [{"allocators": allocators, "events": [event, {}]}]}))
    (dump,) = rows["dumps"]
    assert dump["n_events"] == dump["n_allocations"] == dump["n_debug_events"] == 1
    assert dump["n_empty_events"] == 1
    assert rows["events"][0]["event_signature"].is_logged
    assert rows["allocations"][0]["allocator"] == "pool"
    assert rows["allocations"][0]["bytes"] == 2**64 - 1
    assert rows["debug_values"][0]["int_value"] == 0


def test_name_that_is_not_utf8_is_shown_escaped_and_kept_as_hex():
    rows = _decode(_profile_dump({"name": b"caf\xe9"}))
    signature = rows["events"][0]["event_signature"]
    assert (signature.name, signature.name_hex) == ("caf\\xe9", "636166e9")


def test_name_that_looks_escaped_is_not_taken_for_the_raw_bytes():
    events = [{"profile_event": {"name": name}} for name in (b"caf\xe9", "caf\\xe9")]
    rows = _decode(build_etdump({"run_data": [{"events": events}]}))
    assert len({event["event_signature"] for event in rows["events"]}) == 2


def test_loops_keep_every_occurrence():
    clocks = [(10, 14), (20, 25), (30, 36)]
    events = [
        {"profile_event": {"name": "loop", "start_time": start, "end_time": end}}
        for start, end in clocks
    ]
    rows = _decode(build_etdump({"run_data": [{"events": events}]}))
    found = [(event["occurrence"], event["start"], event["end"]) for event in rows["events"]]
    assert found == [(i, start, end) for i, (start, end) in enumerate(clocks)]


@pytest.mark.parametrize(
    ("start", "end", "duration", "flags"),
    [
        (5, 5, 0, 0),
        (5, 12, 7, 0),
        (2**32 - 1, 0, 1, 1),
        (2**32 - 1, 2**32 - 2, 2**32 - 1, 1),
        (1, 0, 2**32 - 1, 1),
        (2**32, 0, -(2**32), 2),
        (2**64 - 1, 2**64 - 2, -1, 2),
        (2**64 - 1, 4, 5, 2),
        (0, 2**63 - 1, 2**63 - 1, 0),
        (0, 2**63, -(2**63), 4),
        (0, 2**64 - 1, -1, 4),
    ],
)
def test_duration_is_corrected_for_32_bit_wrap_and_flagged_where_it_cannot_be_right(
    start, end, duration, flags
):
    dump = _profile_dump({"name": "op", "start_time": start, "end_time": end})
    tables = decode_dumps([dump]).tables
    (event,) = tables["events"].to_pylist()
    assert (event["duration_ticks"], event["flags"]) == (duration, flags)
    assert int(tables["runs"].to_pylist()[0]["start_ticks"]) == start
    assert tables["dumps"].to_pylist()[0]["n_flagged_events"] == (flags > 1)


@pytest.mark.parametrize(
    ("starts", "run_start", "offsets"),
    [
        ([30, 10, 20], 10, [20, 0, 10]),
        ([2**63 + 7, 2**63], 2**63, [7, 0]),
        ([2**64 - 1, 2, 2**64 - 3], 2**64 - 3, [2, 5, 0]),
    ],
    ids=["ordinary", "above 2^63", "passing 2^64"],
)
def test_starts_are_offsets_from_the_earliest_of_their_run(starts, run_start, offsets):
    events = [
        {"profile_event": {"name": "op", "instruction_id": i, "start_time": s, "end_time": s}}
        for i, s in enumerate(starts)
    ]
    tables = decode_dumps([build_etdump({"run_data": [{"events": events}]})]).tables
    assert int(tables["runs"].to_pylist()[0]["start_ticks"]) == run_start
    assert tables["events"].column("start_offset_ticks").to_pylist() == offsets


def test_allocation_from_an_unknown_allocator_has_no_name():
    events = [{"allocation_event": {"allocator_id": number}} for number in (0, 1, 2, -1, 2**31 - 1)]
    run = {"allocators": [{"name": "pool"}], "events": events}
    rows = _decode(build_etdump({"run_data": [{"allocators": [{"name": "other"}]}, run]}))
    assert [row["allocator"] for row in rows["allocations"]] == [None, "pool", None, None, None]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {"value_type": "missing"}),
        ({"val": "Null"}, {"value_type": "null"}),
        ({"val": "String"}, {"value_type": "string"}),
        ({"val": 99}, {"value_type": "unknown(99)"}),
        ({"val": "Int"}, {"value_type": "int", "int_value": None}),
        ({"val": "Bool", "bool_value": {"bool_val": True}}, {"value_type": "bool", "int_value": 1}),
        (
            {"val": "Float", "float_value": {"float_val": 0.1}},
            {"double_value": 0.10000000149011612},
        ),
        ({"val": "Double", "double_value": {"double_val": 5e-324}}, {"double_value": 5e-324}),
        ({"val": "Int", "double_value": {"double_val": 1.0}}, {"double_value": None}),
        ({"val": "Tensor"}, {"dtype": None, "sizes": None, "tensor_offset": None}),
        (
            {"val": "Tensor", "tensor": {"scalar_type": 77, "sizes": []}},
            {"dtype": "unknown(77)", "sizes": [], "strides": None, "tensor_offset": 0},
        ),
        ({"val": "TensorList"}, {"value_type": "tensor_list", "element_index": None}),
        ({"val": "Null", "output": {"bool_val": True}}, {"is_output": True}),
        ({"val": "Null", "output": {}}, {"is_output": False}),
    ],
)
def test_logged_value_is_decoded_by_its_type(value, expected):
    event = {"debug_event": {} if value is None else {"debug_entry": value}}
    (row,) = _decode(build_etdump({"run_data": [{"events": [event]}]}))["debug_values"]
    assert row | expected == row


def test_tensor_list_has_one_row_per_tensor():
    tensors = [{"scalar_type": "FLOAT", "sizes": [2, 3]}, {"scalar_type": "LONG", "sizes": [1]}]
    value = {"val": "TensorList", "tensor_list": {"tensors": tensors}}
    events = [{"debug_event": {"debug_entry": value}}, {"debug_event": {}}]
    rows = _decode(build_etdump({"run_data": [{"events": events}]}))["debug_values"]
    found = [(row["position"], row["element_index"], row["dtype"], row["sizes"]) for row in rows]
    assert found == [(0, 0, "float32", [2, 3]), (0, 1, "int64", [1]), (1, None, None, None)]


def test_values_above_2_63_survive_in_chain_indices():
    event = {"debug_event": {"chain_index": 2**64 - 1}}
    (row,) = _decode(build_etdump({"run_data": [{"events": [event]}]}))["debug_values"]
    assert row["chain_index"] == -1


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_like_object_is_a_dump(kind):
    assert decode_dumps([kind(_profile_dump({"name": "op"}))]).tables["events"].num_rows == 1


def test_a_call_without_dumps_gives_empty_tables():
    batch = decode_dumps([])
    assert batch.errors.num_rows == 0
    assert {table.num_rows for table in batch.tables.values()} == {0}


def _profile_dump(event: dict[str, Any]) -> bytes:
    return build_etdump({"run_data": [{"events": [{"profile_event": event}]}]})


def _decode(file: bytes) -> dict[str, list[Row]]:
    batch = decode_dumps([file])
    assert batch.errors.to_pylist() == []
    return decoded_rows(batch)


def _in_key_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_key_order(value[key]) for key in sorted(value)}
    return [_in_key_order(item) for item in value] if isinstance(value, list) else value
