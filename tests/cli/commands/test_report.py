from __future__ import annotations

import json
import shutil
import unicodedata
from pathlib import Path

import pytest

from tests.support.command import Run, run_on_terminal
from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_all, record_build
from tests.support.strange_names import NAMES
from tracehouse import Warehouse


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--base", "b1"], "wanted the build to compare with --base"),
        (["--head", "b9", "--branch", "main"], "wanted either --head or --branch"),
        (["--base", "b8", "--head", "b9", "--branch", "main"], "wanted either --head or --branch"),
        (["--format", "pdf"], "pdf"),
        (
            ["--base", "b1", "--head", "b1"],
            "'b1', which is the value of 'base', too; wanted another value",
        ),
    ],
)
def test_a_command_line_that_makes_no_sense_is_a_usage_error(
    run: Run, nightly_store: Path, args: list[str], message: str
) -> None:
    outcome = run("report", *args, "--store", nightly_store)
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.system
def test_report_on_a_terminal_shows_progress(nightly_store: Path, tmp_path: Path) -> None:
    args = ("report", "--store", nightly_store, "--output", tmp_path / "r.md")
    outcome = run_on_terminal(*args)
    assert outcome.code == 0
    assert "making the report 0:00:0" in outcome.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "begins"),
    cross_section(
        [
            ("r.json", '{"base":'),
            ("r.HTM", "<!doctype html>"),
            ("r.html", "<!doctype html>"),
            ("r.xml", "<?xml"),
            ("r.md", "#"),
            ("r", "#"),
        ],
        6,
    ),
)
def test_the_form_is_that_of_the_files_suffix(
    run: Run, nightly_store: Path, tmp_path: Path, name: str, begins: str
) -> None:
    file = tmp_path / name
    args = ("report", "--head", "b9", "--store", nightly_store, "--output", file)
    outcome = run(*args)
    assert (outcome.code, outcome.out) == (0, b"")
    assert outcome.err == (
        "1 slowdown is new and not confirmed yet (net on phone, +100 %).\n"
        f"report: {file}{'' if file.suffix else ', in markdown'}\n"
    )
    assert file.read_text().lstrip().lower().startswith(begins)


