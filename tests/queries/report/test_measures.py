from __future__ import annotations

import pytest

from tests.support.language_farm import record_nights
from tests.support.nightly_farm import ingest_all
from tracehouse import Warehouse
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings


def report_of(tmp_path, worse, head=None):
    with Warehouse.open(ingest_all(tmp_path / "s", record_nights(worse)), read_only=True) as store:
        return nightly_report(store, Settings(), head=head)


def test_nights_without_a_change_are_silent(tmp_path):
    made = report_of(tmp_path, {})
    assert made.groups == []
    assert made.coverage.series_count == 2  # an operator and its method; measures are none


@pytest.mark.slow
@pytest.mark.parametrize(
    ("worse", "measure", "unit", "more"),
    [
        ({"load": 1.1}, "load_time", "ns", True),
        ({"energy": 1.1}, "energy", "mJ", True),
        ({"throughput": 0.9}, "throughput", "images/s", False),
    ],
)
def test_a_measure_that_gets_worse_is_confirmed_in_two_nights(tmp_path, worse, measure, unit, more):
    (alert,) = report_of(tmp_path, worse).groups
    assert (alert.state, alert.direction, alert.first_bad) == ("confirmed", "regression", "b6")
    (member,) = alert.members
    assert (member.event_name, member.unit, member.cost_ns) == (measure, unit, None)
    assert (member.delta > 0) == more
    medians = [point.median or point.median_ns for point in member.history]
    edges = [(point.p10, point.p90) for point in member.history]
    assert all(low <= one <= high for one, (low, high) in zip(medians, edges, strict=True))
    assert member.delta_low <= member.delta <= member.delta_high
    assert (max(member.base_values) < min(member.head_values)) == more
    assert abs(member.delta) == pytest.approx(0.1, abs=0.01)


@pytest.mark.slow
def test_a_rate_is_reported_with_its_unit(tmp_path):
    (alert,) = report_of(tmp_path, {"throughput": 0.8}).groups
    for part in ("throughput, 300", "images/s", "−20"):
        assert part in alert.headline.title


@pytest.mark.slow
def test_measures_that_operators_explain_are_listed_with_their_alert(tmp_path):
    (alert,) = report_of(tmp_path, {"token": 1.2}).groups
    assert alert.headline.operator == "decode"
    explained = {member.event_name: member for member in alert.explains}
    assert explained.keys() == {"Method::execute", "tokens_per_second"}
    tokens = explained["tokens_per_second"]
    assert (tokens.unit, tokens.delta < 0) == ("/s", True)
    assert min(tokens.base_values) > max(tokens.head_values)
    assert 15_000 < min(tokens.head_values) < max(tokens.base_values) < 21_000


@pytest.mark.slow
def test_a_slower_prompt_is_a_later_first_token(tmp_path):
    made = report_of(tmp_path, {"prompt": 1.2})
    told = {member.event_name for group in made.groups for member in group.members}
    told |= {member.event_name for group in made.groups for member in group.explains}
    assert "first_token" in told
    assert "tokens_per_second" not in told
