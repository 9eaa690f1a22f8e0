"""Fleets judged in parts are told as those judged whole."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from tests.support.fleet_rows import SCHEMA, fleet_row
from tests.support.histories import LEVEL, night
from warehouse.regressions.fleet import order_nights
from warehouse.regressions.nightly import Rules
from warehouse.regressions.parts import PART, drop_quiet_values, join_parts, judge_part
from warehouse.statistics.device_states import NO_KERNEL

NIGHTS = 14
SLOWER = 11
OPERATORS = ("conv", "relu", "add", "mean", "mul", "softmax", "sub")


def min_change(keys):
    return np.full(len(keys), 0.03)


def rows():
    """Two pools of six devices and one device without, some of them slower of late."""
    for device in range(13):
        pool = ("phones", "tablets", None)[device // 6]
        for place, operator in enumerate(OPERATORS):
            is_slower = device % 3 == 0 and operator == "conv"
            for number in range(NIGHTS):
                level = LEVEL + 0.1 * (is_slower and number >= SLOWER) + 0.01 * place
                if (device, number) == (4, NIGHTS - 1):
                    continue  # it was not there in the last night
                yield fleet_row(
                    f"b{number}",
                    NIGHTS - 1 - number,
                    sorted(night(device * 991 + number * 7 + place, level, dumps=9, noise=0.01)),
                    device=f"device-{device:02}",
                    pool=pool,
                    backend=None if device % 2 else "xnnpack",
                    event_name=f"native_call_{operator}.out",
                )


@pytest.fixture(scope="module")
def table():
    return pa.Table.from_pylist(list(rows()), SCHEMA)


@pytest.fixture(scope="module")
def whole(table):
    return judge_part(table, f"b{NIGHTS - 1}", min_change, Rules())


@pytest.fixture(scope="module")
def joined(table):
    head = f"b{NIGHTS - 1}"
    nights = order_nights(table, head)
    own = {}
    for row in table.to_pylist():
        key = tuple(row[name] for name in PART), row["pool"] is None and row["device"]
        own.setdefault(key, []).append(row)
    parts = [
        judge_part(pa.Table.from_pylist(each, SCHEMA), head, min_change, Rules(), nights)
        for each in reversed(own.values())
    ]
    assert len(parts) > 4
    return join_parts(pickle.loads(pickle.dumps(parts)))  # noqa: S301 - as from an executor


def test_the_series_and_their_values_are_those_of_the_whole(whole, joined):
    assert joined.fleet.keys.equals(whole.fleet.keys)
    assert joined.fleet.nights == whole.fleet.nights
    assert joined.fleet.operators == whole.fleet.operators
    one, other = joined.fleet.history, whole.fleet.history
    assert one.build_count == other.build_count
    np.testing.assert_array_equal(one.start, other.start)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.series.family, other.series.family)
    np.testing.assert_array_equal(joined.fleet.pool, whole.fleet.pool)
    np.testing.assert_array_equal(one.series.kernel == NO_KERNEL, other.series.kernel == NO_KERNEL)


def test_what_is_said_of_them_is_what_the_whole_says(whole, joined):
    one, other = joined.replay, whole.replay
    assert [vars(change) | {"base": None} for change in one.changes] == [
        vars(change) | {"base": None} for change in other.changes
    ]
    assert [change.base.tolist() for change in one.changes] == [
        change.base.tolist() for change in other.changes
    ]
    assert len(one.changes) > 4
    np.testing.assert_array_equal(one.shifts, other.shifts)
    for mine, theirs in zip(flat(one.night), flat(other.night), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(one.cells, other.cells, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_only_series_that_a_change_is_told_of_keep_their_values(whole):
    found = drop_quiet_values(whole)
    changed = {change.series for change in whole.replay.changes}
    pools = whole.fleet.pool.tolist()
    builds = whole.fleet.history.build_count
    for series in range(whole.fleet.history.series_count):
        cells = slice(series * builds, (series + 1) * builds + 1)
        ends = whole.fleet.history.start[cells]
        own = found.fleet.history.start[cells]
        if series in changed or pools[series] in changed:
            before = whole.fleet.history.values[ends[0] : ends[-1]].tolist()
            assert found.fleet.history.values[own[0] : own[-1]].tolist() == before
            assert np.diff(own).tolist() == np.diff(ends).tolist()
        else:
            assert own[0] == own[-1]
    assert 0 < len(found.fleet.history.values) < len(whole.fleet.history.values) / 2
    assert found.replay is whole.replay


def flat(night):
    return [array for part in night for array in (part if isinstance(part, tuple) else (part,))]
