"""The audit finds nothing that is not listed, and would find what is wrong."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path

import pytest

from tests.support.reference_reader import DumpFault, read_reference
from tests.tools.audit import audit, made_farms, shipped_farms  # noqa: F401 - they fill MAKERS
from tests.tools.audit.audit import Tally, audit_farm, explain
from tests.tools.audit.comparing import ORDER, ROWS, Difference, compare_order, compare_rows
from tests.tools.audit.differences import KNOWN, ORACLE, UNAUDITED, KnownDifference
from tests.tools.audit.farms import MAKERS
from tests.tools.audit.oracles import NOT_COMPUTED, ORACLES
from tests.tools.audit.questions import QUESTIONS, Question
from tests.tools.audit.surfaces import REFERENCE, SURFACES, stored
from tracehouse.warehouse.catalogue.queries import list_queries

QUICK_FARMS = ("faults", "coarse_memory")
ALIKE = ("widened", "nights")  # shipped dumps as in the other farms; `make audit` takes them too
QUICK_SURFACES = ("lake", "store without raw events")
QUICK_QUESTIONS = {
    "faults/dump_values", "faults/percentiles", "faults/build_history event=*", "faults/coverage",
    "faults/framework_tax scope=all", "faults/outlier_runs", "faults/data_quality",
}  # fmt: skip


def _questions(farm: str) -> list[Question]:
    return [question for question in QUESTIONS if question.farm == farm]


@pytest.mark.parametrize(
    "farm",
    [
        pytest.param(name, marks=[] if name in QUICK_FARMS else [pytest.mark.slow])
        for name in MAKERS
        if name not in ALIKE
    ],
)
def test_answers_are_those_of_an_independent_computation(farm: str) -> None:
    assert audit_farm(MAKERS[farm](), _questions(farm), []).faults == []


def test_lake_and_a_store_without_raw_events_answer_as_the_store_does() -> None:
    surfaces = [one for one in SURFACES if one.name in QUICK_SURFACES]
    questions = [question for question in QUESTIONS if question.name in QUICK_QUESTIONS]
    assert len(questions) == len(QUICK_QUESTIONS)
    found = audit_farm(MAKERS["faults"](), questions, surfaces, by_oracles=False)
    assert found.faults == []
    assert found.answers == len(surfaces) * len(questions)


@pytest.mark.slow
@pytest.mark.parametrize("third", range(3))
def test_all_surfaces_answer_as_the_store_does(third: int) -> None:
    """Each question is asked on a third of the surfaces; `make audit` asks all of all farms."""
    surfaces = [one for one in SURFACES if not one.needs()][third::3]
    questions = _questions("faults")[third::3]
    found = audit_farm(MAKERS["faults"](), questions, surfaces, by_oracles=False)
    assert found.faults == []
    assert found.answers == len(surfaces) * len(questions)


def test_every_canned_query_has_an_oracle_or_a_reason() -> None:
    assert {*list_queries()} == set(ORACLES) | set(NOT_COMPUTED)
    assert not set(ORACLES) & set(NOT_COMPUTED)
    assert {question.query for question in QUESTIONS} == {*list_queries()}


def test_every_farm_is_asked_and_every_listed_difference_is_of_a_question() -> None:
    assert {question.farm for question in QUESTIONS} == set(MAKERS)
    for known in KNOWN:
        assert any(known.is_of(known.against, question.name) for question in QUESTIONS), known


def test_column_without_an_oracle_is_a_fault_unless_it_is_excused() -> None:
    tally = Tally(columns={"stability": {"note", "cv", "new"}}, computed={"stability": {"cv"}})
    assert tally.uncomputed == ["stability: no oracle works out new"]
    tally.computed["stability"].add("note")
    tally.columns["stability"].remove("new")
    (excused,) = tally.uncomputed
    assert "note is on the list of UNAUDITED columns" in excused
    assert "note" in UNAUDITED["stability"]


ROW = {"device": "phone", "count": 3, "p50_ns": 100.0, "note": None}


@pytest.mark.parametrize(
    ("column", "value"), [("device", "tablet"), ("count", 4), ("p50_ns", 100.001), ("note", "x")]
)
def test_changed_value_is_found(column: str, value: object) -> None:
    found = compare_rows([ROW | {column: value}], [ROW], list(ROW))
    assert [one.column for one in found] == [column]


def test_null_and_zero_differ_and_last_digits_do_not() -> None:
    assert compare_rows([ROW | {"p50_ns": None}], [ROW | {"p50_ns": 0.0}], list(ROW))
    assert not compare_rows([ROW | {"p50_ns": 100.0 + 1e-12}], [ROW], list(ROW))


def test_missing_row_and_another_order_are_found() -> None:
    other = ROW | {"device": "tablet"}
    assert [one.column for one in compare_rows([ROW], [ROW, other], list(ROW))] == [ROWS]
    assert compare_order([other, ROW], [ROW, other], list(ROW))[0].column == ORDER
    assert not compare_rows([other, ROW], [ROW, other], list(ROW))


def test_bound_of_an_approximation_is_held() -> None:
    bounds = {"p50_ns": "error"}
    rows = [{"p50_ns": 101.0, "error": 0.01}]
    assert not compare_rows(rows, [{"p50_ns": 100.0}], ["p50_ns"], bounds=bounds)
    assert compare_rows(rows, [{"p50_ns": 103.0}], ["p50_ns"], bounds=bounds)


def test_difference_that_is_not_listed_is_a_fault_and_so_is_one_that_is_gone() -> None:
    question = Question("plain", "stability", {})
    listed = [KnownDifference(ORACLE, "plain/stability", ("cv",), "a reason")]
    cv, drift = (Difference(name, "", 1, 2) for name in ("cv", "drift"))
    assert [one.is_fault for one in explain(ORACLE, question, [cv], listed)] == [False]
    assert [one.is_fault for one in explain(ORACLE, question, [cv, drift], listed)] == [False, True]
    (gone,) = explain(ORACLE, question, [], listed)
    assert gone.is_fault
    assert "no longer differs in cv: take it off the list" in str(gone)


def test_wrong_answer_of_a_query_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    params = [question for question in QUESTIONS if question.name == "memory/memory_totals"]
    right = ORACLES["memory_totals"]

    def wrong(dumps, params):
        rows = copy.deepcopy(right(dumps, params))
        rows[-1]["peak_bytes"] += 1
        return rows

    monkeypatch.setitem(audit.ORACLES, "memory_totals", wrong)
    (fault,) = audit_farm(MAKERS["memory"](), params, []).faults
    assert "memory/memory_totals: peak_bytes: found" in fault


def test_farms_are_made_alike_each_time(tmp_path: Path) -> None:
    made = [MAKERS["faults"]().write(tmp_path / str(number)) for number in range(2)]
    assert [path.read_bytes() for path in made[0]] == [path.read_bytes() for path in made[1]]
    assert REFERENCE.name not in {one.name for one in SURFACES}


def test_refused_files_are_refused_for_the_reference_readers_reason() -> None:
    farm = MAKERS["faults"]()
    with stored(farm) as store, REFERENCE.open(store) as ask:
        rows = ask("ingest_errors").to_pylist()
    found = {row["sha256"]: (row["reason"], row["is_resolved"]) for row in rows}
    wanted = {}
    for data in farm.broken.values():
        with pytest.raises(DumpFault) as caught:
            read_reference(data)
        wanted[hashlib.sha256(data).hexdigest()] = caught.value.reason, False
    assert found == wanted
    assert len({reason for reason, _ in wanted.values()}) == len(farm.broken)
