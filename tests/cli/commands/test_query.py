from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.corpus import CORPUS
from tests.support.questions import every_query
from tracehouse.queries.questions import QUESTIONS
from tracehouse.warehouse.catalogue.queries import list_queries

QUERIES = sorted(every_query())
COMPARISON = ("query", "regression_deltas", "--base", "base", "--head", "ch26")


def squeezed(text: str) -> str:
    """The text without white space, which wrapping adds even at hyphens."""
    return "".join(text.split())


def test_query_help_lists_every_query_with_its_purpose(run: Run) -> None:
    text = squeezed(run("query", "--help").text)
    for name, query in every_query().items():
        assert squeezed(f"{name} {query.header.purpose[:20]}") in text
    assert sorted(name for names in QUESTIONS.values() for name in names) == [*list_queries()]


@pytest.mark.parametrize("name", QUERIES)
def test_help_of_a_query_is_its_header(run: Run, name: str) -> None:
    header = every_query()[name].header
    outcome = run("query", name, "--help")
    assert outcome.code == 0
    text = squeezed(outcome.text)
    assert squeezed(header.purpose) in text
    assert squeezed(header.description) in text
    for parameter in header.params:
        assert squeezed(f"--{parameter.name.replace('_', '-')}") in text
        required = "[required]" if parameter.is_required else ""
        assert squeezed(f"{parameter.doc} {required}") in text
    for column in header.columns:
        assert squeezed(f"{column.name} {column.type} {column.doc}") in text


def test_help_tells_choices_and_default(run: Run) -> None:
    text = run("query", "framework_tax", "--help").text
    assert "--scope total|run|operator|delegate|all" in text
    assert "[default: total]" in text


@pytest.mark.parametrize(("options", "bound"), [((), {0.0}), (("--approx",), {0.01})])
def test_a_query_switch_takes_no_value(
    run: Run, store: Path, options: tuple[str, ...], bound: set[float]
) -> None:
    outcome = run("query", "percentiles", *options, "--store", store, "--format", "json")
    assert {row["error_share"] for row in json.loads(outcome.text)} == bound


@pytest.mark.parametrize("name", ["framework_tax", "framework-tax"])
def test_query_prints_the_columns_of_its_header(run: Run, store: Path, name: str) -> None:
    outcome = run("query", name, "--store", store, "--format", "csv")
    names = [column.name for column in every_query()["framework_tax"].header.columns]
    assert next(csv.reader(io.StringIO(outcome.text))) == names


@pytest.mark.slow
def test_options_are_the_parameters(run: Run, store: Path) -> None:
    args = (*COMPARISON, "--model", "conv", "--backend=portable", "--min-change", "0.05")
    rows = json.loads(run(*args, "--store", store, "--format", "json").text)
    assert {(row["model"], row["backend"]) for row in rows} == {("conv", "portable")}
    slower = {(row["event_name"], row["ordinal"]) for row in rows if row["verdict"] == "regression"}
    assert slower == {
        ("native_call_convolution.out", 2),
        ("native_call_convolution.out", 3),
        ("native_call_max_pool2d_with_indices.out", 2),
    }
    none = json.loads(run(*args, "--min-change", "0.5", "--store", store, "--format=json").text)
    assert "regression" not in {row["verdict"] for row in none}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("percentile",), "no query 'percentile'; did you mean percentiles?"),
        (
            ("percentiles", "--devise", "x"),
            "query 'percentiles', parameter 'devise': no such parameter; did you mean device?",
        ),
        (("percentiles", "--devise=x"), "parameter 'devise': no such parameter"),
        (("regression_deltas", "--base", "a"), "parameter 'head': missing: Build to judge."),
        (
            ("operator-hotspots", "--top-n", "few"),
            "parameter 'top_n': 'few', wanted a whole number",
        ),
        (("framework_tax", "--scope", "runs"), "'runs', wanted one of total, run, operator"),
        (("dumps", "--since", "yesterday"), "'yesterday', wanted a date or time"),
        (("dumps", "--since", "2026-02-01", "--until", "2026-01-01"), "wanted later than 'since'"),
        (("dumps", "--tag", "lab"), "parameter 'tag': ['lab'], wanted KEY=VALUE, or several"),
        (("operator_hotspots", "--top-n", "-2"), "parameter 'top_n': -2, wanted at least 1"),
        (
            ("regression_deltas", "--base", "a", "--head", "a"),
            "'a', which is the value of 'base', too",
        ),
        (
            ("regression_deltas", "--base", "a", "--head", "b", "--q", "2"),
            "parameter 'q': '2' would be 200 %: write 2%, or 200% if you mean that",
        ),
        (
            (*COMPARISON[1:], "--min-change", "nan"),
            "parameter 'min_change': 'nan', wanted a share such as 5% or 0.05",
        ),
    ],
)
def test_wrong_name_or_parameter_is_one_line_even_without_a_store(
    run: Run, args: tuple[str, ...], problem: str
) -> None:
    outcome = run("query", *args, "--store", "nowhere")
    assert outcome.code == 2
    assert outcome.error.startswith("error: ")
    assert problem in outcome.error


