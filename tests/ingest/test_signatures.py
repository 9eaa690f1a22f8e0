"""Events and runs are told apart exactly as ExecuTorch's Inspector tells them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.etdump_strategies import SINGLE_EVENT, etdumps
from tests.support.plain_rows import Row, decoded_rows
from tests.support.plain_signatures import text
from tracehouse import decode_dumps
from tracehouse.ingest.signatures import EventSignature, event_signature_id, run_signature_id

Event = Mapping[str, Any]


@given(etdumps(SINGLE_EVENT))
def test_runs_group_by_the_inspectors_rule(content):
    rows = decoded_rows(decode_dumps([build_etdump(content)]))
    blocks = defaultdict(list)
    for run in rows["runs"]:
        if run["run_signature"] is not None:
            blocks[run["run_signature"]].append(run["run_index"])
    found = defaultdict(list)  # runs that differ in an unnamed kernel alone are one block there
    for block, members in blocks.items():
        found[block.name, tuple(map(_parts, block.events)), block.bundled_input_index] += members
    assert [(*key, sorted(members)) for key, members in found.items()] == _inspector_blocks(content)


def _inspector_blocks(content: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """What Inspector(etdump_path) makes of a dump: name, events, index and runs of each block."""
    blocks: dict[tuple[Any, ...], list[int]] = {}
    for run_index, run in enumerate(content.get("run_data", [])):
        if "events" not in run:
            continue
        signatures: dict[tuple[Any, ...], None] = {}
        for profile_events, debug_events in _instructions(run["events"]):
            debug_part = _signature(debug_events[0]) if debug_events else None
            for profile_event in profile_events:
                signatures[_signature(profile_event), debug_part] = None
            if debug_events and not profile_events:
                signatures[None, debug_part] = None
        block = (text(run.get("name")), tuple(signatures), run["bundled_input_index"])
        blocks.setdefault(block, []).append(run_index)
    return [(*block, members) for block, members in blocks.items()]


def _instructions(events: list[Event]) -> Iterable[tuple[list[Event], list[Event]]]:
    """Profile and debug events by (instruction, chain, delegate ids), in order of appearance."""
    instructions: dict[tuple[Any, ...], tuple[list[Event], list[Event]]] = {}
    for event in events:
        populated = event["profile_event"] if "profile_event" in event else event["debug_event"]
        key = (
            populated["instruction_id"],
            populated["chain_index"],
            populated["delegate_debug_id_int"],
            populated.get("delegate_debug_id_str"),
        )
        profile_events, debug_events = instructions.setdefault(key, ([], []))
        if "profile_event" in event:
            profile_events.append(populated)
        elif not populated.get("debug_entry", {}).get("output", {}).get("bool_val"):
            debug_events.append(populated)
    return instructions.values()


def _signature(event: Event) -> tuple[Any, ...]:
    return (
        text(event.get("name") or ""),
        None if event["instruction_id"] == -1 else event["instruction_id"],
        None if event["delegate_debug_id_int"] == -1 else event["delegate_debug_id_int"],
        text(event.get("delegate_debug_id_str") or None),
    )


def _parts(signature: Any) -> tuple[Any, Any]:
    ids = (signature.instruction_id, signature.delegate_id_int, signature.delegate_id_str)
    return (
        (signature.name, *ids) if signature.is_profiled else None,
        (signature.debug_name, *ids) if signature.is_logged else None,
    )


@pytest.mark.slow
@given(etdumps(), etdumps(), st.booleans())
def test_ids_depend_on_the_signature_alone(content, other, size_prefixed):
    alone = decode_dumps([build_etdump(content)]).tables
    among = decode_dumps(
        [build_etdump(other), build_etdump(content, size_prefixed=size_prefixed)]
    ).tables
    for table in ("event_signatures", "run_signatures"):
        rows = among[table].to_pylist()
        assert all(row in rows for row in alone[table].to_pylist())


@pytest.mark.slow
@given(etdumps())
def test_ids_are_positive_and_one_signature_has_one_row(content):
    tables = decode_dumps([build_etdump(content)] * 2).tables
    for table, key in (
        ("event_signatures", "event_signature_id"),
        ("run_signatures", "run_signature_id"),
    ):
        ids = tables[table].column(key).to_pylist()
        assert len(set(ids)) == len(ids)
        assert all(0 <= id_ < 2**63 for id_ in ids)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "a"}, {"name": "b"}),
        ({"name": "a", "instruction_id": 0}, {"name": "a", "instruction_id": 1}),
        ({"name": "a", "instruction_id": 0}, {"name": "a"}),
        ({"delegate_debug_id_int": 0}, {}),
        ({"delegate_debug_id_int": 1}, {"delegate_debug_id_str": "1"}),
        (
            {"name": "ab", "delegate_debug_id_str": "c"},
            {"name": "a", "delegate_debug_id_str": "bc"},
        ),
        ({"name": b"\xff"}, {"name": b"\xfe"}),
    ],
)
def test_different_events_have_different_ids(one, other):
    assert _event_id(one) != _event_id(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "a"}, {"name": "a", "chain_index": 3}),
        ({"name": "a"}, {"name": "a", "start_time": 5, "end_time": 6}),
        ({"name": "a"}, {"name": "a", "delegate_debug_metadata": b"xyz"}),
        ({"name": ""}, {}),
        ({"delegate_debug_id_str": ""}, {}),
    ],
)
def test_chain_clock_metadata_and_empty_texts_do_not_count(one, other):
    assert _event_id(one) == _event_id(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"name": "Execute"}, {"name": "Default"}),
        ({"name": ""}, {}),
        ({"bundled_input_index": 0}, {}),
    ],
)
def test_runs_with_equal_events_differ_by_name_and_bundled_input(one, other):
    assert _run_id(one | {"events": []}) != _run_id(other | {"events": []})


def test_order_of_events_counts():
    one = [{"profile_event": {"name": name}} for name in "ab"]
    other = [{"profile_event": {"name": name, "instruction_id": 0}} for name in "ab"]
    ids = {_run_id({"events": events}) for events in (one, one[::-1], other, other[::-1])}
    assert len(ids) == 4


def test_loops_of_different_length_share_a_run_signature():
    event = {"profile_event": {"name": "loop", "instruction_id": 7}}
    assert _run_id({"events": [event]}) == _run_id({"events": [event] * 30})


def test_program_outputs_do_not_count():
    event = {"profile_event": {"name": "op", "instruction_id": 7}}
    value = {"val": "Int", "int_value": {"int_val": 1}, "output": {"bool_val": True}}
    output = {"debug_event": {"instruction_id": 7, "debug_entry": value}}
    assert _run_id({"events": [event]}) == _run_id({"events": [event, output]})


def test_run_signatures_depend_on_logged_events_but_not_their_values():
    event = {"profile_event": {"name": "op", "instruction_id": 7}}
    values = [{"val": "Int", "int_value": {"int_val": number}} for number in (1, 2)]
    logged = [{"debug_event": {"instruction_id": 7, "debug_entry": value}} for value in values]
    ids = [_run_id({"events": [*log, event]}) for log in ([], logged[:1], logged[1:], logged)]
    assert ids[0] != ids[1]
    assert ids[1] == ids[2] == ids[3]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"name": "Method::execute", "instruction_id": 0}, "method"),
        ({"name": "Method::init"}, "load"),
        ({"name": "Program::load_method"}, "load"),
        ({"name": "OPERATOR_CALL", "instruction_id": 3}, "operator_call"),
        ({"name": "native_call_add.out", "instruction_id": 3}, "kernel"),
        ({"name": "DELEGATE_CALL", "instruction_id": 3}, "delegate_call"),
        ({"name": "delegate_execute"}, "delegate_call"),
        ({"delegate_debug_id_int": 0}, "delegate_op"),
        ({"name": "OPERATOR_CALL", "delegate_debug_id_str": "Conv #1"}, "delegate_op"),
        ({"delegate_debug_id_str": "VGF_COPY_INPUTS"}, "delegate_phase"),
        ({"delegate_debug_id_str": "ETVK_EXECUTE"}, "delegate_phase"),
        ({"delegate_debug_id_str": "VGF_COPY_INPUTS #1"}, "delegate_op"),
        ({"delegate_debug_id_str": "VGF_EXECUTE", "delegate_debug_id_int": 4}, "delegate_op"),
        ({"name": "VGF_EXECUTE"}, "other"),
        ({"name": "JF_CALL"}, "control"),
        ({"name": "MOVE_CALL"}, "control"),
        ({"name": "native_call"}, "other"),
        ({}, "other"),
    ],
)
def test_kind_follows_from_name_and_delegate_id(event, kind):
    tables = _decode([{"events": [{"profile_event": event}]}])
    assert tables["event_signatures"].column("kind").to_pylist() == [kind]


@pytest.mark.parametrize("name", ["real/map_portable_n3", "real/twins_portable", "capi/repeat"])
def test_events_are_ordered_by_dump_signatures_run_and_occurrence(name):
    dump = read_dump(name)
    tables = decode_dumps([dump, dump]).tables
    rank = {
        (row["run_signature_id"], event): i
        for row in tables["run_signatures"].to_pylist()
        for i, event in enumerate(row["events"])
    }
    keys = [
        (
            row["dump_index"],
            row["run_signature_id"],
            rank[row["run_signature_id"], row["event_signature_id"]],
            row["run_index"],
            row["occurrence"],
        )
        for row in tables["events"].to_pylist()
    ]
    assert len(set(keys)) == len(keys)
    blocks = list(dict.fromkeys(key[:2] for key in keys))
    assert keys == sorted(keys, key=lambda key: (blocks.index(key[:2]), *key[2:]))


def _decode(runs: list[Row]) -> dict[str, Any]:
    batch = decode_dumps([build_etdump({"run_data": runs})])
    assert batch.errors.num_rows == 0
    return batch.tables


def _event_id(event: Row) -> int:
    (row,) = _decode([{"events": [{"profile_event": event}]}])["event_signatures"].to_pylist()
    return int(row["event_signature_id"])


def _run_id(run: Row) -> int:
    (row,) = _decode([run])["runs"].to_pylist()
    return int(row["run_signature_id"])


@pytest.mark.parametrize(
    ("signature", "pinned"),
    [
        (EventSignature(b"native_call_add.out", 3, None, None, None), 8967670509733627152),
        (EventSignature(None, None, 7, None, b""), 3939916086486119413),
        (EventSignature(b"", 2, None, "畳み込み".encode(), b"x"), 106996221036378055),
        (EventSignature(b"\xff", -(2**31), -5, b"a", None), 552179637449925619),
        (
            EventSignature(b"my kernel", 3, None, None, None, is_unnamed_kernel=True),
            7962762119164638124,
        ),
    ],
)
def test_event_signature_ids_are_pinned_for_ever(signature, pinned):
    """Stores on disk hold these ids: the encoding must not change."""
    assert event_signature_id(signature) == pinned


def test_run_signature_ids_are_pinned_for_ever():
    assert run_signature_id(b"Execute", [1, 2**63 - 1], -1) == 3417511710479827017
    assert run_signature_id(None, [], 4) == 7612982186388498012


def _kinds(*runs):
    """Kinds of the events of runs, by name, given as (name, instruction, chain, delegate id)."""
    events = [
        [
            {
                "profile_event": {
                    "name": name, "chain_index": chain, "instruction_id": instruction,
                    "delegate_debug_id_int": delegate, "start_time": 0, "end_time": 1,
                }
            }
            for name, instruction, chain, delegate in run
        ]
        for run in runs
    ]  # fmt: skip
    content = {"version": 0}
    content["run_data"] = [{"bundled_input_index": -1, "events": run} for run in events]
    tables = decode_dumps([build_etdump(content)]).tables
    rows = {row["event_signature_id"]: row for row in tables["event_signatures"].to_pylist()}
    order = {row["run_signature_id"]: row["events"] for row in tables["run_signatures"].to_pylist()}
    return [
        [(rows[id_]["name"], rows[id_]["kind"]) for id_ in order[run["run_signature_id"]]]
        for run in tables["runs"].to_pylist()
    ]


def _run(*names, chain=0):
    return [(name, 3, chain, -1) for name in names]


@pytest.mark.parametrize(
    ("run", "kernels"),
    [
        (_run("native_call_add.out", "OPERATOR_CALL"), {"native_call_add.out"}),
        (_run("llama::custom_sdpa.out", "OPERATOR_CALL"), {"llama::custom_sdpa.out"}),
        (_run("torch_ao::a::b.out"), {"torch_ao::a::b.out"}),
        (_run("native_call_a::b.out"), {"native_call_a::b.out"}),
        (_run("my kernel", "OPERATOR_CALL"), {"my kernel"}),
        (_run("", "OPERATOR_CALL"), {""}),
        (_run("my kernel"), set()),
        (_run("my kernel", "DELEGATE_CALL"), set()),
        (_run("first", "second", "OPERATOR_CALL"), {"first", "second"}),
        (_run("a::b.out", "native_call_c.out", "OPERATOR_CALL"), {"a::b.out", "native_call_c.out"}),
        (_run("its part", "native_call_add.out", "OPERATOR_CALL"), {"native_call_add.out"}),
        (_run("its part", "a::b.out", "OPERATOR_CALL"), {"a::b.out"}),
        (_run("my kernel", "OPERATOR_CALL", "Method::step") * 2, {"my kernel"}),
        (_run("JF_CALL", "EthosUBackend::execute()", "OPERATOR_CALL"), set()),
        (_run("a::b"), set()),
        (_run("a.b"), set()),
        (_run("my kernel") + _run("OPERATOR_CALL", chain=1), set()),
        ([("my kernel", 3, 0, -1), ("OPERATOR_CALL", 4, 0, -1)], set()),
        ([("my kernel", 3, 0, 1), ("OPERATOR_CALL", 3, 0, -1)], set()),
        ([("my kernel", 3, 0, 1), ("OPERATOR_CALL", 3, 0, 1)], set()),
    ],
)  # fmt: skip
def test_a_kernel_is_recognised_by_its_name_or_alone_in_an_operator_call(run, kernels):
    (found,) = _kinds(run)
    assert {name for name, kind in found if kind == "kernel"} == kernels


def test_an_event_may_be_a_kernel_in_one_run_and_unknown_in_another():
    inside, alone = _run("mine", "OPERATOR_CALL"), _run("mine")
    first, second, third = _kinds(inside, alone, inside)
    assert first == third == [("mine", "kernel"), ("OPERATOR_CALL", "operator_call")]
    assert second == [("mine", "other")]


def test_long_runs_have_the_kernels_of_short_ones():
    run = _run("mine", "OPERATOR_CALL", "outside")
    assert (
        _kinds(run * 300)
        == _kinds(run)
        == [[("mine", "kernel"), ("OPERATOR_CALL", "operator_call"), ("outside", "other")]]
    )
