from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command import Outcome, Run
from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_nights
from tracehouse.queries.report import nightly as nightly_module


@pytest.mark.slow
def test_a_decision_shows_in_the_next_report(run: Run, tmp_path: Path) -> None:
    store = ingest_nights(tmp_path / "s", range(7, 11))

    def report() -> tuple[str, str, int]:
        args = ("--format", "json", "--fail-on-regression", "--store", store)
        outcome = run("report", *args)
        (group,) = [g for g in json.loads(outcome.text)["groups"] if g["direction"] == "regression"]
        return group["id"], group["state"], outcome.code

    group, *before = report()
    told = []
    for words in (["--acknowledge"], [], ["--reopen"]):
        outcome = run("accept", group, "--reason", "so it is", *words, "--store", store)
        assert outcome.code == 0
        told.append((outcome.error, *report()[1:]))
    assert before == ["confirmed", 3]
    assert told == [
        (f"{group}: acknowledged", "acknowledged", 0),
        (f"{group}: accepted", "accepted", 0),
        (f"{group}: reopened", "confirmed", 3),
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    cross_section(
        [
            (["g", "--reason", "x", "--acknowledge", "--reopen"], "not both"),
            (["g", "--reason", "  "], "wanted a reason, found none"),
            (["g"], "Missing option '--reason'"),
            (["--reason", "x"], "wanted groups, or the model"),
        ],
        2,
    ),
)
def test_a_decision_that_makes_no_sense_is_a_usage_error(
    run: Run, nightly_store: Path, args: list[str], message: str
) -> None:
    outcome = run("accept", *args, "--store", nightly_store)
    assert outcome.code == 2
    assert message in outcome.err


def test_accept_without_a_store_fails_and_makes_none(run: Run, tmp_path: Path) -> None:
    outcome = run("accept", "g", "--reason", "x", "--store", tmp_path / "none")
    assert outcome.code == 1
    assert "no store here" in outcome.error
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_accept_refuses_an_unknown_group(run: Run, nightly_store: Path, tmp_path: Path) -> None:
    store = shutil.copytree(nightly_store, tmp_path / "s")
    outcome = run("accept", "zzz", "--reason", "x", "--store", store)
    assert outcome.code == 1
    assert "the report of b11 has no group 'zzz'" in outcome.error


@pytest.mark.slow
def test_groups_are_chosen_by_model_device_and_build(
    run: Run, nightly_store: Path, tmp_path: Path
) -> None:
    store = shutil.copytree(nightly_store, tmp_path / "s")
    page = run("report", "--format", "json", "--store", store).text
    groups = [g for g in json.loads(page)["groups"] if g["direction"] == "regression"]
    groups.sort(key=lambda group: (group["first_bad"] != "b9", group["state"]))
    first, more_operators, second = groups
    assert more_operators["headline"]["operator"] == "operator_count"

    def accept(*chosen: str) -> Outcome:
        return run("accept", *chosen, "--reason", "so it is", "--store", store)

    def accepted(outcome: Outcome) -> set[str]:
        assert outcome.code == 0
        return {line.partition(": accepted")[0] for line in outcome.err.splitlines()}

    model, device = first["members"][0]["model"], first["members"][0]["device"]
    late = {second["id"], more_operators["id"]}
    assert accepted(accept("--since", second["first_bad"])) == late
    assert accepted(accept("--model", f"{model[:2]}*", "--device", device)) == {
        first["id"],
        *late,
    }
    assert accepted(accept(first["id"], second["id"])) == {first["id"], second["id"]}
    assert "has no such regression" in accept("--model", "other").error
    assert "does not know the build 'b77'" in accept("--since", "b77").error


@pytest.mark.slow
def test_a_group_of_a_stored_report_is_decided_without_another_judgement(
    run: Run, nightly_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = shutil.copytree(nightly_store, tmp_path / "s")
    page = run("report", "--format", "json", "--store", store).text
    first, second = (group["id"] for group in json.loads(page)["groups"][:2])
    monkeypatch.setattr(nightly_module, "nightly_report", None)
    for group in (first, second, first):  # each decision makes the stored report an old one
        assert run("accept", group, "--reason", "x", "--store", store).code == 0
