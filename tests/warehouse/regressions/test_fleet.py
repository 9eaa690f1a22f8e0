from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from tests.support.fleet_rows import SCHEMA, START, fleet_row, make_fleet
from tracehouse.warehouse.regressions.changes import SeriesPlace, group_changes
from tracehouse.warehouse.regressions.fleet import FleetNight, build_fleet
from tracehouse.warehouse.regressions.nightly import Status
from tracehouse.warehouse.regressions.replay import replay
from tracehouse.warehouse.statistics.device_states import NO_KERNEL


def fleet(*rows, head=None):
    return make_fleet(rows, head)


def values(found):
    """Values of each series by night."""
    starts = found.history.start
    cells = [found.history.values[a:b].tolist() for a, b in pairwise(starts)]
    width = len(found.nights)
    return [cells[start : start + width] for start in range(0, len(cells), width)]


def test_builds_are_nights_from_the_farthest_to_the_head():
    found = fleet(fleet_row("head", 0, [3]), fleet_row("old", 2, [1]), fleet_row("mid", 1, [2]))
    assert [night.build for night in found.nights] == ["old", "mid", "head"]
    assert values(found) == [[[1], [2], [3]]]


def test_sessions_of_one_build_are_nights_of_their_own_in_the_order_of_recording():
    late, early = START + timedelta(hours=2), START + timedelta(hours=1)
    found = fleet(
        fleet_row("head", 0, [3], session="a", recorded_at=late),
        fleet_row("head", 0, [2], session="z", recorded_at=early),
        fleet_row("head", 0, [4], session="undated", recorded_at=None),
        fleet_row("old", 1, [1], session="a"),
    )
    assert found.nights == (
        FleetNight("old", 0),
        FleetNight("head", 2),
        FleetNight("head", 1),
        FleetNight("head", 0),
    )
    assert values(found) == [[[1], [2], [3], [4]]]
    named = [found.sessions["phone", "mv2", None, night] for night in range(4)]
    assert named == ["a", "z", "a", "undated"]


def test_devices_that_name_their_own_sessions_share_the_nights_of_a_build():
    def rows(device, *sessions):
        for number, (build, distance, session) in enumerate(sessions):
            at = START + timedelta(hours=number + 5 * len(device))
            known = {"device": device, "session": session, "recorded_at": at}
            yield fleet_row(build, distance, [number], **known)

    found = fleet(
        *rows("a", ("old", 1, "a-1"), ("head", 0, "a-2"), ("head", 0, "a-3")),
        *rows("phone", ("old", 1, "p-77"), ("head", 0, "p-78")),
        *rows("tablet", ("old", 1, ""), ("old", 1, "again"), ("head", 0, "")),
    )
    assert found.nights == (
        FleetNight("old", 1),
        FleetNight("old", 0),
        FleetNight("head", 1),
        FleetNight("head", 0),
    )
    by_device = dict(zip(found.keys["device"].to_pylist(), values(found), strict=True))
    assert by_device == {
        "a": [[], [0], [1], [2]],
        "phone": [[], [0], [], [1]],
        "tablet": [[0], [1], [], [2]],
    }


def test_one_cause_on_devices_with_sessions_of_their_own_is_one_group():
    rng = np.random.default_rng(12)
    rows = []
    for device in range(6):
        for number in range(14):
            session = f"run-{device * 31 + number}"
            at = START + timedelta(days=number, hours=device)
            for place in range(6):
                level = 5 + place + 0.1 * (place == 2 and number >= 11)
                known = {"device": f"d{device}", "session": session, "recorded_at": at}
                name = f"native_call_{place}.out"
                logs = level + rng.normal(0, 0.01, 10)
                rows.append(fleet_row(f"b{number:02}", 13 - number, logs, event_name=name, **known))
    found = fleet(*rows)
    result = replay(found.history)
    assert (result.night.status >= Status.UNCHANGED).all()
    places = [
        SeriesPlace(int(family), "mv2", operator, 0)
        for family, operator in zip(found.history.series.family, found.operators, strict=True)
    ]
    (group,) = group_changes(result.changes, places, [night.build for night in found.nights])
    assert len(group.changes) == 6
    assert found.nights[group.first_bad].build == "b11"


def test_two_sessions_of_one_build_confirm_each_other():
    generator = np.random.default_rng(1)

    def dumps(level):
        return level + generator.normal(0, 0.01, 10)

    old = [fleet_row(f"b{number}", 9 - number, dumps(5)) for number in range(9)]
    sessions = [
        fleet_row("b9", 0, dumps(5.2), session=name, recorded_at=START + timedelta(hours=hour))
        for hour, name in enumerate(["evening", "night"])
    ]
    (suspected,) = replay(fleet(*old, sessions[0]).history).changes
    assert suspected.confirmed is None
    (change,) = replay(fleet(*old, *sessions).history).changes
    assert (change.first_bad, change.confirmed) == (9, 10)


