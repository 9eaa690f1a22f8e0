"""`compare` on real dumps, whose changes are known, and on command lines."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.changes import change_row
from tests.support.command import Run, run_on_terminal
from tests.support.cross_section import cross_section
from tests.support.nightly_farm import breakdown_of_phone, ingest_all, nightly_store, record_build
from tracehouse.cli.output.compared_builds import write_comparison
from tracehouse.cli.output.options import OutputOptions
from tracehouse.queries.report.terminal import ascii_text, sum_lines
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


def test_nights_of_the_same_code_have_no_changes(run: Run, store: Path) -> None:
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
    assert outcome.text.splitlines() == [
        "1 operator was added.",
        "extra against base on lab-x86-quiet-ab",
        "20 operators: 1 added, 4 unchanged, 14 cannot tell, 1 too fast to judge",
        "",
        "Operators",
        "added  sigmoid #1  conv / portable  - -> 11.53 us      +11.5 us",
        "",
        "19 more: 14 cannot tell, 4 unchanged, 1 too fast to judge; --all lists them",
    ]
    assert outcome.err == "note: not compared: 49 operators of runs that only base has\n"


def test_table_says_what_the_change_of_a_method_consists_of(run: Run) -> None:
    outcome = run("compare", "b8", "b9", "--device", "phone", "--store", nightly_store())
    found = breakdown_of_phone("b8", "b9")
    lines = outcome.text.splitlines()
    first = lines.index(ascii_text(f"Parts of the change of {found.run}, {found.where}"))
    expected = list(map(ascii_text, sum_lines([found])))
    assert lines[first - 1 : first + len(found.parts) + 3] == expected
    assert lines[first + len(found.parts) + 2].split()[0] == found.run


def test_comparison_without_a_change_is_a_sentence(run: Run, store: Path) -> None:
    outcome = run("compare", "qt-qt00", "qt-qt01", "--store", store)
    moved, _, found, *_ = outcome.text.splitlines()
    whole, *parts = map(int, re.findall(r"(?:^|, |: )(\d+) ", found))
    assert whole == sum(parts) == 31
    assert moved.startswith(
        "No operator changed by itself, but all operators of conv / portable on lab-x86-quiet "
        "moved together, +"
    )
    assert outcome.error.startswith("note: recorded apart, so compared without the state")


@pytest.mark.system
def test_change_and_verdict_are_in_the_first_block_of_a_narrow_terminal(store: Path) -> None:
    outcome = run_on_terminal("compare", "base", "f136", "--store", store, width=80)
    plain = re.sub("\x1b\\[[0-9;]*m", "", outcome.text)
    (row,) = (line for line in plain.splitlines() if "+10.0 %" in line)
    assert row.rstrip().endswith("slower")
    assert max(map(len, plain.splitlines())) <= 100


@pytest.mark.slow
def test_older_head_is_doubted_and_builds_recorded_side_by_side_are_not(
    run: Run, store: Path
) -> None:
    doubt = "note: qt-qt00 is older than qt-qt01 by its recordings, so 'slower' means"
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
    told = "No device recorded both builds: b1 is on phone and b2 is on watch.\nb2 against b1\n"
    assert (said.code, said.text) == (1, told)
    assert run("compare", "b1", "b2", "--format", "csv", "--store", place).code == 1


def test_times_that_are_thousands_of_the_base_s_ask_for_the_clock(run: Run, tmp_path: Path) -> None:
    dumps = [*record_build(1), *record_build(2, clock={"unit": "us"})]
    said = run("compare", "b1", "b2", "--store", ingest_all(tmp_path / "store", dumps))
    assert said.code == 0
    assert "times are 1,000 times those of b1: is the clock stated rightly" in said.text


def test_compare_all_lists_unchanged_operators_too(run: Run, store: Path) -> None:
    text = run("compare", "base", "f136", "--all", "--store", store).text
    assert text.count("\nunchanged  ") + text.count("\ncannot tell  ") >= 20
    assert "--all" not in text


def test_a_plot_has_the_intervals_and_the_verdicts(run: Run, store: Path, tmp_path: Path) -> None:
    file = tmp_path / "boss.svg"
    assert run("compare", "base", "f136", "--plot", file, "--store", store).code == 0
    drawn = file.read_text(encoding="utf-8")
    assert "6 operators are slower." in drawn
    assert drawn.count('class="slower"') == 6
    assert "Not drawn: 31 more" in drawn


def test_a_plot_and_a_table_are_not_written_at_once(run: Run, store: Path, tmp_path: Path) -> None:
    kept = tmp_path / "t.csv"
    kept.write_text("before")
    args = ("--plot", tmp_path / "p.svg", "--output", kept, "--store", store)
    done = run("compare", "base", "f136", *args)
    assert done.code == 2
    assert "wanted --plot FILE or --output FILE, not both" in " ".join(done.err.split())
    assert kept.read_text() == "before"


def test_a_page_and_markdown_are_chosen_by_name() -> None:
    rows = pa.Table.from_pylist([change_row()])
    for form, begins in (("html", "<!DOCTYPE html>"), ("markdown", "**1 operator is slower")):
        options = OutputOptions(format=form)  # type: ignore[arg-type]
        text = io.StringIO()
        with redirect_stdout(text):
            write_comparison(None, rows, options, base="a", head="b")  # type: ignore[arg-type]
        assert text.getvalue().lstrip().startswith(begins)
