from __future__ import annotations

import pytest

from tests.support.pair_rows import CONV, RELU, sides, two_builds, values_table
from tracehouse.warehouse.regressions.pair import Explanation, explain_changes
from tracehouse.warehouse.regressions.pair_series import lay_out_pair
from tracehouse.warehouse.regressions.pair_verdicts import Limits, compare_series, judge_series

STEPS = [10.0 * step for step in range(10)]


def _about(value):
    return [value + step for step in STEPS]


def _explain(*rows):
    own = [row for each in rows for row in each]
    dumps = two_builds(own).dumps
    series = lay_out_pair(values_table(own), dumps)
    figures = compare_series(series, dumps)
    found = explain_changes(series, figures, judge_series(series, figures, Limits(0.01, 0.03)))
    names = series.keys["event_name"].to_pylist()
    return {names[row]: explanation for row, explanation in found.items()}


METHOD = {"event_name": "run", "kind": "method", "instruction_id": None}
CALL = {"event_name": "call", "kind": "delegate_call", "instruction_id": 3}
INSIDE = {"kind": "delegate_op", "instruction_id": 3}


def test_a_method_names_what_adds_most_to_its_change():
    found = _explain(
        sides(_about(40_000), _about(46_000), **METHOD),
        sides(_about(10_000), _about(14_500)),
        sides(_about(10_000), _about(11_500), event_name=RELU),
        sides(_about(10_000), _about(9_000), event_name="faster"),
    )
    assert found == {"run": Explanation(f"{CONV} #1 75 %, {RELU} #1 25 %", None)}


@pytest.mark.parametrize("kind", [{}, {"instruction_id": 4}])
def test_a_call_that_no_operator_explains_names_those_that_could_hide_its_change(kind):
    inside, wide = INSIDE | kind, [2e4 + 100 * step for step in STEPS]
    found = _explain(
        sides(_about(60_000), _about(66_000), **CALL),
        sides([30_000.0] * 10, [30_000.0] * 10, event_name="steady", **inside),
        sides(wide, wide, event_name="noisy", **inside),
        sides([900.0] * 10, [900.0] * 10, event_name="short", **inside),
    )
    may_be = None if kind else "noisy #1, short #1"  # of another call
    assert found == {"call": Explanation(None, may_be)}


def test_an_unchanged_method_gets_no_explanation():
    assert _explain(sides(_about(40_000), _about(40_000), **METHOD)) == {}
