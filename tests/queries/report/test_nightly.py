from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_all, ingest_nights, record_build
from tests.support.store_rows import LONG_AGO
from tests.tools.simulation.farm import FarmWriter
from tests.tools.simulation.plan import FarmSize, plan_farm
from tracehouse import Warehouse
from tracehouse.queries.report.forms import json_form
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.outline import verdict_text
from tracehouse.queries.report.settings import Mute, Settings
from tracehouse.queries.report.verdicts import State
from tracehouse.warehouse.catalogue.queries import expand_statement
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.regressions.fleet import MinChange, order_nights
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.parts import judge_part

SHORT_DUMP = CORPUS / "real/traced_intdesc_n1_debug.etdp"
SHORT = {"device": "phone", "build": {"id": "short", "ordinal": 20}, "model": "net"}


def report(store, head=None, settings=Settings()):  # noqa: B008 - it is immutable
    return nightly_report(store, settings, head=head)


@pytest.mark.parametrize(
    ("head", "verdict", "summary"),
    cross_section(
        [
            (
                "b0",
                "not_enough_data",
                "Not enough data to judge yet (phone net: 0 builds before it, 2 wanted; "
                "1 more model too).",
            ),
            ("b8", "clear", "Nothing got slower."),
            (
                "b9",
                "suspects",
                "1 slowdown is new and not confirmed yet (net on 2 devices, +15.0 %).",
            ),
            (
                "b10",
                "regressions",
                "2 operators are slower (net on 2 devices, +15.1 %).",
            ),
            (
                "b11",
                "regressions",
                "2 operators are slower (net on 2 devices, +15.2 %). "
                "1 slowdown is new and not confirmed yet (net on phone, +19.6 %). "
                "1 small change to look at. Changes of 11.1 % could hide on 1 of 1 program.",
            ),
        ],
        3,
    ),
)
def test_each_night_has_its_verdict(nightly, head, verdict, summary):
    found = report(nightly, head)
    assert (found.kind, found.head, found.verdict, found.summary) == (
        "nightly",
        head,
        verdict,
        summary,
    )
    assert sum(row.size for row in found.tally) == found.coverage.series_count


@pytest.mark.slow
def test_the_report_is_of_the_last_build_by_default(nightly):
    found = report(nightly)
    assert found.head == "b11"
    assert found.base == [f"b{number}" for number in range(8, -1, -1)]  # since b9 it is slower
    assert found.coverage.dump_count == 8
    assert [one.device for one in found.coverage.missing] == ["tablet"]
    assert [one.change for one in found.operator_changes] == ["new_op"]
    assert found.rules["min_change"] == 0.03
    assert found.rules["base_builds"] == 16


@pytest.mark.slow
def test_an_acknowledged_or_accepted_group_does_not_fail_a_night(tmp_path):
    path = ingest_nights(tmp_path / "s", range(7, 11))
    with Warehouse.open(path) as store:
        before = report(store)
        group = before.groups[0]
        store.decide(group.id, state="acknowledged", reason="mine")
        acknowledged = report(store)
        store.decide(group.id, state="accepted", reason="worth it")
        accepted = report(store)
        store.decide(group.id, state="reopened", reason="it is not")
        reopened = report(store)
    assert [each.verdict for each in (before, acknowledged, accepted, reopened)] == [
        "regressions",
        "blind",  # so few nights show little
        "blind",
        "regressions",
    ]
    assert (accepted.groups[0].id, accepted.groups[0].reason) == (group.id, "worth it")


