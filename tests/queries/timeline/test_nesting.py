"""Which events lie within which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracehouse.queries.timeline.nesting import MOST_LANES, NO_LANE, nest

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)))


def test_events_nest_in_the_shortest_enclosing_event() -> None:
    found = nest([0, 10, 12, 40], [100, 30, 28, 90])
    assert found.depths == [0, 1, 2, 1]
    assert found.parents == [-1, 0, 1, 0]
    assert found.lanes == [0, 0, 0, 0]


def test_events_that_overlap_have_lanes_of_their_own() -> None:
    found = nest([0, 10, 15, 26], [100, 20, 25, 30])
    assert found.lanes == [0, 0, 1, 0]
    assert found.parents == [-1, 0, 0, 0]


def test_events_that_touch_are_neighbours() -> None:
    found = nest([0, 10, 10], [10, 10, 20])
    assert found.parents == [-1, -1, -1]
    assert found.lanes == [0, 0, 0]


def test_events_of_the_same_times_hold_each_other_in_order() -> None:
    assert nest([0, 0], [5, 5]).parents == [-1, 0]


def test_events_beyond_the_most_lanes_get_none() -> None:
    count = MOST_LANES + 2
    lanes = nest(range(count), range(count, 2 * count)).lanes
    assert lanes[-3:] == [MOST_LANES - 1, NO_LANE, NO_LANE]


def test_nesting_no_events_gives_no_lanes() -> None:
    assert nest([], []).lanes == []


@given(SPANS)
def test_events_of_a_lane_never_overlap(spans: list[tuple[int, int]]) -> None:
    spans = sorted(((min(s), max(s)) for s in spans), key=lambda s: (s[0], -s[1]))
    starts, ends = [s for s, _ in spans], [e for _, e in spans]
    found = nest(starts, ends)
    for i, parent in enumerate(found.parents):
        assert parent < 0 or starts[parent] <= starts[i] <= ends[i] <= ends[parent]
    for i, (s, e) in enumerate(spans):
        for j, (t, f) in enumerate(spans[:i]):
            if found.lanes[i] == found.lanes[j] != NO_LANE:
                assert f <= s or e <= f or (t, f) == (s, e)