def test_series_are_told_apart_by_every_part_of_their_key():
    parts = {
        "device": "tablet",
        "pool": "lab",
        "model": "mv3",
        "backend": "xnnpack",
        "unit": "tick",
        "event_name": "native_call_relu.out",
        "delegate_id": "0",
        "ordinal": 2,
        "kind": "delegate_op",
    }
    found = fleet(
        fleet_row(),
        *(fleet_row(**{name: value}) for name, value in parts.items()),
        fleet_row("b1", 1),
    )
    assert len(found.keys) == 1 + len(parts)
    assert found.history.family_count == 6  # of the first five, and of the plain one
    # A text and its absence are two.
    assert len(fleet(fleet_row(backend=None), fleet_row(backend="")).keys) == 2


def test_the_keys_are_those_of_the_values():
    found = fleet(
        fleet_row(device="b", logs=[1]), fleet_row(device="a", logs=[2]), fleet_row("b1", 1, [3])
    )
    by_device = dict(zip(found.keys["device"].to_pylist(), values(found), strict=True))
    assert by_device == {"b": [[], [1]], "a": [[], [2]], "phone": [[3], []]}


def test_the_order_of_rows_does_not_matter():
    rows = [
        fleet_row(
            device=device, backend=backend, logs=[number], build=f"b{number}", distance=number
        )
        for number in range(3)
        for device in ("b", "a", "c")
        for backend in ("xnnpack", None, "portable")
    ]
    rows += [
        fleet_row(f"pin{n}", None, [n], device="a", backend=None, session="") for n in range(2)
    ]
    one, other = fleet(*rows), fleet(*rows[::-1])
    assert one.keys.equals(other.keys)
    assert values(one) == values(other)
    assert one.history.series.family.tolist() == other.history.series.family.tolist()
    assert one.keys["device"].to_pylist() == sorted(one.keys["device"].to_pylist())


def test_kernels_are_operator_types_and_containers_have_none():
    found = fleet(
        fleet_row(),
        fleet_row(ordinal=2),
        fleet_row(event_name="native_call_relu.out"),
        fleet_row(event_name="Method::execute", kind="method"),
        fleet_row(event_name="DELEGATE_CALL", kind="delegate_call"),
    )
    names = zip(*(found.keys[name].to_pylist() for name in ("event_name", "ordinal")), strict=True)
    kernels = dict(zip(names, found.history.series.kernel.tolist(), strict=True))
    assert kernels["native_call_conv.out", 1] == kernels["native_call_conv.out", 2]
    assert kernels["native_call_conv.out", 1] != kernels["native_call_relu.out", 1]
    assert kernels["Method::execute", 1] == kernels["DELEGATE_CALL", 1] == NO_KERNEL


def test_floor_and_half_tick_are_the_largest_of_all_builds():
    found = fleet(
        fleet_row(floor=10.0, half_tick=0.5), fleet_row("b1", 1, floor=40.0, half_tick=2.0)
    )
    assert found.history.series.floor.tolist() == [np.log(40)]
    assert found.history.series.half_tick.tolist() == [2.0]


def test_the_smallest_change_is_asked_of_each_series():
    rows = pa.Table.from_pylist([fleet_row(device="a"), fleet_row(device="b")], SCHEMA)
    found = build_fleet(
        rows, "b0", lambda keys: np.where(np.array(keys["device"].to_pylist()) == "b", 0.1, 0.02)
    )
    by_device = dict(
        zip(
            found.keys["device"].to_pylist(),
            found.history.series.min_change.tolist(),
            strict=True,
        )
    )
    assert by_device == {"a": 0.02, "b": 0.1}


def test_values_are_relative_to_the_reference_of_their_session():
    found = fleet(
        fleet_row("pin", None, [1.0, 1.0, 1.0], session="s1"),
        fleet_row("pin", None, [1.5], session="s2"),
        fleet_row("old", 1, [4.0], session="s1"),
        fleet_row("head", 0, [4.5], session="s2"),
    )
    assert found.has_reference.tolist() == [True]
    # Both are as far from the reference's usual level of 1.25.
    assert values(found) == [[[pytest.approx(4.25)], [pytest.approx(4.25)]]]
    assert found.history.reference.tolist() == [pytest.approx(-0.25), pytest.approx(0.25)]


def test_recordings_without_the_reference_stay_as_they_are():
    found = fleet(
        fleet_row("pin", None, [1.0], session="s1"),
        fleet_row("old", 2, [4.0], session="s0"),
        fleet_row("mid", 1, [4.0], session="s1"),
        fleet_row("head", 0, [4.1], session="s2"),
    )
    assert values(found) == [[[4.0], [4.0], [4.1]]]
    assert np.isnan(found.history.reference).tolist() == [True, False, True]