@pytest.mark.slow
def test_a_regression_after_a_system_update_is_neither_red_nor_green(tmp_path):
    dumps = [
        dump
        for number in range(6)
        for dump in record_build(
            number,
            {"native_call_relu.out": 1.3 if number > 3 else 1.0},
            device={"name": "phone", "os_version": "15" if number > 3 else "14"},
        )
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        found = report(store)
    (group,) = found.groups
    assert (group.state, found.verdict) == ("confirmed", "other_environment")
    assert [change.attribute for change in group.environment] == ["os_version"]


@pytest.mark.slow
def test_muted_changes_are_counted_by_reason_and_stay_in_the_report(nightly):
    found = report(nightly, "b10", Settings(muted=[Mute(event="*conv*", reason="known")]))
    assert found.verdict_counts["muted: known"] == 2
    told = [(group.headline.operator, group.state, group.reason) for group in found.groups]
    assert ("convolution", "muted", "known") in told
    assert [operator for operator, state, _ in told if state != "muted"] == ["relu"]
    assert found.verdict == "known"
    assert verdict_text(found) == "1 regression is muted, nothing new."


@pytest.mark.slow
def test_a_report_says_that_all_operators_are_muted(nightly):
    everything = Settings(muted=[Mute(event="*", reason="moved lab")])
    quiet, slower = report(nightly, "b5", everything), report(nightly, "b10", everything)
    assert (quiet.verdict, quiet.coverage.too_few) == ("not_enough_data", [])
    assert verdict_text(quiet) == "All operators are muted."
    assert slower.verdict == "known"
    assert verdict_text(slower).endswith("muted, nothing new.")


def test_an_unknown_build_and_an_empty_store_are_refused(nightly, tmp_path):
    with pytest.raises(ParameterError, match="did you mean b10"):
        report(nightly, "b100")
    with (
        Warehouse.open(tmp_path / "empty", create=True) as store,
        pytest.raises(ParameterError, match="the store has no builds yet"),
    ):
        report(store)


@pytest.mark.slow
def test_a_head_with_too_short_dumps_does_not_report_on_the_build_before(tmp_path):
    path = ingest_nights(tmp_path / "s", range(6, 9))
    with Warehouse.open(path) as store:
        store.ingest([SHORT_DUMP], manifest=SHORT)
        found = report(store)
    assert (found.head, found.verdict, found.base[:1]) == ("short", "not_enough_data", [])
    assert set(found.verdict_counts) == {"no_data"}
    assert {one.device for one in found.coverage.missing} == {"phone", "tablet"}
    with Warehouse.open(tmp_path / "only", create=True) as store:
        store.ingest([SHORT_DUMP], manifest=SHORT)
        alone = report(store)
    assert (alone.verdict, alone.groups) == ("not_enough_data", [])


@pytest.mark.slow
def test_a_past_report_is_made_again_byte_for_byte_after_later_builds(tmp_path):
    path = ingest_nights(tmp_path / "s", range(8, 11))
    with Warehouse.open(path, read_only=True) as store:
        before = json_form(report(store, "b10"))
    ingest_nights(path, [11])
    with Warehouse.open(path, read_only=True) as store:
        assert json_form(report(store, "b10")) == before
        assert json_form(report(store, "b11")) != before


@pytest.mark.slow
def test_a_past_report_knows_no_decision_and_no_refusal_of_later_nights(tmp_path):
    path = ingest_nights(tmp_path / "s", range(6, 11))
    ingest_nights(path, [11])
    (tmp_path / "broken.etdp").write_bytes(b"no dump")
    with Warehouse.open(path) as store:
        before = json_form(report(store, "b10"))
        (group, *_) = report(store, "b10").groups
        store.decide(group.id, state="accepted", reason="worth it")
        store.ingest([tmp_path / "broken.etdp"], manifest=SHORT)
        assert json_form(report(store, "b10")) == before
        last = report(store, "b11")
    assert "worth it" in {each.reason for each in last.groups}
    assert len(last.refused) == 1


@pytest.mark.slow
def test_a_simulated_farm_gives_the_same_bytes_again_in_whatever_order_it_came(tmp_path):
    farm = tmp_path / "farm"
    size = FarmSize(devices=1, builds=6, models=1, dumps=8, iterations=26)
    FarmWriter(plan_farm(size, 3)).write(farm)
    folders = sorted(path.parent for path in farm.rglob("manifest.json"))
    reports = [
        _report_of(tmp_path / f"{number}.store", order)
        for number, order in enumerate((folders, folders[::-1]))
    ]
    assert reports[0] == reports[1]


def _report_of(path: Path, folders: list[Path]) -> str:
    for folder in (folders[: len(folders) // 2], folders[len(folders) // 2 :]):
        with Warehouse.open(path, create=True) as store:
            store.ingest(folder)
    with Warehouse.open(path, read_only=True) as store:
        return json_form(report(store))


@pytest.mark.slow
def test_report_of_a_fleet_judged_in_parts_is_that_of_the_whole(
    nightly: Warehouse, nightly_path: Path
) -> None:
    def judge(head: str, min_change: MinChange, rules: Rules, view: Any) -> list[Any]:
        rows = nightly.sql(expand_statement("fleet_values"), {"head": head})
        nights = order_nights(rows, head)
        parts = []
        for device in sorted(set(rows["device"].to_pylist())):
            own = rows.filter(pc.equal(rows["device"], device))  # none has a pool
            parts.append(view(judge_part(own, head, min_change, rules, nights)))
        assert len(parts) == 2
        return parts[::-1]

    wanted = nightly_report(nightly, Settings(), head="b11")
    assert wanted.groups
    assert nightly_report(nightly, Settings(), head="b11", judge=judge) == wanted


def test_a_decision_counts_when_an_earlier_night_is_filled_in(tmp_path):
    """b5, the first slow build, comes after the alert since b6 was accepted."""
    slow = {"native_call_relu.out": 1.3}
    nights = {number: record_build(number, slow if number > 4 else None) for number in range(1, 8)}
    path = ingest_all(
        tmp_path / "s", [dump for number in nights if number != 5 for dump in nights[number]]
    )
    with Warehouse.open(path) as store:
        (before,) = report(store).groups
        assert (before.state, before.first_bad) == ("confirmed", "b6")
        store.decide(before.id, state="accepted", reason="worth it")
        store.ingest(nights[5])
        found = report(store)
    (after,) = found.groups
    assert (after.id, after.state, after.first_bad) == (before.id, "accepted", "b5")
    assert found.verdict not in ("regressions", "suspects")


def test_a_clock_at_1970_does_not_change_which_build_is_newest(tmp_path):
    """Builds with neither ordinal nor commit, and one operator slower from n5 on."""
    dumps = [
        dump
        for number in range(1, 7)
        for device in ("phone", "tablet")
        for dump in record_build(
            number,
            {"native_call_convolution.out": 1.2 if number >= 5 else 1.0},
            device=device,
            build={"id": f"n{number}"},
            captured_at=LONG_AGO
            + timedelta(days=-20_454 if (number, device) == (6, "tablet") else number),
        )
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        night = report(store)
    assert (night.head, night.recorded_on) == ("n6", (LONG_AGO + timedelta(days=6)).date())
    (found,) = night.groups
    assert (found.state, found.first_bad, found.last_good) == (State.CONFIRMED, "n5", "n4")
    (warning,) = night.quality.warnings
    assert warning.startswith("tablet's clock was at 1970-01-01 in n6 (8 dumps)")