def test_a_file_of_another_kind_is_refused(run: Run, nightly_store: Path, tmp_path: Path) -> None:
    for command in (("report",), ("explain", "a")):
        outcome = run(*command, "--store", nightly_store, "--output", tmp_path / "boss.xlsx")
        assert outcome.code == 2
        assert "boss.xlsx: wanted a name that ends in .html, .htm, .json," in outcome.err
        assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_named_format_wins_over_the_suffix(run: Run, nightly_store: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.html"
    args = ("--format", "json", "--store", nightly_store, "--output", file)
    assert run("report", *args).code == 0
    assert json.loads(file.read_text())["head"] == "b11"


def test_report_prints_markdown_and_may_fail_for_a_confirmed_regression(
    run: Run, nightly_store: Path
) -> None:
    args = ("report", "--head", "b10", "--store", nightly_store)
    outcome = run(*args)
    assert (outcome.code, outcome.err) == (0, "")
    assert "2 operators are slower (net on 2 devices, +15.1 %)." in outcome.text
    assert outcome.text.lstrip().startswith("#")
    failed = run(*args, "--fail-on-regression")
    assert (failed.code, failed.out) == (3, outcome.out)


@pytest.mark.slow
def test_a_suspected_regression_and_a_quiet_night_do_not_fail(
    run: Run, nightly_store: Path
) -> None:
    for head in ("b9", "b8"):
        args = ("report", "--head", head, "--store", nightly_store)
        assert run(*args, "--fail-on-regression").code == 0


def test_a_store_without_builds_and_an_unknown_build_are_one_line(
    run: Run, nightly_store: Path, tmp_path: Path
) -> None:
    with Warehouse.open_to_write(tmp_path / "empty", create=True):
        pass
    empty = run("report", "--store", tmp_path / "empty")
    assert empty.code == 1
    assert "the store has no builds yet" in empty.error
    unknown = run("report", "--head", "b100", "--store", nightly_store)
    assert unknown.code == 1
    assert unknown.error.endswith("'b100' is not in the store; did you mean b10?")


@pytest.mark.slow
def test_a_full_disk_is_one_line(run: Run, nightly_store: Path) -> None:
    outcome = run("report", "--store", nightly_store, "--output", "/dev/full")
    assert outcome.code == 1
    problem = "error: /dev/full: No space left on device; the output is incomplete"
    assert outcome.error.splitlines()[-1] == problem


@pytest.mark.slow
def test_settings_are_those_of_the_working_directory_or_of_config(
    run: Run, nightly_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tracehouse.toml").write_text('[[muted]]\nevent = "*conv*"\nreason = "known"')
    (tmp_path / "other.toml").write_text("[nightly]\nmin_change = 0.5")
    args = ("report", "--head", "b9", "--format", "json", "--store", nightly_store)
    muted = json.loads(run(*args).text)
    assert (muted["verdict"], muted["verdict_counts"]["muted: known"]) == ("known", 2)
    other = json.loads(run(*args, "--config", "other.toml").text)
    assert other["rules"]["min_change"] == 0.5
    assert other["groups"] == []
    (tmp_path / "tracehouse.toml").write_text("[nightly]\nnoise_multiples = 3")
    assert run(*args).error == (
        "error: tracehouse.toml: nightly.noise_multiples: no such field; "
        "did you mean noise_multiple?"
    )


@pytest.mark.slow
def test_a_store_that_cannot_be_read_now_is_answered_from_its_snapshot(
    run: Run, nightly_store: Path, tmp_path: Path
) -> None:
    store = shutil.copytree(nightly_store, tmp_path / "s")
    with Warehouse.open(store) as writer:
        writer.snapshot()
        outcome = run("report", "--head", "b8", "--format", "json", "--store", store)
    assert outcome.code == 0
    assert outcome.error.startswith("note: answered from the snapshot of ")
    assert json.loads(outcome.text)["verdict"] == "clear"


@pytest.mark.slow
def test_hostile_names_neither_steer_a_terminal_nor_break_the_forms(
    run: Run, tmp_path: Path
) -> None:
    name = "|".join(name.replace("\0", "") for name in NAMES) + "</script><b>"
    evil = {"device": name, "model": name}
    dumps = [
        dump
        for number in range(5)
        for dump in record_build(
            number, {f"native_call_{name}.out": 2.0 if number == 4 else 1.0}, **evil
        )
    ]
    store = ingest_all(tmp_path / "s", dumps)
    args = ("report", "--store", store, "--format")
    assert "\x1b" not in run(*args, "markdown").text
    assert "</script><b>" not in run(*args, "html").text
    (group,) = json.loads(run(*args, "json").text)["groups"]
    assert group["members"][0]["device"] == unicodedata.normalize("NFC", name.strip())


@pytest.mark.slow
def test_a_broken_budget_fails_a_night_that_is_quiet_otherwise(
    run: Run, nightly_store: Path, tmp_path: Path
) -> None:
    config = tmp_path / "tracehouse.toml"
    config.write_text('[[budgets]]\nmeasure = "method"\nat_most = "1 us"\n', encoding="utf-8")
    args = ("report", "--head", "b8", "--store", nightly_store, "--fail-on-regression")
    outcome = run(*args, "--config", config)
    assert outcome.code == 3
    assert "2 budgets broken" in outcome.text
    assert run(*args).code == 0


@pytest.mark.slow
def test_metrics_of_the_benchmark_apps_are_judged(run: Run, tmp_path: Path) -> None:
    for number in range(8):
        for dump in record_build(number, count=8):
            folder = tmp_path / "farm" / f"b{number}" / dump.name.removesuffix(".etdp")
            folder.mkdir(parents=True)
            (folder / dump.name).write_bytes(dump.read())
            latency = (13.0 if number >= 6 else 10.0) + 0.01 * (int(folder.name[-1]) - 3)
            record = {
                "benchmarkModel": {"name": "net"},
                "deviceInfo": {"device": "phone", "os": "Android 13"},
                "metric": "avg_inference_latency(ms)",
                "actualValue": latency,
            }
            (folder / "benchmark_results.json").write_text(json.dumps([record]), encoding="utf-8")
    store = tmp_path / "s"
    layout = "{build}/*/*.etdp"
    assert run("ingest", tmp_path / "farm", "--layout", layout, "--store", store).code == 0
    made = json.loads(run("report", "--format", "json", "--store", store).text)
    (alert,) = made["groups"]
    (member,) = alert["members"]
    assert (member["event_name"], member["unit"]) == ("avg_inference_latency", "ms")
    assert (alert["state"], alert["first_bad"]) == ("confirmed", "b6")
