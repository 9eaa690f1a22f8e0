"""Pairs of dumps, in all queries that compare two builds."""

import math

import numpy as np
import pytest

from tests.support.store_rows import Event, StoreRows, run_query
from warehouse.statistics.sample_sizes import LEAST_PAIRS

CONV, RELU = "native_call_conv.out", "native_call_relu.out"
STATES = [1.0, 1.3, 0.9, 1.1, 1.6, 0.8, 1.2, 1.45, 0.95, 1.05]  # of the device, pair by pair


def _store(change=1.05, states=STATES, *, session="s", pair=str, store=None, **device):
    """A store in which CONV of the head takes `change` times as long, pair by pair."""
    store = store or StoreRows()
    for number, state in enumerate(states):
        for build, factor in (("base", 1.0), ("head", change)):
            run = {"session": session, "pair": pair(number)}
            dump = store.add_dump(build=build, run=run, **device)
            own = state * (1 + 0.001 * ((7 * number + len(build) * factor) % 5))
            events = [
                Event(CONV, round(1e5 * own * factor), 1),
                Event(RELU, round(5e4 * own), 2),
            ]
            for _ in range(25):
                store.add_run(dump, events)
    return store


def _ask(store, query="regression_deltas", **params):
    rows = run_query(store.connect(), query, base="base", head="head", **params)
    return {(row.get("level"), row["event_name"]): row for row in rows}


def test_three_pairs_by_hand():
    states = [1.0, 2.0, 4.0]
    row = _ask(_store(states=states))[None, CONV]
    assert row["verdict"] == "needs_more_dumps"
    assert row["frame"] == "raw"
    assert row["base_count"] == 3


@pytest.mark.slow
def test_a_change_that_the_state_of_the_device_hides_is_found():
    rows = _ask(_store())
    assert (rows[None, CONV]["verdict"], rows[None, CONV]["frame"]) == ("regression", "paired")
    assert rows[None, CONV]["delta"] == pytest.approx(0.05, abs=0.003)
    assert rows[None, CONV]["base_count"] == rows[None, CONV]["head_count"] == 10
    assert rows[None, RELU]["verdict"] == "unchanged"
    hidden = _ask(_store(pair=lambda _: ""))
    assert hidden[None, CONV]["verdict"] == "inconclusive"


def test_figures_are_those_of_the_differences():
    row = _ask(_store())[None, CONV]
    differences = []
    for number, state in enumerate(STATES):
        base, head = (
            1e5 * state * (1 + 0.001 * ((7 * number + 4 * factor) % 5)) * factor
            for factor in (1.0, 1.05)
        )
        differences.append(math.log(round(head) / round(base)))
    averages = sorted((x + y) / 2 for n, x in enumerate(differences) for y in differences[: n + 1])
    assert row["delta"] == pytest.approx(math.exp(np.median(averages)) - 1, rel=1e-9)
    # 10 pairs: W up to 3 has p <= 0.01, so that the fourth from either end bounds the interval.
    assert row["delta_low"] == pytest.approx(math.exp(averages[3]) - 1, rel=1e-9)
    assert row["delta_high"] == pytest.approx(math.exp(averages[-4]) - 1, rel=1e-9)


@pytest.mark.parametrize("query", ["regression_deltas", "comparison"])
def test_swapped_builds_give_the_opposite(query):
    store = _store()
    forth = run_query(store.connect(), query, base="base", head="head")
    back = run_query(store.connect(), query, base="head", head="base")
    opposite = {"regression": "improvement", "improvement": "regression"}
    for one, other in zip(forth, back, strict=True):
        assert other["verdict"] == opposite.get(one["verdict"], one["verdict"])
        assert other["delta"] == pytest.approx(1 / (1 + one["delta"]) - 1, abs=1e-12)


@pytest.mark.slow
def test_fewer_pairs_than_are_wanted_are_dumps_like_others():
    states = STATES[: LEAST_PAIRS - 1]
    store = _store(states=states)
    more = _store(states=STATES, session=None, store=store)
    row = _ask(more)[None, CONV]
    assert row["base_count"] == len(states) + len(STATES)
    enough = _store(states=[STATES[-1]], session="s", pair=lambda _: "last", store=more)
    assert _ask(enough)[None, CONV]["base_count"] == LEAST_PAIRS


@pytest.mark.slow
def test_a_pair_is_of_one_session_and_device_and_of_two_dumps():
    store = _store(states=STATES[:4])
    _store(states=STATES[:4], session="t", store=store)
    assert _ask(store)[None, CONV]["verdict"] == "regression"  # 8 pairs of two sessions
    _store(states=STATES[:1], session="t", store=store)  # the dumps of pair 0 have two partners
    assert _ask(store)[None, CONV]["base_count"] == 9
    assert _ask(store)[None, CONV]["verdict"] == "inconclusive"


def test_devices_with_pairs_are_pooled():
    store = StoreRows()
    for device in ("phone", "tablet"):
        _store(device=device, pool="lab", store=store)
    row = _ask(store, "comparison")["pool", CONV]
    assert row["verdict"] == "regression"
    assert row["base_count"] == 20
