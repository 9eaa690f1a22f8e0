import pytest

from tests.support.command import Outcome
from tracehouse.warehouse.catalogue.queries import list_queries
from tracehouse.warehouse.lake.place import Lake


@pytest.mark.parametrize("command", ["query", "report"])
def test_a_lake_must_be_named(run, command):
    name = ("percentiles",) if command == "query" else ()
    outcome: Outcome = run("spark", command, *name)
    assert outcome.code == 2
    assert "--lake" in outcome.err


def test_help_lists_all_queries(run):
    text = run("spark", "query", "--help").text
    assert all(name in text for name in list_queries())


@pytest.mark.parametrize("command", ["query", "report"])
def test_a_missing_or_empty_lake_is_refused_before_spark_is_started(run, tmp_path, command):
    name = ("percentiles",) if command == "query" else ()
    outcome = run("spark", command, *name, "--lake", tmp_path)
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {tmp_path}: no lake here; create one with")
    Lake(tmp_path).begin()
    outcome = run("spark", command, *name, "--lake", tmp_path)
    assert outcome.code == 1
    assert "this lake is empty" in outcome.error


def test_parameters_are_found_wrong_before_spark_is_started(run, tmp_path):
    outcome = run("spark", "query", "percentiles", "--lake", tmp_path, "--devise", "phone")
    assert outcome.code == 2
    assert "no such parameter" in outcome.err
    outcome = run("spark", "query", "regression_deltas", "--lake", tmp_path, "--base", "b1")
    assert "missing" in outcome.err
