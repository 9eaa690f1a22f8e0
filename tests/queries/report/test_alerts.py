from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.alerts import last_night_before, list_alerts, order_alerts
from tracehouse.queries.report.content import EnvironmentChange
from tracehouse.queries.report.figures import delta_text, times_text
from tracehouse.queries.report.night import GroupDecision, judge_head
from tracehouse.queries.report.sentences import order_rows
from tracehouse.queries.report.settings import Owner, Settings


def alerts_of(night, commits):
    return order_alerts(list_alerts(night, commits, lambda *_: [], lambda *_: []))


@pytest.fixture(scope="module")
def nights(judged):
    return {head: judged(head) for head in ("b9", "b10", "b11")}


def decided(night, state, reason):
    """The night with this last decision about the convolution's group."""
    group = next(group.id for group in night.groups if "convolution" in group.operators)
    return replace(night, decisions={group: GroupDecision(state, reason)})


def states(night):
    return [
        (alert.headline.operator, alert.direction, alert.state) for alert in alerts_of(night, {})
    ]


@pytest.mark.slow
def test_regressions_come_first_and_confirmed_ones_before_new_ones(nights):
    assert states(nights["b11"]) == [
        ("convolution", "regression", "confirmed"),
        ("add", "regression", "new"),
        ("relu", "improvement", "confirmed"),
    ]


@pytest.mark.slow
def test_a_change_of_a_pool_is_one_alert_about_its_devices(pool_night):
    (alert,) = alerts_of(pool_night, {})
    assert (alert.state, alert.first_bad, alert.last_good) == ("confirmed", "b8", "b7")
    assert "and 5 more devices: " in alert.headline.title
    assert alert.headline.cost_ns == sum(member.cost_ns for member in alert.members)


@pytest.mark.slow
def test_the_id_of_a_group_stays_from_night_to_night(nights):
    ids = {alerts_of(night, {})[0].id for night in nights.values()}
    assert len(ids) == 1


def test_only_a_suspected_group_needs_more_dumps(nights):
    assert [alert.dumps_needed for alert in alerts_of(nights["b11"], {})] == [0, 8, 0]


@pytest.mark.parametrize("state", ["accepted", "acknowledged"])
def test_an_alert_has_the_decided_state_and_reason(nights, state):
    alert = alerts_of(decided(nights["b10"], state, "more accurate"), {})[0]
    assert (alert.state, alert.reason) == (state, "more accurate")


def test_a_reopened_alert_is_confirmed_again(nights):
    assert states(decided(nights["b10"], "reopened", "too slow"))[0][2] == "confirmed"


def test_a_suspicion_can_be_accepted_but_to_acknowledge_it_does_not_confirm_it(nights):
    assert states(decided(nights["b9"], "accepted", "known"))[0][2] == "accepted"
    assert states(decided(nights["b9"], "acknowledged", "mine"))[0][2] == "new"


def test_a_group_is_headed_by_its_costliest_member(nights):
    alert = alerts_of(nights["b9"], {})[0]
    costs = [member.cost_ns for member in alert.members]
    assert costs == sorted(costs, reverse=True)
    headline = alert.headline
    assert headline.cost_ns == pytest.approx(sum(costs))
    assert headline.delta == alert.members[0].delta
    assert headline.title.startswith(f"net on {alert.members[0].device} and 1 more device: ")
    method = next(one for one in alert.explains if one.device == alert.members[0].device)
    head_ns = method.base_ns * (1 + method.delta)
    moved = f"{times_text(method.base_ns, head_ns)}, {delta_text(method.delta)}"
    assert headline.title.endswith(f": convolution #1, method {moved}")
    assert headline.method_share == pytest.approx(method.delta, rel=0.3)
    rows = order_rows(alert.members, alert.explains)
    assert [row.kind for row in rows] == ["method", "kernel"] * 2
    assert (headline.device_count, headline.model_count, headline.member_count) == (2, 1, 2)
    assert headline.total_share == pytest.approx(1, abs=0.1)
    assert {member.event_name for member in alert.explains} == {"Method::execute"}


