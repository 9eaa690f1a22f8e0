from __future__ import annotations

import shutil

import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.exact_alerts import judge_measures
from tracehouse.queries.report.forms import MEDIA_TYPES, render
from tracehouse.queries.report.night import judge_head
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.outline import sort_groups, verdict_text
from tracehouse.queries.report.settings import Mute, Owner, Settings

BYTES = [1000, 1000, 1000, 1280, 1280]


def size(count):
    return [{"name": "program_bytes", "unit": "bytes", "value": count}]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Five builds on two devices; the fourth allocates more and its program is larger."""
    dumps = [
        dump
        for number, allocated in enumerate(BYTES)
        for device in ("phone", "tablet")
        for dump in record_build(
            number,
            device=device,
            count=5,
            allocated=allocated,
            counters=size(2_000_000 + 10 * (number >= 3)),
        )
    ]
    return ingest_all(tmp_path_factory.mktemp("exact") / "s", dumps)


@pytest.fixture(scope="module")
def store(path):
    with Warehouse.open(path, read_only=True) as store:
        yield store


@pytest.fixture(scope="module")
def reports(store):
    """The nightly reports of b3 and b4."""
    return [nightly_report(store, Settings(), head=f"b{number}") for number in (3, 4)]


def test_a_change_is_one_confirmed_alert_in_its_first_night(reports):
    made = reports[0]
    (alert,) = made.groups
    assert (made.verdict, alert.state, alert.direction) == (
        "regressions",
        "confirmed",
        "regression",
    )
    assert (alert.first_bad, alert.last_good) == ("b3", "b2")
    assert alert.headline.operators == ["allocated_bytes", "program_bytes"]
    assert {
        (m.device, m.event_name, m.unit, *m.base_values, *m.head_values) for m in alert.members
    } == {
        (device, name, "bytes", was, now)
        for device in ("phone", "tablet")
        for name, was, now in (
            ("allocated_bytes forward pool", 1000, 1280),
            ("program_bytes", 2_000_000, 2_000_010),
        )
    }
    assert "1,000 bytes → 1,280 bytes, +28.0 %" in alert.headline.title


def test_the_build_before_is_clear_and_the_next_night_tells_the_same_alert(store, reports):
    first, later = reports
    assert judge_measures(store, judge_head(store, "b2", Settings())).groups == []
    assert [group.id for group in later.groups] == [group.id for group in first.groups]
    assert later.verdict == "regressions"


def test_every_form_tells_from_how_much_to_how_much(reports):
    for form in MEDIA_TYPES:
        text = render(reports[0], form).replace(" ", "")
        parts = ['"base_values":[1000.0]'] if form == "json" else ["1,000bytes", "1,280bytes"]
        assert [part for part in parts if part not in text.replace("\N{NO-BREAK SPACE}", "")] == []


@pytest.mark.parametrize("loaded", [(0, 0, 4096), (4096, 4096, 0)])
def test_memory_of_runs_that_only_some_builds_have_is_no_change(loaded, tmp_path):
    dumps = [
        dump
        for number, size in enumerate(loaded)
        for dump in record_build(number, count=2, allocated=100, loaded=size)
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        found = judge_measures(store, judge_head(store, "b2", Settings()))
    assert found.history.changes == ()


def test_an_allocator_that_only_the_newest_build_uses_took_nothing_before(tmp_path):
    dumps = [
        *record_build(0, count=2, loaded=64),
        *record_build(1, count=2, loaded=64, allocated=8),
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        found = judge_measures(store, judge_head(store, "b1", Settings()))
    (change,) = found.history.changes
    series = found.history.of(change)
    assert (series.run_name, series.value(0), series.value(1)) == ("forward", 0, 8)


@pytest.mark.slow
def test_an_accepted_change_stays_accepted(path, reports, tmp_path):
    with Warehouse.open(shutil.copytree(path, tmp_path / "s")) as store:
        store.decide(reports[1].groups[0].id, state="accepted", reason="a larger cache")
        made = nightly_report(store, Settings(), head="b4")
    (accepted,) = made.groups
    assert (accepted.state, accepted.reason) == ("accepted", "a larger cache")
    assert made.verdict != "regressions"


@pytest.mark.slow
def test_mutes_and_owners_hold_for_measures(store):
    settings = Settings(
        muted=[Mute(event="program_bytes", reason="known")],
        owners=[Owner(event="allocated*", owner="memory team")],
    )
    made = nightly_report(store, settings, head="b3")
    assert made.groups[0].headline.operators == ["allocated_bytes"]
    assert made.verdict_counts["muted: known"] == 2
    assert made.groups[0].owner == "memory team"


def _exact_report(path, builds, *, devices=("phone",), decided=None):
    """The report of the last build; each states bytes allocated, and bytes of its program."""
    dumps = [
        dump
        for number, (allocated, program) in enumerate(builds)
        for device in devices
        for dump in record_build(
            number, device=device, count=5, allocated=allocated, counters=size(program)
        )
    ]
    with Warehouse.open(ingest_all(path, dumps)) as store:
        if decided:
            store.decide(decided, state="accepted", reason="known")
        return nightly_report(store, Settings(), head=f"b{len(builds) - 1}")


@pytest.mark.slow
def test_a_measure_that_joins_an_accepted_change_reopens_it(tmp_path):
    builds = [(1000, 500), (1000, 500), (1100, 500)]
    (alert,) = _exact_report(tmp_path / "a", builds).groups
    again = _exact_report(tmp_path / "b", builds, decided=alert.id)
    assert [(group.state, again.verdict != "regressions") for group in again.groups] == [
        ("accepted", True)
    ]
    builds[2] = (1100, 15_000)
    joined = _exact_report(tmp_path / "c", builds, decided=alert.id)
    assert [group.state for group in joined.groups] == ["confirmed"]
    assert joined.verdict == "regressions"


def test_few_bytes_more_do_not_fail_a_build(tmp_path):
    made = _exact_report(tmp_path / "s", [(10_000, 500), (10_000, 500), (10_010, 500)])
    assert (made.verdict, made.verdict.exit_status) == ("suspects", 0)
    assert verdict_text(made) == "1 small change to look at."
    assert sort_groups(made.groups).small == made.groups
    assert "<skipped" in render(made, "junit")
    more = _exact_report(tmp_path / "t", [(10_000, 500), (10_000, 500), (10_300, 500)])
    assert more.verdict == "regressions"


def test_a_measure_that_returned_to_its_level_leaves_the_alert(tmp_path):
    builds = [(1000, 500), (1000, 500), (1100, 600), (1100, 500)]
    made = _exact_report(tmp_path / "s", builds)
    (alert,) = made.groups
    assert (alert.state, alert.headline.operators) == ("confirmed", ["allocated_bytes"])
    assert [member.event_name for member in alert.members] == ["allocated_bytes forward pool"]
