"""`compare` on real dumps, whose changes are known, and on command lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Outcome
from tests.support.cross_section import cross_section
from warehouse.catalogue.queries import find_query

Run = Callable[..., Outcome]

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
    assert {row["verdict"] for row in rows} == SILENT - {"needs_more_dumps"}
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


def test_table_shows_what_changed_and_counts_the_rest(run: Run, store: Path) -> None:
    outcome = run("compare", "base", "extra", "--store", store)
    header, row = outcome.text.splitlines()
    assert header.split()[:2] == ["level", "device"]
    assert "native_call_sigmoid.out" in row
    assert outcome.error.startswith("note: of 93 compared: ")


def test_wrong_name_or_parameter_is_one_line(run: Run, store: Path) -> None:
    for args, problem in (
        (("b1", "b1"), "'b1', which is 'base' too; wanted another one"),
        (("b1", "b2", "--q", "2"), "parameter 'q': 2.0, wanted 0 to 1"),
    ):
        outcome = run("compare", *args, "--store", "nowhere")
        assert outcome.code == 2
        assert problem in outcome.error
    outcome = run("compare", "base", "ch27", "--store", store)
    assert outcome.code == 1
    assert "nothing in the store is called 'ch27'; did you mean ch26?" in outcome.error
