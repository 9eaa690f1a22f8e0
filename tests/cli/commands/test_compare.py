"""`compare` on real dumps, whose changes are known, and on command lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Run, run_on_terminal
from tests.support.cross_section import cross_section
from tests.support.nightly_farm import breakdown_of_phone, ingest_all, nightly_store, record_build
from tracehouse.queries.report.text_table import sum_lines
from tracehouse.warehouse.catalogue.queries import find_query

SILENT = {"unchanged", "inconclusive", "below_resolution", "needs_more_dumps"}
POOL = "native_call_max_pool2d_with_indices.out"
# By head: model, backend, level, name and ordinal of all that changed since the build "base".
CHANGED = {
    "ch26": {
        ("conv", "portable", "operator", "native_call_convolution.out", 2, "regression"),
        ("conv", "portable", "operator", "native_call_convolution.out", 3, "regression"),
        ("conv", "portable", "operator", POOL, 2, "regression"),
        ("conv", "portable", "operator_type", "convolution", 1, "regression"),
        ("conv", "xnnpack", "operator", "Max Pooling (NHWC, F32) #2", 1, "regression"),
    },
    "extra": {("conv", "portable", "operator", "native_call_sigmoid.out", 1, "new_op")},
    "f136": {
        ("txf", "portable", "operator", "native_call_addmm.out", 6, "regression"),
        ("txf", "portable", "operator", "native_call_gelu.out", 1, "regression"),
        ("txf", "portable", "operator", "native_call_permute_copy.out", 6, "regression"),
        ("txf", "portable", "operator", "native_call_permute_copy.out", 7, "regression"),
        ("txf", "xnnpack", "operator", "Fully Connected (NC, F32) GEMM #1", 2, "regression"),
        ("txf", "xnnpack", "operator", "Fully Connected (NC, F32) GEMM #2", 2, "regression"),
    },
}  # fmt: skip


def _compare(run: Run, store: Path, *args: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(
        run("compare", *args, "--store", store, "--format", "json").text
    )
    return rows


@pytest.mark.parametrize("head", cross_section(CHANGED, 3))
def test_changes_of_real_builds_are_found_and_nothing_else(
    run: Run, store: Path, head: str
) -> None:
    found = {
        tuple(row[key] for key in ("model", "backend", "level", "event_name", "ordinal", "verdict"))
        for row in _compare(run, store, "base", head)
        if row["verdict"] not in SILENT
    }
    assert found == CHANGED[head]


def test_nothing_is_said_to_change_between_nights_of_the_same_code(run: Run, store: Path) -> None:
    rows = _compare(run, store, "qt-qt00", "qt-qt01")
    assert {row["verdict"] for row in rows} == SILENT - {"needs_more_dumps"} | {
        "explained_by_run_shift"
    }
    assert sum(row["p_adjusted"] is not None for row in rows) > 25


def test_rows_have_the_columns_of_regression_deltas_and_their_level(run: Run, store: Path) -> None:
    rows = _compare(run, store, "base", "f136", "--model", "txf")
    columns = [column.name for column in find_query("regression_deltas").header.columns]
    assert list(rows[0])[: len(columns) + 1] == ["level", *columns]
    query = ("query", "regression_deltas", "--base", "base", "--head", "f136", "--model", "txf")
    plain = json.loads(run(*query, "--store", store, "--format", "json").text)
    same = [{key: row[key] for key in columns} for row in rows if row["kind"] != "type"]
    assert all(row in same for row in plain)
    assert {row["model"] for row in rows} == {"txf"}


@pytest.mark.slow
def test_table_says_in_words_what_changed_and_counts_the_rest(run: Run, store: Path) -> None:
    outcome = run("compare", "base", "extra", "--store", store)
    words, place, _, header, row = outcome.text.splitlines()
    assert words == (
        "extra against base: 1 new of 20 operators; 4 unchanged, 14 cannot tell, "
        "1 too fast to judge; 49 more of methods that only base has"
    )
    assert place.startswith("  lab-x86-quiet-ab · conv · portable: native_call_sigmoid.out #1 new")
    assert header.split()[:4] == ["operator", "verdict", "head", "level"]
    assert "native_call_sigmoid.out" in row
    assert outcome.err == ""


def test_table_says_what_the_change_of_a_method_consists_of(run: Run) -> None:
    outcome = run("compare", "b8", "b9", "--device", "phone", "--store", nightly_store())
    found = breakdown_of_phone("b8", "b9")
    lines = outcome.text.splitlines()
    first = lines.index(f"Parts of the change of {found.run}, {found.where}")
    assert lines[first - 1 : first + len(found.parts) + 3] == list(sum_lines([found]))
    assert lines[first + len(found.parts) + 2].split()[0] == found.run


def test_comparison_without_a_change_is_a_sentence(run: Run, store: Path) -> None:
    outcome = run("compare", "qt-qt00", "qt-qt01", "--store", store)
    found, moved = outcome.text.splitlines()
    told = re.fullmatch(
        r"qt-qt01 against qt-qt00: no change found in (\d+) operators; (\d+) unchanged, "
        r"(\d+) cannot tell, (\d+) too fast to judge",
        found,
    )
    assert told
    whole, *parts = map(int, told.groups())
    assert whole == sum(parts) == 31
    assert moved.startswith("  lab-x86-quiet · conv · portable: no operator by itself; all moved")
    assert outcome.error.startswith("note: recorded apart, so compared without the state")


@pytest.mark.system
def test_change_and_verdict_are_in_the_first_block_of_a_narrow_terminal(store: Path) -> None:
    outcome = run_on_terminal("compare", "base", "f136", "--store", store, width=80)
    first = outcome.text.split("operator ", 1)[1].split("\r\n\r\n")[0]
    assert "+10.0 %" in first
    assert "regression" in outcome.text.split("interval")[0]


@pytest.mark.slow
def test_older_head_is_doubted_and_builds_recorded_side_by_side_are_not(
    run: Run, store: Path
) -> None:
    doubt = "note: by its recordings the head qt-qt00 is older than the base qt-qt01: "
    assert doubt in run("compare", "qt-qt01", "qt-qt00", "--store", store).err
    for base, head in (("qt-qt00", "qt-qt01"), ("base", "f136"), ("f136", "base")):
        assert "older" not in run("compare", base, head, "--store", store).err


def test_wrong_name_or_parameter_is_one_line(run: Run, store: Path) -> None:
    for args, problem in (
        (("b1", "b1"), "'b1', which is the value of 'base', too; wanted another value"),
        (("b1", "b2", "--q", "200%"), "parameter 'q': 2.0, wanted 0 to 1"),
        (("b1", "b2", "--min-change", "5"), "'5' would be 500 %: write 5%"),
    ):
        outcome = run("compare", *args, "--store", "nowhere")
        assert outcome.code == 2
        assert problem in outcome.error
    outcome = run("compare", "base", "ch27", "--store", store)
    assert outcome.code == 1
    assert "'ch27' is not in the store; did you mean ch26?" in outcome.error


def test_builds_without_a_common_device_are_not_comparable(run: Run, tmp_path: Path) -> None:
    dumps = [*record_build(1, device="phone"), *record_build(2, device="watch")]
    place = ingest_all(tmp_path / "store", dumps)
    said = run("compare", "b1", "b2", "--store", place)
    told = "b2 against b1: not comparable by device: base is on phone, head is on watch\n"
    assert (said.code, said.text) == (1, told)
    assert run("compare", "b1", "b2", "--format", "csv", "--store", place).code == 1


def test_times_that_are_thousands_of_the_base_s_ask_for_the_clock(run: Run, tmp_path: Path) -> None:
    dumps = [*record_build(1), *record_build(2, clock={"unit": "us"})]
    said = run("compare", "b1", "b2", "--store", ingest_all(tmp_path / "store", dumps))
    assert said.code == 0
    assert "times are 1,000 times those of b1: is the clock stated rightly" in said.err
