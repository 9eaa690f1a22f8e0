from __future__ import annotations

import shutil

import pytest

from tests.support.nightly_farm import nightly_store
from tests.support.softplus import softplus_group, softplus_report, softplus_store, unpack_softplus
from tracehouse import Warehouse
from tracehouse.queries.explain.content import ProgramChange
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings


def test_a_wider_layer_and_a_lost_delegate_are_found(explained):
    text = "\n".join(explained.findings)
    assert "only the head runs body.0.act (Softplus)" in text
    assert "XnnpackBackend has 4 calls of 10 operators, had 2 calls of 8 operators" in text
    assert "float32[32, 16, 3, 3]" in text
    (programs,) = explained.programs
    changed = {one.name: one.change for one in programs.changes if one.part == "operator"}
    assert changed["body.0.conv: aten.convolution.default"] == "changed"
    assert changed["body.0.act: aten.relu.default"] == "removed"
    assert changed["body.0.act: aten.log1p.default"] == "added"
    assert programs.missing == []


def test_the_slower_operator_is_found_in_both_programs(explained):
    (found, *_) = explained.programs[0].operators
    assert found.name == "Convolution IGEMM #2"
    assert (found.base.modules, found.head.modules) == (["body.0.conv"], ["body.0.conv"])
    assert (found.is_same, found.head.where) == (False, "XnnpackBackend")


def test_the_commands_of_the_alert_reproduce_it(explained):
    assert explained.commands == explained.group.commands[1:]
    assert explained.commands[0].startswith("tracehouse compare b6 b7 --device lab-x86")


def test_an_explanation_of_the_same_store_is_the_same(explained, softplus):
    assert explain_group(softplus, softplus_report(), explained.group.id) == explained


def test_measures_without_noise_are_explained_too(softplus):
    report = nightly_report(softplus, Settings(), head="b7")  # where the program changed
    (group,) = (one for one in report.groups if one.headline.operator == "delegate_call_count")
    found = explain_group(softplus, report, group.id)
    assert found.group.members[0].event_name == "delegate_call_count"
    assert found.programs[0].changes
    assert found.times == []  # nothing became slower


@pytest.fixture(scope="module")
def unrecorded():
    """The explanation of a group whose dumps came without ETRecords."""
    with Warehouse.open(nightly_store(), read_only=True) as store:
        report = nightly_report(store, Settings())
        yield explain_group(store, report, report.groups[0].id)


def test_explain_without_etrecords_compares_times_and_asks_for_programs(unrecorded):
    (programs,) = unrecorded.programs
    assert programs.missing == ["no dump of b8 has an ETRecord", "no dump of b9 has an ETRecord"]
    (times,) = unrecorded.times
    rows = {part.name: part for part in times.frame.parts}
    convolution = rows["convolution #1"]
    assert times.breakdown == unrecorded.group.breakdowns[0]
    assert convolution.is_member
    assert 1.1 < convolution.head / convolution.base < 1.2
    assert unrecorded.place_count == 2


def test_the_etrecord_of_one_build_is_asked_for_by_name_and_may_come_later(tmp_path):
    builds = unpack_softplus(tmp_path)
    record = (builds / "b8/model.etrecord").rename(tmp_path / "bad.etrecord")
    (builds / "b7/model.etrecord").unlink()
    with Warehouse.open(tmp_path / "s", create=True) as store:
        store.ingest([builds])
        found = explain_group(store, softplus_report(), softplus_group())
        assert found.programs[0].missing == ["no dump of b7 has an ETRecord"]
        assert found.programs[0].changes == []
        store.ingest([builds / "b7/000.etdp"], etrecord=record)
        found = explain_group(store, softplus_report(), softplus_group())
    assert found.programs[0].missing == []
    assert found.programs[0].changes != []


def test_the_same_program_in_both_builds_is_ruled_out_as_the_cause(tmp_path):
    builds = unpack_softplus(tmp_path)
    for build in ("b7", "b8"):
        shutil.copy(builds / "b6/model.etrecord", builds / build)
    with Warehouse.open(tmp_path / "s", create=True) as store:
        store.ingest([builds])
        found = explain_group(store, softplus_report(), softplus_group())
    assert found.programs[0].is_same
    assert any("both builds ran the same program" in text for text in found.findings)


def test_differences_of_files_stand_in_for_missing_programs():
    change = ProgramChange(change="added", part="operator", name="x", base=None, head="1")
    with Warehouse.open(softplus_store(), read_only=True) as store:
        found = explain_group(store, softplus_report(), softplus_group(), files=[change])
    assert found.programs[0].changes[-1] == change


def test_an_alert_recorded_only_before_or_after_the_change_says_so(softplus):
    report = softplus_report()
    alone = report.groups[0].members[0]
    alone = alone.model_copy(update={"history": alone.history[-1:]})
    lonely = report.groups[0].model_copy(update={"members": [alone], "explains": []})
    found = explain_group(softplus, report.model_copy(update={"groups": [lonely]}), lonely.id)
    assert found.findings == [
        "No place of the alert was recorded both before and since the change."
    ]
    assert (found.times, found.programs, found.facts) == ([], [], [])
