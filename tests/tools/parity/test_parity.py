"""The shipped corpus is explained, and what is wrong in it would be found."""

from __future__ import annotations

import copy
import zipfile
from dataclasses import replace
from functools import cache

import pytest

from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tests.tools.parity.bugs import Bug
from tests.tools.parity.errors import InspectorError
from tests.tools.parity.evidence import Dump, read_evidence
from tests.tools.parity.files import SUFFIX, Finding, find_goldens, judge_file
from tests.tools.parity.goldens import Variant, read_variants
from tests.tools.parity.objects import object_faults
from tests.tools.parity.ours import Answer, answer, drop_in
from tests.tools.parity.program import read_program
from tests.tools.parity.symbols import delegate_handles
from tests.tools.parity.totals import module_total
from tests.tools.parity.trial import Trial
from tests.tools.parity.verdicts import Outcome

GOLDENS = find_goldens(CORPUS)
DUMP, VARIANT = "real/traced_intdesc_n1_debug", "etrecord"
BLOCK_FIELDS = ("name", "bundled_input_index", "run_output", "reference_output")
NUMBERS = ("raw", "p10", "p50", "p90", "avg", "min", "max", "start_time")
EVENT_FIELDS = (
    "name",
    "instruction_id",
    "delegate_debug_identifier",
    "is_delegated_op",
    "delegate_backend_name",
    "debug_handles",
    "num_outputs",
    "op_types",
    *NUMBERS,
    "raw_delegate_debug_metadatas",
    "stack_traces",
    "module_hierarchy",
    "debug_data",
)


@cache
def _findings(index: int) -> list[Finding]:
    return judge_file(CORPUS, GOLDENS[index])


@cache
def _trial() -> tuple[Dump, Variant, Answer]:
    path = CORPUS / f"{DUMP}.etdp"
    variants = read_variants(CORPUS / f"{DUMP}{SUFFIX}")
    variant = next(variant for variant in variants if variant.name == VARIANT)
    return Dump(path), variant, answer(CORPUS, path, variant)


def _faults(variant: Variant, ours: Answer) -> list[str]:
    return list(Trial(variant, ours, read_evidence(CORPUS, _trial()[0], variant)).faults())


@pytest.mark.parametrize(
    "change",
    [
        lambda block: setattr(block, "name", "x"),
        lambda block: block.run_output.append(1),
        lambda block: block.events[0].perf_data.raw.append(1.0),
        lambda block: setattr(block.events[0], "debug_handles", 9),
        lambda block: block.events[0].stack_traces.update(x=None),
        lambda block: block.events[0].module_hierarchy.update(x=None),
        lambda block: block.events[0].debug_data.append(1),
        lambda block: block.events[0].debug_data[0].__setitem__(0, 99),
        lambda block: block.events[0].raw_delegate_debug_metadatas.append(b"x"),
    ],
)
def test_the_drop_ins_objects_are_compared(change):
    _, variant, ours = _trial()
    objects = drop_in(CORPUS, CORPUS / f"{DUMP}.etdp", variant).event_blocks
    assert list(object_faults(ours.blocks, objects)) == []
    event = objects[1].events[0]
    event.debug_data = [value.copy() for value in event.debug_data]  # the buffer is read-only
    change(objects[1])
    assert len(list(object_faults(ours.blocks, objects))) >= 1
    faulty = replace(ours, object_faults=("differs",))
    assert _faults(variant, faulty) == ["the drop-in is wrong: differs"]


@pytest.mark.parametrize(
    "index", cross_section(range(len(GOLDENS)), 6), ids=lambda index: GOLDENS[index].stem
)
def test_every_difference_from_the_inspector_is_explained_and_nothing_is_skipped(index):
    bad = (Outcome.UNEXPLAINED, Outcome.SKIPPED)
    assert [f for f in _findings(index) if f.verdict.outcome in bad] == []


@pytest.mark.slow
def test_the_shipped_corpus_shows_every_difference():
    verdicts = [finding.verdict for i in range(len(GOLDENS)) for finding in _findings(i)]
    assert set().union(*(verdict.bugs for verdict in verdicts)) == set(Bug)


@pytest.mark.parametrize("name", BLOCK_FIELDS)
def test_a_wrong_field_of_a_block_is_found(name):
    _, variant, ours = _trial()
    blocks = copy.deepcopy(ours.blocks)
    blocks[1][name] = ["wrong"]
    changed = replace(ours, blocks=blocks, tsv=None)
    assert any(f" {name}: " in fault for fault in _faults(variant, changed))