def test_the_cause_lies_between_the_last_good_and_the_first_bad_build(nights):
    alert = alerts_of(nights["b11"], {})[0]
    assert (alert.last_good, alert.first_bad) == ("b8", "b9")


def test_the_commands_of_an_alert_reproduce_and_bisect_it(nights):
    commits = {"b8": "c0ffee08", "b9": "c0ffee09"}
    alert = alerts_of(nights["b9"], commits)[0]
    device = alert.members[0].device
    assert alert.commands == [
        f"tracehouse explain {alert.id} --head b9",
        f"tracehouse compare b8 b9 --device {device} --model net",
        "tracehouse query build_history --event native_call_convolution.out "
        f"--device {device} --model net",
        "git bisect start c0ffee09 c0ffee08",
        "git bisect run sh -c "
        f"'./record.sh || exit 125; tracehouse bisect-step {alert.id} --head b9'",
    ]
    assert len(alerts_of(nights["b9"], {"b8": "c0ffee08", "b9": None})[0].commands) == 3


def test_the_owner_is_that_of_the_settings(nights):
    owned = replace(nights["b9"], settings=Settings(owners=[Owner(event="*conv*", owner="core")]))
    assert alerts_of(owned, {})[0].owner == "core"
    assert alerts_of(nights["b9"], {})[0].owner is None


def test_an_alert_reports_environment_changes_between_good_and_bad_build(nights):
    def environment(night, change):
        names = {name: night.fleet.name(change.series)[name] for name in ("device", "model")}
        named = {"backend": None, "attribute": "os_version", "base": "1", "head": "2"}
        is_tablet = names["device"] == "tablet"
        return [EnvironmentChange(**names, **named)] if is_tablet else []

    alert = list_alerts(nights["b9"], {}, environment, lambda *_: [])[0]
    assert [change.device for change in alert.environment] == ["tablet"]
    assert alert.headline.title.endswith(", with another os_version")
    assert not alert.is_of_environment  # the phone's is as it was


@pytest.mark.slow
def test_a_fix_is_reported_while_its_base_lasts_but_an_old_improvement_is_not(tmp_path):
    levels = [1.0] * 5 + [1.3] * 3 + [1.0] * 8
    dumps = [
        dump
        for number, level in enumerate(levels)
        for dump in record_build(
            number,
            {
                "native_call_convolution.out": level,
                "native_call_relu.out": 1.0 if number < 5 else 0.9,
            },
        )
    ]
    settings = Settings.model_validate({"nightly": {"base_builds": 8}})
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        told = {
            head: {
                alert.headline.operator: (alert.state, alert.fixed_in)
                for alert in alerts_of(judge_head(store, head, settings), {})
            }
            for head in ("b8", "b9", "b11", "b14", "b15")
        }
    assert told["b8"]["convolution"] == ("confirmed", None)
    assert told["b9"]["convolution"] == ("fixed", "b8")
    assert told["b11"]["relu"] == ("confirmed", None)
    assert told["b14"] == {"convolution": ("fixed", "b8")}
    assert told["b15"] == {}


@pytest.mark.slow
def test_hostile_names_are_quoted_in_commands(tmp_path):
    evil = "a b'; rm -rf ~ #$(x)"
    dumps = [
        dump
        for number in range(5)
        for dump in record_build(
            number,
            {f"native_call_{evil}.out": 1.5 if number == 4 else 1.0},
            device=evil,
            model=evil,
        )
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        alert = alerts_of(judge_head(store, None, Settings()), {})[0]

    words = shlex.split(alert.commands[2])
    assert words[words.index("--device") + 1] == evil
    assert words[words.index("--model") + 1] == evil
    assert words[words.index("--event") + 1] == f"native_call_{evil}.out"
    assert shlex.split(alert.commands[1])[-1] == evil


def test_builds_that_are_recent_are_counted_and_not_their_sessions():
    builds = ["a", "a", "b", "b", "b", "c"]
    assert [last_night_before(builds, count) for count in (1, 2, 3, 4)] == [5, 4, 1, -1]
    assert last_night_before(["a", "b", "c"], 2) == 1
