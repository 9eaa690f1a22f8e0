from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest

from tracehouse.queries.planning import MOST_DUMPS, PLAN, advise, plan_dumps
from tracehouse.warehouse.statistics.two_samples import exact_null_table

SCHEMA = pa.schema(
    [
        *((name, "string") for name in ("device", "model", "backend", "run", "event_name")),
        *(("delegate_id", "string"), ("ordinal", "int32"), ("kind", "string")),
        *(("build", "string"), ("unit", "string"), ("value", "double"), ("floor", "double")),
    ]
)
STEADY = [100_000 + step for step in range(10)]


def _values(*operators, device="phone", floor=1000.0):
    """Rows of dump_values: each operator is a list of builds, each a list of values."""
    rows = [
        {
            "device": device,
            "model": "net",
            "backend": None,
            "run": "Execute",
            "event_name": f"operator {number}",
            "delegate_id": None,
            "ordinal": 1,
            "kind": "method" if number == 1 else "kernel",
            "build": f"b{position}",
            "unit": "ns",
            "value": float(value),
            "floor": floor,
        }
        for number, builds in enumerate(operators, start=1)
        for position, values in enumerate(builds, start=1)
        for value in values
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def _plan(*operators, change=0.05, **columns):
    (row,) = plan_dumps(_values(*operators, **columns), change=change).to_pylist()
    return row


@pytest.mark.parametrize(("operators", "dumps"), [(1, 8), (64, 8), (65, 9), (243, 9), (244, 10)])
def test_steady_values_need_as_many_dumps_as_the_exact_test_requires(
    operators: int, dumps: int
) -> None:
    # Of 2n dumps, n of each build can be ordered in (2n over n) ways, of which two are extreme.
    assert 2 / math.comb(2 * dumps, dumps) <= 0.01 / operators
    row = _plan(*[[STEADY]] * operators)
    assert (row["dumps_for_method"], row["dumps_for_half"], row["dumps_for_most"]) == (dumps,) * 3
    assert row["operator_count"] == operators


def test_one_model_by_hand() -> None:
    noisy = [100_000, 130_000] * 5
    row = _plan([STEADY, STEADY], [STEADY[:8], noisy], [noisy, noisy])
    assert row == {
        "device": "phone",
        "model": "net",
        "backend": None,
        "run": "Execute",
        "dump_count": 10,
        "operator_count": 3,
        "dumps_for_method": 8,
        "dumps_for_half": row["dumps_for_half"],
        "dumps_for_most": row["dumps_for_most"],
        "visible_share": pytest.approx(1 / 3),
    }
    assert 8 < row["dumps_for_half"] < row["dumps_for_most"] <= MOST_DUMPS


@pytest.mark.parametrize("spread", [0.02, 0.03, 0.04])
def test_planned_dumps_find_the_change_in_nine_of_ten_cases(spread: float) -> None:
    quantiles = [NormalDist().inv_cdf((step + 0.5) / 500) for step in range(500)]
    planned = _plan([np.exp(spread * np.array(quantiles)) * 1e6])["dumps_for_method"]
    table = exact_null_table().to_pylist()
    most = max(
        row["u"]
        for row in table
        if row["n_small"] == row["n_large"] == planned and row["p"] <= 0.01
    )
    random = np.random.default_rng(0)
    base = random.normal(0, spread, (2000, planned, 1))
    head = random.normal(math.log(1.05), spread, (2000, 1, planned))
    found = ((head < base).sum(axis=(1, 2)) <= most).mean()
    assert 0.87 <= found <= 0.97


def test_larger_changes_and_less_noise_take_fewer_dumps() -> None:
    noisy = [100_000 + 1000 * step for step in range(20)]
    by_change = [_plan([noisy], change=change)["dumps_for_method"] for change in (0.04, 0.08, 0.2)]
    assert by_change == sorted(by_change, reverse=True)
    assert by_change[0] > by_change[2]


def test_a_change_of_level_between_builds_does_not_count_as_noise() -> None:
    levels = [[value * factor for value in STEADY] for factor in (1, 3, 10)]
    assert _plan(levels)["dumps_for_method"] == 8


def test_operators_too_short_for_their_clock_are_left_out() -> None:
    assert _plan([STEADY], [[900.0] * 10])["operator_count"] == 1


def test_few_dumps_tell_nothing_of_noise() -> None:
    row = _plan([STEADY[:7]])
    assert (row["dumps_for_method"], row["dumps_for_most"], row["visible_share"]) == (None, None, 0)
    assert _plan(*[[[value] for value in STEADY]])["dumps_for_method"] is None  # one in each build


def test_devices_have_plans_of_their_own() -> None:
    tables = [_values([STEADY], device="a"), _values([STEADY, STEADY[:8]], device="b")]
    rows = plan_dumps(pa.concat_tables(tables), change=0.05).to_pylist()
    assert [(row["device"], row["dump_count"]) for row in rows] == [("a", 10), ("b", 9)]


def test_too_few_values_give_an_empty_plan() -> None:
    for values in (_values(), _values([[1.0]])):
        assert plan_dumps(values, change=0.05) == PLAN.empty_table()


def test_count_of_lost_pairs_is_the_mann_whitney_u() -> None:
    # Half of the dumps are 10 % slower: against a head 5 % slower, a quarter of the pairs is lost.
    halves = [100_000 + step for step in range(50)] + [110_000 + step for step in range(50)]
    lost = [b > h for b, h in product(halves, [1.05 * value for value in halves])]
    assert sum(lost) / len(lost) == 0.25
    assert _plan([halves])["dumps_for_method"] > 30


def _advice(change: float, **figures: float | None) -> tuple[object, ...]:
    """What the plan of one model says beside the dumps, by a row of variance_components."""
    plan = plan_dumps(_values([STEADY]), change=change)
    row = {"model": "net", "backend": None, "run": "Execute", "kind": "method"}
    known = dict.fromkeys(("detectable", "with_dumps", "with_pairs", "with_sessions", "with_pool"))
    components = pa.Table.from_pylist([row | known | figures])
    (found,) = advise(plan, components, change=change).to_pylist()
    assert found["dumps_for_method"] == 8
    return found["smallest_change_share"], found["remedy"], found["change_with_remedy_share"]


FIGURES = {"detectable": 0.08, "with_dumps": 0.07, "with_pairs": 0.02, "with_sessions": 0.055}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (0.10, (0.08, None, None)),
        (0.075, (0.08, "dumps", 0.07)),
        (0.06, (0.08, "pairs", 0.02)),
        (0.01, (0.08, "pairs", 0.02)),  # which comes nearest
    ],
)
def test_the_advice_is_the_first_remedy_that_would_show_the_change(
    change: float, expected: tuple[object, ...]
) -> None:
    assert _advice(change, **FIGURES) == expected


def test_unknown_figures_give_no_advice() -> None:
    assert _advice(0.05) == (None, None, None)
    assert _advice(0.05, with_pairs=0.03) == (None, "pairs", 0.03)
    plan = plan_dumps(_values([STEADY]), change=0.05)
    others = pa.Table.from_pylist([{"model": "x", "backend": None, "run": "", "kind": "method"}])
    (row,) = advise(plan, others, change=0.05).to_pylist()
    assert (row["smallest_change_share"], row["remedy"]) == (None, None)