@pytest.mark.parametrize("name", EVENT_FIELDS)
def test_a_wrong_field_of_an_event_is_found(name):
    _, variant, ours = _trial()
    blocks = copy.deepcopy(ours.blocks)
    blocks[1]["events"][0][name] = ["wrong"]
    changed = replace(ours, blocks=blocks, tsv=None)
    assert any(f" {name}: " in fault for fault in _faults(variant, changed))


@pytest.mark.parametrize("name", EVENT_FIELDS)
def test_a_missing_field_of_an_event_is_found(name):
    _, variant, ours = _trial()
    blocks = copy.deepcopy(ours.blocks)
    del blocks[1]["events"][0][name]
    changed = replace(ours, blocks=blocks, tsv=None)
    assert any(f" {name}: " in fault for fault in _faults(variant, changed))


@pytest.mark.parametrize("name", EVENT_FIELDS)
def test_an_answer_of_the_inspector_that_no_bug_makes_is_found(name):
    _, variant, ours = _trial()
    golden = copy.deepcopy(dict(variant.answer))
    golden["event_blocks"][1]["events"][0][name] = {} if "stack" in name else ["wrong"]
    faults = _faults(replace(variant, answer=golden), ours)
    assert any(f" {name}: " in fault for fault in faults)


def test_a_wrong_module_total_is_found_on_either_side():
    _, variant, ours = _trial()
    wrong = dict.fromkeys(ours.totals, 1.0)
    assert _faults(variant, replace(ours, totals=wrong))
    assert _faults(replace(variant, answer={**variant.answer, "total_for_module": wrong}), ours)


def test_totals_by_key_are_of_that_key_and_totals_by_path_of_all_its_keys():
    dump, variant, ours = _trial()
    blocks = dump.blocks(frozenset())
    described = copy.deepcopy(Trial(variant, ours, read_evidence(CORPUS, dump, variant)).right)
    events = [event for block in described for event in block["events"]]
    for event in events:
        event["module_hierarchy"] = {}
    first, again = [e for e in events if e["is_delegated_op"] and e["debug_handles"]][:2]
    first["module_hierarchy"] = {"node": {"L__self__a": ["a", "Module"]}}
    again["module_hierarchy"] = {"node": {"L__self__a@1": ["a", "Module"]}}
    times = [sum(event["raw"]) / len(event["raw"]) for event in (first, again)]
    found = [
        module_total(blocks, described, name, frozenset())
        for name in ("L__self__a", "L__self__a@1", "a", "L__self__L__self__a")
    ]
    assert found == pytest.approx([*times, sum(times), sum(times)])


def test_a_record_whose_saving_raised_is_refused_by_the_inspector_alone(tmp_path):
    record = tmp_path / "model.etrecord"
    with zipfile.ZipFile(record, "w") as archive:
        archive.writestr("ETRECORD_V0", b"")
    program = read_program(record)
    program.require_forward(frozenset())
    with pytest.raises(InspectorError) as raised:
        program.require_forward(frozenset(Bug))
    golden = {"type": "TypeError", "message": "'NoneType' object is not subscriptable"}
    assert raised.value.is_like(golden)


def test_a_json_id_means_the_node_that_it_states():
    known = {"1": [1], "5": [5]}
    text = '{"operator": {"args": [1], "delegate_node_id": 5}}'
    assert delegate_handles(known, text, frozenset()) == [5]


def test_an_exception_that_no_bug_makes_is_found():
    _, variant, ours = _trial()
    exception = {"type": "ValueError", "message": "no reason"}
    assert _faults(replace(variant, answer={"exception": exception}), ours)


def test_a_table_of_other_cells_is_found():
    path = CORPUS / "real/mapping_demo_n3.etdp"
    [variant] = [v for v in read_variants(path.with_suffix(SUFFIX)) if v.name == "plain"]
    ours, evidence = answer(CORPUS, path, variant), read_evidence(CORPUS, Dump(path), variant)
    assert not list(Trial(variant, ours, evidence).faults())
    for changed in (replace(ours, tsv=f"{ours.tsv}more\n"), replace(ours, table="other")):
        assert list(Trial(variant, changed, evidence).faults())
