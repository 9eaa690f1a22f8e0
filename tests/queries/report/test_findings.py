from __future__ import annotations

import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.night import judge_head
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings


def findings(store, head):
    return judge_head(store, head, Settings()).findings


def base(night, bad=()):
    builds = [each.build for each in night.fleet.nights]
    return night.findings.base(builds, night.rules.base_builds, bad)


@pytest.fixture(scope="module")
def last(judged):
    return judged("b11").findings


def test_the_base_is_the_builds_before_newest_first(judged):
    assert base(judged("b11")) == [f"b{number}" for number in range(10, -1, -1)]
    assert base(judged("b11"), {"b9", "b11"}) == [f"b{number}" for number in range(8, -1, -1)]
    assert base(judged("b0")) == []


def test_series_are_counted_by_verdict(judged, last):
    assert judged("b0").findings.verdict_counts == {"needs_more_builds": 10}
    assert judged("b8").findings.verdict_counts == {"unchanged": 10}
    counts = last.verdict_counts
    assert "no_data" not in counts  # the tablet's are not of this build
    assert sum(counts.values()) == last.series_count == 6


@pytest.mark.slow
def test_pools_are_no_devices(pool_night):
    found = pool_night.findings
    assert found.verdict_counts == {"needs_more_dumps": 30}
    assert (len(found.families), found.series_count, found.missing) == (6, 30, [])
    assert [shift.device for shift in found.run_shifts] == [f"phone-{n}" for n in range(6)]
    assert found.operator_changes == []


def test_a_device_without_the_head_is_missing_since_its_last_build(nightly, judged):
    coverage = nightly_report(nightly, Settings(), head="b11").coverage
    assert [(one.device, one.model, one.last_build) for one in coverage.missing] == [
        ("tablet", "net", "b10")
    ]
    assert (coverage.device_count, coverage.model_count, coverage.series_count) == (1, 1, 6)
    assert judged("b10").findings.missing == []


@pytest.mark.slow
def test_a_device_that_was_gone_for_as_long_as_a_base_is_not_missing_any_more(tmp_path):
    dumps = [
        *record_build(0, device="tablet", count=1),
        *(dump for number in range(18) for dump in record_build(number, count=1)),
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        assert len(findings(store, "b16").missing) == 1
        assert findings(store, "b17").missing == []


@pytest.mark.slow
def test_a_device_with_too_few_dumps_is_reported(tmp_path):
    dumps = [*record_build(0), *record_build(1), *record_build(2, count=4)]
    dumps += record_build(2, device="tablet")
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        report = nightly_report(store, Settings())
    assert report.coverage.too_few == [
        "phone net: 4 dumps, 8 wanted",
        "tablet net: 0 builds before it, 2 wanted",
    ]
    assert report.verdict == "not_enough_data"
    assert "phone net: 4 dumps, 8 wanted" in report.summary


@pytest.mark.slow
def test_new_and_removed_operators_are_reported(tmp_path, last):
    (new,) = last.operator_changes
    assert (new.change, new.event_name, new.detail) == (
        "new_op",
        "native_call_sigmoid.out",
        "not in b10",
    )
    assert new.cost_ns == pytest.approx(10_000, rel=0.01)
    dumps = [*record_build(0, {"native_call_gelu.out": 2.0}), *record_build(1)]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        (gone,) = findings(store, "b1").operator_changes
    assert (gone.change, gone.event_name) == ("removed_op", "native_call_gelu.out")
    assert gone.detail == "in b0, not in b1"
    assert gone.cost_ns == pytest.approx(-20_000, rel=0.01)


def test_a_missing_device_has_no_removed_operators(last):
    assert {change.device for change in last.operator_changes} == {"phone"}


@pytest.mark.slow
def test_a_device_that_slows_down_as_a_whole_is_a_run_shift(tmp_path):
    names = [f"native_call_op{number}.out" for number in range(8)]

    def record(number, factor):
        return record_build(number, {f"{name}": factor for name in names})

    dumps = [dump for number in range(6) for dump in record(number, 1.0)]
    dumps += record(6, 1.2)
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        summaries = [nightly_report(store, Settings(), head=head).summary for head in ("b5", "b6")]
        assert not findings(store, "b5").run_shifts[0].is_notable
        (shift,) = findings(store, "b6").run_shifts
        first = findings(store, "b0").run_shifts
    assert (shift.device, shift.model, shift.is_notable) == ("phone", "net", True)
    assert shift.shift == pytest.approx(0.2, abs=0.03)
    assert shift.limit >= 0.03
    assert first == []  # nothing to compare with
    assert ["moved together, +" in text for text in summaries] == [False, True]
