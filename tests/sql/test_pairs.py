"""Pairs of dumps, in all queries that compare two builds."""

import math

import numpy as np
import pytest

from tests.support.builds import CONV, Builds
from tests.support.store_rows import run_by_device
from tracehouse.warehouse.statistics.two_samples import LEAST_PAIRS

RELU = "native_call_relu.out"
STATES = [1.0, 1.3, 0.9, 1.1, 1.6, 0.8, 1.2, 1.45, 0.95, 1.05]  # of the device, pair by pair


def _record(builds, device, states=STATES, *, session="s", pair=str, **columns):
    """Dumps of which CONV of the head takes 5 % more, pair by pair."""
    for number, state in enumerate(states):
        for build, factor in (("base", 1.0), ("head", 1.05)):
            own = state * (1 + 0.001 * ((7 * number + len(build) * factor) % 5))
            values = {CONV: round(1e5 * own * factor), RELU: round(5e4 * own)}
            run = {"session": session, "pair": pair(number)}
            builds.add_build(build, [values], run=run, device=device, **columns)


@pytest.fixture(scope="module")
def farm():
    builds = Builds()
    _record(builds, "paired", pool="lab")
    _record(builds, "paired too", pool="lab")
    _record(builds, "not paired", pair=lambda _: "")
    _record(builds, "three pairs", [1.0, 2.0, 4.0])
    for device in ("too few pairs", "enough pairs"):
        _record(builds, device, STATES[: LEAST_PAIRS - 1])
        _record(builds, device, session=None)
    _record(builds, "enough pairs", STATES[-1:], pair=lambda _: "last")
    for device in ("two sessions", "two partners"):
        _record(builds, device, STATES[:4])
        _record(builds, device, STATES[:4], session="t")
    _record(builds, "two partners", STATES[:1], session="t")
    return builds.connect()


@pytest.fixture(scope="module")
def rows(farm):
    """Operators of each device by name."""
    found = run_by_device(farm, "comparison", base="base", head="head")
    return {device: {row["event_name"]: row for row in own} for device, own in found.items()}


def test_a_change_that_the_state_of_the_device_hides_is_found(rows):
    conv = rows["paired"][CONV]
    assert (conv["verdict"], conv["frame"]) == ("regression", "paired")
    assert conv["delta"] == pytest.approx(0.05, abs=0.003)
    assert conv["base_count"] == conv["head_count"] == 10
    assert rows["paired"][RELU]["verdict"] == "unchanged"
    assert rows["not paired"][CONV]["verdict"] == "inconclusive"


def test_figures_are_those_of_the_differences(rows):
    differences = []
    for number, state in enumerate(STATES):
        base, head = (
            1e5 * state * (1 + 0.001 * ((7 * number + 4 * factor) % 5)) * factor
            for factor in (1.0, 1.05)
        )
        differences.append(math.log(round(head) / round(base)))
    averages = sorted((x + y) / 2 for n, x in enumerate(differences) for y in differences[: n + 1])
    row = rows["paired"][CONV]
    assert row["delta"] == pytest.approx(math.exp(np.median(averages)) - 1, rel=1e-9)
    # 10 pairs: W up to 3 has p <= 0.01, so that the fourth from either end bounds the interval.
    assert row["delta_low"] == pytest.approx(math.exp(averages[3]) - 1, rel=1e-9)
    assert row["delta_high"] == pytest.approx(math.exp(averages[-4]) - 1, rel=1e-9)


def test_swapped_builds_give_the_opposite(farm, rows):
    back = run_by_device(farm, "comparison", base="head", head="base", device=["paired"])["paired"]
    opposite = {"regression": "improvement", "improvement": "regression"}
    for one, other in zip(rows["paired"].values(), back, strict=True):
        assert other["verdict"] == opposite.get(one["verdict"], one["verdict"])
        assert other["delta"] == pytest.approx(1 / (1 + one["delta"]) - 1, abs=1e-12)


def test_too_few_pairs_are_treated_as_ordinary_dumps(rows):
    assert rows["too few pairs"][CONV]["base_count"] == LEAST_PAIRS - 1 + len(STATES)
    assert rows["enough pairs"][CONV]["base_count"] == LEAST_PAIRS
    few = rows["three pairs"][CONV]
    assert (few["verdict"], few["frame"], few["base_count"]) == ("needs_more_dumps", "raw", 3)


def test_a_pair_is_of_one_session_and_device_and_of_two_dumps(rows):
    assert rows["two sessions"][CONV]["verdict"] == "regression"  # 8 pairs
    apart = rows["two partners"][CONV]  # which the dumps of pair 0 have
    assert (apart["base_count"], apart["verdict"]) == (9, "inconclusive")


def test_devices_with_pairs_are_pooled(rows):
    pool = rows[None][CONV]
    assert (pool["level"], pool["verdict"], pool["base_count"]) == ("pool", "regression", 20)
