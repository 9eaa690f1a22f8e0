"""A fleet judged in parts has the same result as the whole."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from tests.support.fleet_rows import fleet_row, value_table
from tests.support.histories import LEVEL, night
from tracehouse.warehouse.regressions.fleet import order_nights
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.parts import (
    PART,
    join_changed,
    judge_part,
    keep_changed,
    same_run,
    spread_to_devices,
)
from tracehouse.warehouse.statistics.device_states import NO_KERNEL

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
    return value_table(rows())


@pytest.fixture(scope="module")
def whole(table):
    return keep_changed(judge_part(table, f"b{NIGHTS - 1}", min_change, Rules()))


@pytest.fixture(scope="module")
def joined(table):
    head = f"b{NIGHTS - 1}"
    nights = order_nights(table, head)
    own = {}
    for row in rows():
        key = tuple(row[name] for name in PART), row["pool"] is None and row["device"]
        own.setdefault(key, []).append(row)
    parts = [
        keep_changed(judge_part(value_table(each), head, min_change, Rules(), nights))
        for each in reversed(own.values())
    ]
    assert len(parts) > 4
    return join_changed(pickle.loads(pickle.dumps(parts)))  # noqa: S301 - as from an executor


def test_the_changed_series_and_their_values_are_those_of_the_whole(whole, joined):
    assert joined.fleet.keys.equals(whole.fleet.keys)
    assert joined.fleet.nights == whole.fleet.nights
    assert joined.fleet.operators == whole.fleet.operators
    one, other = joined.fleet.history, whole.fleet.history
    assert one.build_count == other.build_count
    for mine, theirs in zip(
        (one.start, one.values, one.states, one.series.family, joined.fleet.pool),
        (other.start, other.values, other.states, other.series.family, whole.fleet.pool),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.series.kernel == NO_KERNEL, other.series.kernel == NO_KERNEL)


def test_changes_are_those_of_the_whole(whole, joined):
    assert [vars(change) | {"base": None} for change in joined.changes] == [
        vars(change) | {"base": None} for change in whole.changes
    ]
    assert [change.base.tolist() for change in joined.changes] == [
        change.base.tolist() for change in whole.changes
    ]
    assert len(joined.changes) > 4
    for mine, theirs in zip(joined.cells, whole.cells, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_only_changed_series_and_members_of_their_pools_are_kept(table, whole):
    part = judge_part(table, f"b{NIGHTS - 1}", min_change, Rules())
    changes = spread_to_devices(part.replay, part.fleet.pool)
    pools = [change.pool for change in changes if change.pool is not None]
    wanted = {change.series for change in changes} | set(pools)
    wanted |= set(np.flatnonzero(np.isin(part.fleet.pool, pools)).tolist())
    timed = [change.series for change in changes if not part.fleet.is_pool[change.series]]
    wanted |= {each for series in timed for each in same_run(part.fleet, series).tolist()}
    keys = part.fleet.keys.to_pylist()
    assert whole.fleet.keys.to_pylist() == [keys[series] for series in sorted(wanted)]
    assert 0 < len(whole.fleet.history.values) < len(part.fleet.history.values) / 2
    for change in whole.changes:
        assert whole.fleet.name(change.series)["event_name"] == "native_call_conv.out"
        cells = whole.cells.dump_count[change.series] > 0
        builds = np.flatnonzero(cells)
        values = whole.fleet.history.values_in(change.series, builds)
        assert len(values) == 9 * len(builds)


def test_a_changed_series_keeps_its_method(table):
    def method(number):
        return fleet_row(
            f"b{number}",
            NIGHTS - 1 - number,
            [LEVEL + 1.0] * 9,
            device="device-12",
            backend="xnnpack",
            event_name="Method::execute",
            kind="method",
        )

    methods = value_table(method(number) for number in range(NIGHTS))
    part = judge_part(pa.concat_tables([table, methods]), f"b{NIGHTS - 1}", min_change, Rules())
    kept = keep_changed(part).fleet.keys.to_pylist()
    assert [row["device"] for row in kept if row["kind"] == "method"] == ["device-12"]
