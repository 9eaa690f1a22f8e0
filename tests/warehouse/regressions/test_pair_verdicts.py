from __future__ import annotations

import numpy as np
import pytest

from tests.support.pair_rows import CONV, RELU, sides, two_builds, values_table
from tracehouse.warehouse.regressions.changes import SeriesVerdict
from tracehouse.warehouse.regressions.pair_series import lay_out_pair
from tracehouse.warehouse.regressions.pair_verdicts import Limits, compare_series, judge_series

BASE = [10_000.0 + 10 * step for step in range(10)]
LIMITS = Limits(0.01, 0.03)


def _judge(rows, limits=LIMITS):
    dumps = two_builds(rows).dumps
    series = lay_out_pair(values_table(rows), dumps)
    judged = judge_series(series, compare_series(series, dumps), limits)
    names = series.keys["event_name"].to_pylist()
    return dict(zip(names, judged.verdict, strict=True)), judged, names


def _times(factor):
    return [factor * value for value in BASE]


@pytest.mark.parametrize(
    ("base", "head", "changes", "verdict"),
    [
        (BASE, _times(1.1), {}, SeriesVerdict.REGRESSION),
        (_times(1.1), BASE, {}, SeriesVerdict.IMPROVEMENT),
        (BASE, BASE, {}, SeriesVerdict.UNCHANGED),
        (BASE[:7], _times(2), {}, SeriesVerdict.NEEDS_MORE_DUMPS),
        (BASE, _times(1.1), {"floor": 1e6}, SeriesVerdict.BELOW_RESOLUTION),
        (BASE, _times(1.1), {"half_tick": 2_000.0}, SeriesVerdict.INCONCLUSIVE),
        ([3e3] * 3 + [2e3] * 9, [3e3] * 9 + [2e3] * 3, {}, SeriesVerdict.INCONCLUSIVE),
    ],
)
def test_a_series_alone_has_its_verdict(base, head, changes, verdict):
    found, judged, _ = _judge(sides(base, head, **changes))
    assert found == {CONV: verdict}
    assert (judged.cost[0] != 0) == (verdict in ("regression", "improvement"))


def test_operators_of_one_build_are_new_or_removed_unless_its_runs_failed():
    rows = [*sides(BASE, BASE), *sides([], BASE, event_name=RELU), *sides(BASE, [], event_name="x")]
    found, judged, names = _judge(rows)
    assert found == {CONV: "unchanged", RELU: "new_op", "x": "removed_op"}
    costs = dict(zip(names, judged.cost.tolist(), strict=True))
    assert costs[RELU] == -costs["x"] == np.median(BASE)
    alone, *_ = _judge(sides([], BASE, event_name=RELU))
    assert alone == {RELU: "needs_more_dumps"}, "the base has nothing of the method"
    failed = [{**row, "run": "Execute (incomplete)"} for row in rows if row["event_name"] != RELU]
    failed += sides([], [None], event_name=RELU, run="Execute (incomplete)")
    assert _judge(failed)[0][RELU] == "needs_more_dumps"


def test_p_is_adjusted_over_the_operators_calls_and_methods_of_a_run():
    quiet = [
        row
        for n in range(9)
        for row in sides(BASE, BASE, event_name=f"q{n}", kind="method" if n else "delegate_call")
    ]
    apart = sides(BASE, BASE, event_name="apart", run="decode")
    _, judged, names = _judge([*sides(BASE, _times(1.1)), *quiet, *apart])
    found = dict(zip(names, judged.p_adjusted.tolist(), strict=True))
    _, alone, _ = _judge(sides(BASE, _times(1.1)))
    assert found[CONV] == pytest.approx(10 * alone.p_adjusted[0])
    assert found["apart"] == 1


def test_time_that_moved_is_no_change_unless_the_method_changed_or_too_little_was_gained():
    gained = sides(_times(1.2), BASE, event_name=RELU)
    lost = sides(BASE, _times(1.2))
    assert set(_judge([*lost, *gained])[0].values()) == {"moved"}
    method = sides(_times(4), _times(4.4), event_name="run", kind="method")
    assert _judge([*lost, *gained, *method])[0][CONV] == "regression"
    little = sides(_times(1.1), BASE, event_name=RELU)
    assert _judge([*lost, *little])[0][CONV] == "regression"


def test_the_number_of_dumps_needed_is_reported():
    wide = [10_000.0 + 150 * step for step in range(10)]
    for base, head in ((BASE[:7], BASE[:7]), (wide, wide)):
        _, judged, _ = _judge(sides(base, head))
        assert judged.dumps_needed[0] >= 1
    _, judged, _ = _judge(sides(BASE, BASE))
    assert np.isnan(judged.dumps_needed[0])


def test_the_limits_decide_the_verdict_of_a_pair():
    rows = sides(BASE, _times(1.02))
    assert _judge(rows)[0] == {CONV: "unchanged"}
    assert _judge(rows, Limits(0.01, 0.01))[0] == {CONV: "regression"}
    assert _judge(sides(BASE, _times(1.1)), Limits(1e-6, 0.03))[0] == {CONV: "needs_more_dumps"}
