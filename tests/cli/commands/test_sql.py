from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.command import COMMAND, ENVIRONMENT, Run, run_process
from tests.support.cross_section import cross_section


def test_select_prints_its_rows(run: Run, store: Path) -> None:
    text = "SELECT build, count(*) AS n FROM named_dumps GROUP BY build ORDER BY build LIMIT 2"
    assert (
        run("sql", text, "--store", store, "--format", "csv").text == "build,n\nbase,48\nch26,24\n"
    )


def test_statement_is_read_from_standard_input(
    run: Run, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "question.sql").write_text("SELECT 6 * 7 AS answer")
    with (tmp_path / "question.sql").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert run("sql", "-", "--store", store).text == "answer\n    42\n"


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("SELECT 1; SELECT 2", "found 2 statements, wanted exactly one SELECT"),
        ("DROP TABLE dumps", "found DROP, wanted a SELECT"),
        ("", "wanted exactly one SELECT"),
    ],
)
def test_statements_other_than_one_select_are_refused_in_one_line(
    run: Run, store: Path, statement: str, problem: str
) -> None:
    outcome = run("sql", statement, "--store", store)
    assert outcome.code == 1
    assert outcome.error.startswith("error: ")
    assert problem in outcome.error


def test_parameters_are_texts_by_name(run: Run, store: Path) -> None:
    text = "SELECT count(*) AS n FROM named_dumps WHERE build = $build AND n_runs > CAST($n AS INT)"
    outcome = run("sql", text, "--param", "build=ch26", "--param", "n=0", "--store", store)
    assert outcome.text.split() == ["n", "24"]
    equal = run("sql", "SELECT $a AS a", "--param", "a=b=' --", "--store", store, "--format=csv")
    assert equal.text == "a\nb=' --\n"


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        (("a",), "--param 'a', wanted NAME=VALUE"),
        (("=a",), "--param '=a', wanted NAME=VALUE"),
        (("a=1", "a=2"), "--param 'a' is given twice"),
    ],
)
def test_parameter_that_names_nothing_is_a_usage_error(
    run: Run, params: tuple[str, ...], problem: str
) -> None:
    outcome = run("sql", "SELECT $a AS a", *(f"--param={text}" for text in params))
    assert outcome.code == 2
    assert problem in outcome.err


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("SELEC 1", [
            'error: Parser Error: syntax error at or near "SELEC"', "LINE 1: SELEC 1",
            "        ^^^^^"]),
        ("SELECT source\n\tFROM FROM dumps", [
            'error: Parser Error: syntax error at or near "FROM"', "LINE 2:  FROM FROM dumps",
            "              ^^^^"]),
    ],
)  # fmt: skip
def test_an_error_points_at_its_place(
    run: Run, store: Path, statement: str, lines: list[str]
) -> None:
    outcome = run("sql", statement, "--store", store)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.err.splitlines() == lines


def test_a_statement_may_start_with_a_comment(run: Run, store: Path) -> None:
    for text in ("-- what\nSELECT 6 * 7 AS a", "--what\nSELECT 6 * 7 AS a"):
        assert run("sql", text, "--store", store, "--format", "csv").text == "a\n42\n"
        assert run("sql", "--store", store, text).text == " a\n42\n"
    unknown = run("sql", "--what", "SELECT 1", "--store", store)
    assert (unknown.code, "No such option: --what" in unknown.err) == (2, True)


def test_a_query_plan_is_printed_readably_and_kept_in_json(run: Run, store: Path) -> None:
    text = "EXPLAIN SELECT count(*) FROM dumps"
    drawn = run("sql", text, "--store", store).text
    assert drawn.count("\n") > 2
    assert "\\n" not in drawn
    (row,) = json.loads(run("sql", text, "--store", store, "--format", "json").text)
    assert row["explain_value"].splitlines()[0] == drawn.splitlines()[0]


def test_a_pivot_with_named_columns_is_answered_and_another_says_how(run: Run, store: Path) -> None:
    text = "PIVOT (SELECT build, model FROM named_dumps) ON build {}USING count(*)"
    assert (
        "base,ch26\n"
        in run("sql", text.format("IN ('base', 'ch26') "), "--store", store, "--format", "csv").text
    )
    refused = run("sql", text.format(""), "--store", store)
    assert "name the columns, as in PIVOT t ON kind IN (" in refused.error


@pytest.mark.system
def test_output_is_utf8_whatever_the_locale(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONIOENCODING", "ascii")
    outcome = run_process("sql", "SELECT 'größe ∞' AS a", "--store", store)
    assert outcome == (0, "a\ngröße ∞\n".encode(), "")


@pytest.mark.system
@pytest.mark.parametrize("locale", cross_section(["C", "C.UTF-8"], 3))
@pytest.mark.parametrize("in_utf8_mode", ["0", "1"])
def test_statement_that_is_not_utf8_is_refused_in_one_line(
    store: Path, locale: str, in_utf8_mode: str
) -> None:
    done = subprocess.run(
        [*COMMAND, "sql", "-", "--store", store],
        input=b"SELECT '\xff\xfe'",
        capture_output=True,
        env=ENVIRONMENT | {"LC_ALL": locale, "PYTHONUTF8": in_utf8_mode},
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"error: the statement is not UTF-8 at byte 8\n"


@pytest.mark.system
def test_statement_in_utf8_is_read_whatever_the_locale(store: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "sql", "-", "--store", store],
        input="SELECT 'größe' AS a".encode(),
        capture_output=True,
        env=ENVIRONMENT | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert (done.returncode, done.stdout.decode()) == (0, "a\ngröße\n")


def test_files_are_read_only_if_that_is_allowed(run: Run, store: Path, tmp_path: Path) -> None:
    (tmp_path / "goals.csv").write_text("build,goal\nbase,7\n")
    text = f"SELECT goal FROM '{tmp_path}/goals.csv' JOIN builds ON build = name"  # noqa: S608
    assert run("sql", text, "--store", store).code == 1
    assert run("sql", text, "--store", store, "--allow-files").text == "goal\n   7\n"


def test_900_additions_are_a_question_and_3000_an_error(run: Run, store: Path) -> None:
    text = "SELECT {} AS a"
    assert run("sql", text.format("+".join(["1"] * 900)), "--store", store).text == "  a\n900\n"
    assert "depth limit" in run("sql", text.format("+".join(["1"] * 3000)), "--store", store).error


@pytest.mark.parametrize(
    ("statement", "view"),
    [
        ("SELECT device FROM dumps", "named_dumps"),
        ("SELECT e.device FROM events e", "named_events"),
    ],
)
def test_an_unknown_column_of_a_table_of_numbers_leads_to_its_view(
    run: Run, store: Path, statement: str, view: str
) -> None:
    done = run("sql", statement, "--store", store)
    assert f"; see {view}, with names in place of numbers\n" in done.err
    wrong = "SELECT x FROM named_events"
    assert "in place of numbers" not in run("sql", wrong, "--store", store).err


def test_sql_without_a_statement_shows_an_example(run: Run) -> None:
    done = run("sql")
    assert done.code == 2
    assert "FROM named_dumps GROUP BY ALL" in done.error


def test_columns_that_somebody_chose_stay_even_without_a_value(run: Run, store: Path) -> None:
    text = run("sql", "SELECT NULL AS nothing, 5721000 AS p50_ns", "--store", store).text
    assert text.split() == ["nothing", "p50", "5.721", "ms"]