def test_the_reference_of_another_operator_or_device_does_not_count():
    found = fleet(
        fleet_row("pin", None, [1.0], session="s1", device="tablet"),
        fleet_row("pin", None, [1.0], session="s1", ordinal=2),
        fleet_row("head", 0, [4.1], session="s1"),
    )
    assert not found.has_reference.any()
    assert [[4.1]] in values(found)


def test_a_reference_cancels_the_drift_of_its_device():
    generator = np.random.default_rng(4)
    drift = np.cumsum(generator.normal(0, 0.05, 14))
    rows = []
    for number, level in enumerate(drift):
        session = f"s{number}"
        rows.append(
            fleet_row("pin", None, 5 + level + generator.normal(0, 0.005, 10), session=session)
        )
        slower = 0.08 if number >= 12 else 0.0
        dumps = 5 + level + slower + generator.normal(0, 0.005, 10)
        rows.append(fleet_row(f"b{number}", 13 - number, dumps, session=session))
    (change,) = replay(fleet(*rows).history).changes
    assert (change.first_bad, change.confirmed) == (12, 13)
    assert change.shift == pytest.approx(0.08, abs=0.02)
    without = replay(fleet(*(each for each in rows if each["distance"] is not None)).history)
    assert [(each.first_bad, each.confirmed) for each in without.changes] != [(12, 13)]


def _busy_rows(nights=14, slower=11):
    """A device whose state moves from dump to dump, with a reference that sees other states."""
    rng = np.random.default_rng(8)
    for number in range(nights):
        states, others = rng.uniform(-0.25, 0.25, (2, 10)) + rng.uniform(-0.2, 0.2)
        for place in range(8):
            level = 5 + place + 0.08 * (place == 3 and number >= slower)
            known = {"event_name": f"native_call_{place}.out", "session": f"s{number}"}
            noise = rng.normal(0, 0.01, (2, 10))
            yield fleet_row(f"b{number}", nights - 1 - number, level + states + noise[0], **known)
            yield fleet_row("pin", None, 5 + place + others + noise[1], **known)


def _list_changes(rows):
    found = fleet(*rows)
    return [
        (found.name(change.series)["event_name"], change.first_bad, change.confirmed)
        for change in replay(found.history).changes
    ]


def test_a_reference_does_not_hide_a_change_that_the_device_state_shows():
    rows = list(_busy_rows())
    without = [row for row in rows if row["distance"] is not None]
    assert _list_changes(without) == [("native_call_3.out", 11, 12)]
    assert _list_changes(rows) == _list_changes(without)


def test_a_reference_recorded_only_later_hides_no_change_either():
    rows = list(_busy_rows())
    late = [row for row in rows if row["build"] != "pin" or row["session"] > "s5"]
    assert _list_changes(late) == [("native_call_3.out", 11, 12)]


def test_a_reference_shows_that_a_whole_program_became_slower():
    rng = np.random.default_rng(9)
    rows = []
    for number in range(14):
        state = rng.normal(0, 0.05)
        for place in range(4):
            level = 5 + place + state
            known = {"event_name": f"native_call_{place}.out", "session": f"s{number}"}
            own = level + 0.1 * (number >= 11) + rng.normal(0, 0.005, 10)
            rows.append(fleet_row(f"b{number}", 13 - number, own, **known))
            rows.append(fleet_row("pin", None, level + rng.normal(0, 0.005, 10), **known))
    found = replay(fleet(*rows).history).changes
    assert [(each.first_bad, each.is_relative) for each in found] == [(11, True)] * 4
    without = [row for row in rows if row["distance"] is not None]
    assert replay(fleet(*without).history).changes == []


@pytest.mark.parametrize("is_of_device", [True, False])
def test_a_reference_denies_what_only_its_device_does(is_of_device):
    """A long operator is interrupted from a night on: of the build alone, or on the device."""
    rng = np.random.default_rng(10)
    rows = []
    for number in range(14):
        for place in range(8):
            known = {"event_name": f"native_call_{place}.out", "session": f"s{number}"}
            slower = 0.2 * (place == 3 and number >= 11)
            own, pinned = 5 + place + rng.normal(0, 0.01, (2, 10))
            rows.append(fleet_row(f"b{number}", 13 - number, own + slower, **known))
            rows.append(fleet_row("pin", None, pinned + slower * is_of_device, **known))
    found = [each for each in replay(fleet(*rows).history).changes if each.confirmed is not None]
    assert [each.first_bad for each in found] == ([] if is_of_device else [11])
    without = [row for row in rows if row["distance"] is not None]
    assert len(_list_changes(without)) == 1


def test_a_head_without_values_has_a_night_without_data():
    found = fleet(fleet_row("old", 1, [1.0]), head="new")
    assert [night.build for night in found.nights] == ["old", "new"]
    assert replay(found.history).night.status.tolist() == [Status.NO_DATA]
    nothing = fleet(head="new")
    assert (nothing.nights, nothing.operators) == ((FleetNight("new", 0),), ())
    assert replay(nothing.history).changes == []
