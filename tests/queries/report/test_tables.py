from __future__ import annotations

import pytest

from tests.support.reports import full_report, report
from tracehouse.queries.report.content import RefusedFile, RunShift
from tracehouse.queries.report.parts import ExactChange
from tracehouse.queries.report.tables import Listing, _added_up, changes, evidence

TABLES = {table.title: table for table in (*changes(full_report()), *evidence(full_report()))}


@pytest.mark.parametrize(
    ("title", "row"),
    [
        (
            "New, removed and moved operators",
            ("added", "pixel8 · mobilenet_v2 · xnnpack", "clone #9",
             "+18.40 µs", "after #8"),
        ),
        (
            "Exact measures",
            ("pixel8 · mobilenet_v2 · xnnpack", "allocated_bytes",
             "1,048,576", "1,310,720", "+262,144"),
        ),
        ("Environment", ("s24 · llama_1b · vulkan", "os_version", "14", "15")),
        ("Whole runs", ("pixel8 · mobilenet_v2 · xnnpack", "+3.4 %", "3.0 %")),
        ("Framework tax", ("pixel8 · mobilenet_v2 · xnnpack", "3.2 %", "3.4 %", "+0.2")),
        ("No data of the head", ("watch2 · kws", "b38", "")),
        ("Too little data", ("iphone15 mobilenet_v2 coreml: 2 dumps, 5 wanted",)),
        ("Warnings", ("pixel8 ran at two firmware versions",)),
        ("Refused dumps", ("1", "s24/b42/run_007.etdp", "truncated", "offset 24: ends early")),
        (
            "Stability",
            ("pixel8 · mobilenet_v2 · xnnpack", "10", "1.2 %", "1.1 %", "1.08", "1.21", "96", ""),
        ),
        ("Operators by verdict", ("unchanged", "4,812")),
        ("Rules", ("builds", "5")),
    ],
)  # fmt: skip
def test_table_has_its_rows_as_texts(title: str, row: tuple[str, ...]) -> None:
    assert TABLES[title].rows[0] == row
    assert len(TABLES[title].columns) == len(row)


def test_numbers_are_aligned_and_texts_are_not() -> None:
    assert TABLES["Exact measures"].numbers == {2, 3, 4}
    assert TABLES["Exact measures"].columns[2] == "Base"


def test_whole_runs_within_the_limit_are_counted_only() -> None:
    calm = RunShift(device="d", model="m", backend=None, shift=0.0, limit=1, is_notable=False)
    table = found(report(run_shifts=[calm] * 2), "Whole runs")
    assert table.rows == []
    assert table.note.endswith("2 more within limits.")


def test_exact_measures_may_fall_and_be_no_whole_numbers() -> None:
    change = ExactChange(device="d", model="m", backend=None, measure="x", base=0.5, head=-2)
    assert found(report(exact_changes=[change]), "Exact measures").rows[0][2:] == (
        "0.5", "−2", "−2.5",
    )  # fmt: skip
    change = change.model_copy(update={"base": -1.7e308, "head": 1.7e308})
    assert found(report(exact_changes=[change]), "Exact measures").rows[0][3] == "1.7e+308"


def test_verdicts_are_sorted_by_count_and_then_by_name() -> None:
    counts = {"b_b": 1, "a": 1, "z": 9}
    rows = found(report(verdict_counts=counts), "Operators by verdict").rows
    assert rows == [("z", "9"), ("a", "1"), ("b b", "1")]


def test_measures_that_are_alike_on_devices_and_files_refused_for_one_reason_are_one_row() -> None:
    change = ExactChange(device="d", model="m", backend="x", measure="bytes", base=1, head=2)
    both = [change, change.model_copy(update={"device": "e"})]
    assert found(report(exact_changes=both), "Exact measures").rows[0][0] == "m · x on 2 devices"
    files = [RefusedFile(source=name, reason="cut", detail="short") for name in "ab"]
    assert found(report(refused=files), "Refused dumps").rows == [("2", "a", "cut", "short")]


def test_costs_of_a_sum_add_up_as_shown() -> None:
    for costs in ((1 / 3, 1 / 3, 1 / 3), (0.005, 10.006, -0.004), (-1.0, 2.0, 0.0)):
        *parts, total = _added_up([*costs, sum(costs)])
        assert round(sum(parts), 2) == total


def test_rules_are_spelt_for_people() -> None:
    rows = found(report(rules={"b": None, "a": True, "c": 0.02}), "Rules").rows
    assert rows == [("a", "yes"), ("b", "–"), ("c", "0.02")]


def found(one, title: str) -> Listing:
    return next(table for table in (*changes(one), *evidence(one)) if table.title == title)
