from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run


def test_each_device_model_and_backend_has_a_plan(run: Run, store: Path) -> None:
    rows = json.loads(run("plan", "--store", store, "--format", "json").text)
    named = [(row["device"], row["model"], row["backend"]) for row in rows]
    assert ("lab-x86-quiet-ab", "txf", "portable") in named
    assert named == sorted(named)
    quiet = rows[named.index(("lab-x86-quiet-ab", "txf", "portable"))]
    assert (quiet["dump_count"], quiet["dumps_for_method"], quiet["dumps_for_half"]) == (12, 8, 8)


def test_each_plan_names_a_remedy_and_its_detectable_change(run: Run, store: Path) -> None:
    args = ("plan", "--store", store, "--format", "json", "--model", "conv", "--change", "0.1%")
    rows = json.loads(run(*args).text)
    advice = {(row["device"], row["backend"]): row for row in rows}
    assert len(advice) == 4
    for row in rows:
        assert row["remedy"] in ("dumps", "pairs", "sessions", "pool")
        assert row["change_with_remedy_share"] > 0.001


@pytest.mark.slow
def test_a_change_too_small_for_the_noise_has_no_number(run: Run, store: Path) -> None:
    args = ("plan", "--store", store, "--format", "json", "--model", "conv", "--build", "base")
    (fine, _), (coarse, _) = (
        json.loads(run(*args, "--change", change).text) for change in ("0.1%", "1000%")
    )
    assert (fine["dumps_for_method"], fine["visible_share"]) == (None, 0)
    assert coarse["dumps_for_method"] == 8


def test_filters_choose_and_are_checked(run: Run, store: Path) -> None:
    chosen = ("--device", "*-ab", "--model", "txf", "--backend", "portable")
    rows = json.loads(run("plan", *chosen, "--store", store, "--format", "json").text)
    assert [(row["device"], row["model"]) for row in rows] == [("lab-x86-quiet-ab", "txf")]
    assert "did you mean txf" in run("plan", "--model", "tfx", "--store", store).error
    for change, problem in (
        ("-1", "would be -100 %"),
        ("5", "'5' would be 500 %: write 5%, or 500% if you mean that"),
        ("x", "'x', wanted a share such as 5% or 0.05"),
        ("0", "'0', wanted more than 0"),
    ):
        outcome = run("plan", "--change", change, "--store", store)
        assert outcome.code == 2
        assert problem in " ".join(outcome.err.split())
