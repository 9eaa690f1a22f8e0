"""`tracehouse query nightly_verdicts`, which Python answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run


@pytest.mark.slow
def test_nightly_verdicts_are_a_query_like_the_others(run: Run, store: Path) -> None:
    assert "nightly_verdicts" in run("query", "--help").text
    line = ("query", "nightly-verdicts", "--store", store, "--head", "ch26", "--format", "json")
    rows = json.loads(run(*line).text)
    assert {row["device"] for row in rows if row["head_count"]} == {"lab-x86-quiet-ab"}
    assert {row["verdict"] for row in rows} <= {
        "needs_more_builds", "needs_more_dumps", "no_data", "unchanged", "below_resolution",
        "within_build_noise", "explained_by_run_shift", "suspect_regression",
        "suspect_improvement",
    }  # fmt: skip


def test_an_unknown_head_is_refused_with_similar_names(run: Run, store: Path) -> None:
    outcome = run("query", "nightly_verdicts", "--store", store, "--head", "ch27")
    assert outcome.code != 0
    assert "'ch27' is not in the store; did you mean" in outcome.err
