from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.documents import ROOT
from tests.support.softplus import softplus_group, softplus_store
from tests.support.stand_in_service import stand_in_service

PROGRAMS = [ROOT / "tests/data/programs" / name for name in ("xnnpack.pte", "xnnpack_wider.pte")]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["x", "--base-program", "a.pte"], "wanted both --base-program and --head-program"),
        (["x", "--format", "pdf"], "pdf"),
        ([], "Missing argument 'GROUP'"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_a_usage_error(
    run: Run, args: list[str], message: str
) -> None:
    outcome = run("explain", *args, "--store", softplus_store())
    assert outcome.code == 2
    assert message in outcome.err


def test_a_terminal_gets_text(run: Run) -> None:
    outcome = run("explain", softplus_group(), "--store", softplus_store())
    assert outcome.code == 0
    text = outcome.out.decode()
    assert text.startswith("▲ net · xnnpack on lab-x86: ")
    assert "Program of lab-x86 · net · xnnpack" in text


@pytest.mark.parametrize(("name", "begins"), [("w.html", "<!DOCTYPE"), ("w.md", "## "), ("w", "▲")])
def test_the_suffix_of_the_file_chooses_the_form(
    run: Run, tmp_path: Path, name: str, begins: str
) -> None:
    file = tmp_path / name
    outcome = run("explain", softplus_group(), "--store", softplus_store(), "--output", file)
    assert (outcome.code, outcome.err) == (0, f"explanation: {file}\n")
    assert file.read_text(encoding="utf-8").startswith(begins)


def test_an_unknown_group_is_an_error_that_names_the_others(run: Run) -> None:
    outcome = run("explain", "abc", "--store", softplus_store())
    assert outcome.code == 1
    assert outcome.error.startswith("error: GROUP: the report of b8 has no group 'abc'; there are ")


def test_program_files_are_compared_if_they_are_named(run: Run) -> None:
    options = ("--base-program", PROGRAMS[0], "--head-program", PROGRAMS[1], "--format", "json")
    outcome = run("explain", softplus_group(), "--store", softplus_store(), *options)
    changes = json.loads(outcome.out)["programs"][0]["changes"]
    assert {"file", "delegate"} <= {change["part"] for change in changes}
    assert {"change": "changed", "part": "file", "name": "program", "base": "4,240 bytes",
            "head": "4,624 bytes"} in changes  # fmt: skip


def test_a_missing_program_file_is_an_error(run: Run, tmp_path: Path) -> None:
    options = ("--base-program", tmp_path / "old.pte", "--head-program", PROGRAMS[1])
    outcome = run("explain", softplus_group(), "--store", softplus_store(), *options)
    assert outcome.code == 1
    assert "old.pte" in outcome.error


def test_a_service_is_asked_for_the_form(run: Run) -> None:
    with stand_in_service() as service:
        service.answers["/v1/explain"] = ("text/plain", b"why \n")
        done = run("--url", service.url, "explain", "3f9c", "--head", "b 2")
        (asked,) = service.asked
    assert (done.code, done.out, done.err) == (0, b"why \n", "")
    assert asked.path == "/v1/explain?group=3f9c&head=b+2&format=text"


def test_a_service_compares_no_files_of_ours(run: Run) -> None:
    options = ("--base-program", PROGRAMS[0], "--head-program", PROGRAMS[1])
    outcome = run("--url", "http://127.0.0.1:9", "explain", "3f9c", *options)
    assert outcome.code == 2
    assert "leave out --url" in outcome.err
