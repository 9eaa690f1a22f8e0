from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.cross_section import cross_section
from tracehouse import Warehouse


@pytest.fixture(scope="module")
def lake(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("lake") / "lake"
    with Warehouse.open(store, read_only=True) as warehouse:
        warehouse.export_lake(place)
    return place


@pytest.mark.slow
def test_exporting_tells_what_was_done(run: Run, store: Path, tmp_path: Path) -> None:
    outcome = run("export", "lake", tmp_path / "lake", "--store", store, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    (row,) = json.loads(outcome.text)
    assert row["new_dumps"] == 148
    assert row["events"] > 0


@pytest.mark.slow
def test_exporting_again_finds_nothing_to_do(run: Run, store: Path, lake: Path) -> None:
    outcome = run("export", "lake", lake, "--store", store, "--format", "json")
    assert set(json.loads(outcome.text)[0].values()) == {0}


def test_a_query_with_lake_reads_the_lake_instead_of_the_store(
    run: Run, store: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("query", "operator_hotspots", "--format", "json")
    wanted = run(*asked, "--store", store)
    monkeypatch.setenv("TRACEHOUSE_STORE", "nowhere")
    found = run(*asked, "--lake", lake)
    assert (found.code, found.err) == (0, "")
    assert json.loads(found.text) == json.loads(wanted.text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    cross_section(
        [
            (
                (
                    "sql",
                    "SELECT build, count(*) AS n FROM named_dumps GROUP BY build ORDER BY build",
                ),
            ),
            (("report", "--base", "base", "--head", "ch26"),),
            (("compare", "base", "qt-qt01"),),
            (("report"),),
            (("query", "nightly_verdicts"),),
        ],
        5,
    ),
    ids=" ".join,
)
def test_sql_compare_and_report_ask_a_lake_too(
    run: Run, store: Path, lake: Path, args: tuple[str, ...]
) -> None:
    found = run(*args, "--format", "json", "--lake", lake)
    wanted = run(*args, "--format", "json", "--store", store)
    assert (found.code, found.text) == (wanted.code, wanted.text)
    assert found.out


@pytest.mark.slow
def test_a_store_that_is_named_is_asked_beside_a_lake_whatever_its_name(
    run: Run, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Warehouse.open_to_write("tracehouse.store", create=True).close()
    question = ("sql", "SELECT count(*) AS n FROM dumps", "--lake", lake, "--format", "csv")
    assert run(*question).text == "n\n148\n"
    assert run(*question, "--store", "tracehouse.store").text == "n\n0\n"
    monkeypatch.setenv("TRACEHOUSE_STORE", "tracehouse.store")
    assert run(*question).text == "n\n148\n"
    assert run(*question, "--store", "tracehouse.store").text == "n\n0\n"


def test_a_lake_that_is_not_there_is_one_line(run: Run, tmp_path: Path) -> None:
    outcome = run("query", "dumps", "--lake", tmp_path / "none")
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {tmp_path / 'none'}: no lake here; create one with")


def test_an_address_of_an_unknown_kind_is_one_line(run: Run, store: Path) -> None:
    outcome = run("export", "lake", "gopher://user:key@host/lake", "--store", store)
    assert outcome.code == 1
    assert outcome.error.startswith("error: gopher://host/lake: ")
    assert "key" not in outcome.error


def test_export_refuses_to_make_a_lake_in_a_store(run: Run, tmp_path: Path) -> None:
    Warehouse.open_to_write(tmp_path / "own.store", create=True).close()
    before = sorted((tmp_path / "own.store").rglob("*"))
    outcome = run("export", "lake", tmp_path / "own.store", "--store", tmp_path / "own.store")
    assert outcome.code == 1
    assert "is not a lake, and contains" in outcome.error
    assert sorted((tmp_path / "own.store").rglob("*")) == before