def test_a_filter_may_be_repeated_and_be_a_glob(run: Run, store: Path) -> None:
    args = ("query", "dumps", "--store", store, "--format", "json")
    every = {row["build"] for row in json.loads(run(*args).text)}
    assert {"base", "ch26", "f136"} <= every
    wanted = ("--build", "base", "--build", "ch*")
    found = {row["build"] for row in json.loads(run(*args, *wanted).text)}
    assert found == {build for build in every if build == "base" or build.startswith("ch")}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("dumps", "--device", ""), "'device': '' is not in the store; "),
        (("dumps", "--build", "base", "--build", "x"), "'build': 'x' is not in the store"),
        (
            ("dumps", "--tag", "runtime=x"),
            "tag 'runtime=x' is not in the store; there are runtime=",
        ),
        (("event_blocks", "--dump", "99999"), "'dump': 99999 is not in the store; there are 1 to"),
        (("percentiles", "--group-by", "o_s"), "no tag or attribute 'o_s'; did you mean os?"),
    ],
)
def test_a_name_that_the_store_lacks_is_one_line(
    run: Run, store: Path, args: tuple[str, ...], problem: str
) -> None:
    outcome = run("query", *args, "--store", store)
    assert outcome.code == 1
    assert problem in outcome.error


def test_argument_that_is_no_option_is_a_usage_error(run: Run) -> None:
    outcome = run("query", "dumps", "base")
    assert outcome.code == 2
    assert "unexpected 'base'; parameters are options: --NAME VALUE" in outcome.err


def test_a_tag_inside_others_is_asked_for_by_the_path_of_its_keys(run: Run, tmp_path: Path) -> None:
    known = {"device": "host", "build": "b1", "model": "cnn"}
    sizes = {"portable": {"input": {"height": 16}}, "xnnpack": {"tags": {"input": {"height": 32}}}}
    for backend, tags in sizes.items():
        dump = tmp_path / f"cnn_{backend}_n20.etdp"
        dump.write_bytes((CORPUS / "real" / dump.name).read_bytes())
        dump.with_suffix(".json").write_text(json.dumps(known | tags))
    store = ("--store", tmp_path / "s", "--format", "json")
    assert run("ingest", tmp_path, "--store", tmp_path / "s").code == 0
    outcome = run("query", "dumps", "--tag", "input.height=16", *store)
    (row,) = json.loads(outcome.text)
    assert row["source"].endswith("cnn_portable_n20.etdp")
    outcome = run("query", "scaling", "--size-tag", "input.height", *store)
    assert [row["size"] for row in json.loads(outcome.text)] == [16.0, 32.0]
