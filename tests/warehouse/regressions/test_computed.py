from __future__ import annotations

import pytest

from tests.support.store_template import copy_new_store
from warehouse import Warehouse
from warehouse.catalogue.queries import find_query
from warehouse.errors import ParameterError


@pytest.fixture(scope="module")
def rows(nightly):
    return {
        head: nightly.query("nightly_verdicts", head=head).to_pylist()
        for head in ("b0", "b9", "b10")
    }


def test_every_series_has_a_verdict_in_order_of_its_names(rows):
    named = [(row["device"], row["model"], row["event_name"]) for row in rows["b10"]]
    assert named == sorted(named)
    assert len(named) == len(rows["b9"])


def test_a_suspicion_and_its_confirmation_are_told_apart(rows):
    suspected = {row["event_name"] for row in rows["b9"] if row["verdict"] == "suspect_regression"}
    confirmed = [row for row in rows["b10"] if row["verdict"] == "regression"]
    assert suspected
    assert suspected == {row["event_name"] for row in confirmed}
    assert {row["first_bad"] for row in confirmed} == {"b9"}
    assert all(row["delta"] > row["error"] for row in confirmed)


def test_a_first_build_has_nothing_to_be_compared_with(rows):
    assert {row["verdict"] for row in rows["b0"]} == {"needs_more_builds"}
    assert {row["delta"] for row in rows["b0"]} == {None}


def test_the_series_of_pools_come_last_and_have_no_device(pool_store):
    rows = pool_store.query("nightly_verdicts").to_pylist()
    devices = [row["device"] for row in rows]
    assert devices == sorted(devices[:-5]) + [None] * 5
    verdicts = {row["event_name"]: row for row in rows[-5:]}
    relu = verdicts.pop("native_call_relu.out")
    assert (relu["pool"], relu["verdict"], relu["first_bad"]) == ("phones", "regression", "b8")
    assert (relu["base_count"], relu["head_count"]) == (48, 6)
    assert (relu["base_ns"], relu["head_ns"]) == (None, None)
    assert {row["verdict"] for row in verdicts.values()} == {"unchanged"}
    assert {row["verdict"] for row in rows[:-5]} == {"needs_more_dumps"}


def test_the_answer_has_the_columns_that_are_told(nightly):
    types = {
        "STRING": "string",
        "INT": "int32",
        "BIGINT": "int64",
        "DOUBLE": "double",
        "BOOLEAN": "bool",
    }
    header = find_query("nightly_verdicts").header
    told = [(column.name, types[column.type]) for column in header.columns]
    schema = nightly.query("nightly_verdicts", head="b0").schema
    assert [(field.name, str(field.type)) for field in schema] == told


@pytest.mark.parametrize(
    ("params", "problem"),
    [({"heads": "x"}, "did you mean head"), ({"head": "b99"}, "did you mean b9")],
)
def test_parameters_are_checked_as_in_other_queries(nightly, params, problem):
    with pytest.raises(ParameterError, match=problem):
        nightly.query("nightly_verdicts", **params)


def test_a_store_without_builds_has_nothing_to_judge(tmp_path):
    copy_new_store(tmp_path / "s")
    with (
        Warehouse.open(tmp_path / "s", read_only=True) as store,
        pytest.raises(ParameterError, match="no builds yet"),
    ):
        store.query("nightly_verdicts")
