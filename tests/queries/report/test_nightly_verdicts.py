from __future__ import annotations

import pytest

from queries.report.nightly_verdicts import nightly_verdicts
from queries.report.settings import Settings


@pytest.fixture(scope="module")
def rows(nightly):
    return {
        head: nightly_verdicts(nightly, head, Settings()).to_pylist()
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
    rows = nightly_verdicts(pool_store, None, Settings()).to_pylist()
    devices = [row["device"] for row in rows]
    assert devices == sorted(devices[:-5]) + [None] * 5
    verdicts = {row["event_name"]: row for row in rows[-5:]}
    relu = verdicts.pop("native_call_relu.out")
    assert (relu["pool"], relu["verdict"], relu["first_bad"]) == ("phones", "regression", "b8")
    assert (relu["base_count"], relu["head_count"]) == (48, 6)
    assert (relu["base_ns"], relu["head_ns"]) == (None, None)
    assert {row["verdict"] for row in verdicts.values()} == {"unchanged"}
    assert {row["verdict"] for row in rows[:-5]} == {"needs_more_dumps"}
