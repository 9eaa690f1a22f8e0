"""Comparisons of two builds beside a plain one, and what is compared above single operators."""

import math
from collections import defaultdict

import numpy as np
import pytest

from tests.support.cross_section import cross_section
from tests.support.plain_comparison import adjusted, compare
from tests.support.store_rows import Event, StoreRows, run_query

CONV = "native_call_conv.out"
LINEAR = "native_call_linear.out"


class Samples:
    """A store of builds "base" and "head" where the values of dumps are what they are said to be.

    A value is the duration of the one event that a dump has of an operator.
    """

    def __init__(self):
        self.store = StoreRows()

    def add(self, base, head, **columns):
        """A dump per item: its events, or by name of the operator its duration."""
        for build, dumps in (("base", base), ("head", head)):
            for events in dumps:
                number = self.store.add_dump(build=build, **columns)
                if isinstance(events, dict):
                    named = enumerate(events.items())
                    events = [Event(name, ticks, place) for place, (name, ticks) in named]
                self.store.add_run(number, events)
        return self

    def ask(self, query="comparison", **params):
        connection = self.store.connect()
        connection.execute(
            "UPDATE event_stats SET steady_count = 45, steady_grouped_ticks = p50_ticks"
        )
        return run_query(connection, query, **{"base": "base", "head": "head", **params})


def _dumps(samples):
    """The dumps of a side, from its values by operator."""
    return [
        dict(zip(samples, values, strict=True)) for values in zip(*samples.values(), strict=True)
    ]


def _by_name(rows, level="operator"):
    return {row["event_name"]: row for row in rows if row["level"] == level}


def _random_samples(seed, n, m, count=12):
    """Values by operator: alike, shifted, in two modes, with strays, and on a coarse clock."""
    generator = np.random.default_rng(seed)
    sides = {}, {}
    for number in range(count):
        level = generator.uniform(3_000, 90_000)
        spread, shift = generator.choice([0.002, 0.01, 0.05]), generator.choice([1, 1, 1.04, 1.2])
        shares = generator.choice([(0, 0), (0.3, 0.3), (0.2, 0.8), (0.1, 0.5), (0, 0.4)])
        for side, size in enumerate((n, m)):
            values = level * np.exp(spread * generator.standard_normal(size)) * shift**side
            values[generator.random(size) < shares[side]] *= 1.4
            step = 1_000 if number % 4 == 0 else 1
            sides[side][f"native_call_{number}.out"] = (np.round(values / step) * step).astype(int)
    return sides


@pytest.mark.parametrize(
    ("n", "m"),
    cross_section([(3, 4), (5, 5), (8, 8), (10, 12), (24, 9), (30, 30), (31, 8), (33, 40)], 3),
)
def test_operators_are_compared_as_by_the_book(n, m):
    base, head = _random_samples(100 * n + m, n, m)
    rows = _by_name(Samples().add(_dumps(base), _dumps(head)).ask())
    plain = {name: compare(base[name].tolist(), head[name].tolist()) for name in base}
    ps = dict(zip(plain, adjusted([found.p for found in plain.values()]), strict=True))
    for name, found in plain.items():
        row = rows[name]
        assert (row["base_count"], row["head_count"]) == (n, m)
        assert row["delta"] == pytest.approx(math.expm1(found.shift), abs=1e-9)
        low, high = row["delta_low"], row["delta_high"]
        if found.low is None:
            assert (low, high, row["minimum_detectable"]) == (None, None, None)
        else:
            assert low == pytest.approx(math.expm1(found.low), abs=1e-9)
            assert high == pytest.approx(math.expm1(found.high), abs=1e-9)
        if min(n, m) < 8:
            assert row["p_adjusted"] is None
        else:
            assert row["p_adjusted"] == pytest.approx(ps[name], rel=1e-6)
    assert {found.is_centred for found in plain.values()} == {True, False}


OPPOSITE = {"regression": "improvement", "improvement": "regression"}
OPPOSITE |= {"new_op": "removed_op", "removed_op": "new_op"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", cross_section(range(4), 4))
def test_base_and_head_swapped_give_the_opposite_verdicts(seed):
    base, head = _random_samples(seed, 12, 12)
    base["native_call_old.out"] = head["native_call_0.out"]
    rows = Samples().add(_dumps(base), _dumps(head)).ask("regression_deltas")
    swapped = Samples().add(_dumps(head), _dumps(base)).ask("regression_deltas")
    verdicts = {row["event_name"]: row["verdict"] for row in rows}
    mirrored = {row["event_name"]: OPPOSITE.get(row["verdict"], row["verdict"]) for row in swapped}
    assert verdicts == mirrored
    assert {"regression", "unchanged", "inconclusive", "removed_op"} <= set(verdicts.values())


@pytest.mark.slow
def test_devices_of_another_speed_give_the_same_answers():
    base, head = _random_samples(7, 10, 10)
    times = [{name: 3 * values for name, values in side.items()} for side in (base, head)]
    rows = Samples().add(_dumps(base), _dumps(head)).ask()
    slow = Samples().add(_dumps(times[0]), _dumps(times[1])).ask()
    keys = ("level", "event_name", "verdict", "dumps_needed")
    assert [[row[key] for key in keys] for row in rows] == [
        [row[key] for key in keys] for row in slow
    ]
    for row, other in zip(rows, slow, strict=True):
        for key in ("delta", "delta_low", "delta_high", "p_adjusted"):
            assert other[key] == pytest.approx(row[key], abs=1e-9)


@pytest.mark.slow
def test_no_regression_has_an_interval_with_0_in_it():
    verdicts = defaultdict(int)
    for n, m in ((8, 8), (9, 14), (12, 12), (24, 20)):
        for seed in range(3):
            base, head = _random_samples(1000 + seed, n, m)
            for row in Samples().add(_dumps(base), _dumps(head)).ask(q=1):
                verdicts[row["verdict"]] += 1
                assert row["verdict"] != "regression" or row["delta_low"] > 0
                assert row["verdict"] != "improvement" or row["delta_high"] < 0
    assert verdicts["regression"] > 20


FLAT = [20_000 + 10 * step for step in range(10)]


def _times(values, factor):
    return [round(value * factor) for value in values]


def test_small_operators_of_a_type_are_compared_together():
    names = [f"native_call_add.{overload}" for overload in ("out", "Scalar_out", "Tensor")]
    base = {
        name: [700 + 3 * (step + place) % 17 for step in range(10)]
        for place, name in enumerate(names)
    }
    head = {name: _times(values, 1.3) for name, values in base.items()}
    rows = Samples().add(_dumps(base), _dumps(head)).ask()
    assert {row["verdict"] for row in rows if row["level"] == "operator"} == {"below_resolution"}
    row = _by_name(rows, "operator_type")["add"]
    assert (row["verdict"], row["kind"], row["ordinal"]) == ("regression", "kernel", 1)
    assert row["delta"] == pytest.approx(0.3, abs=0.02)


def test_type_of_one_operator_is_no_row_of_its_own():
    rows = Samples().add([{CONV: 5_000}] * 8, [{CONV: 5_000}] * 8).ask()
    assert [row["level"] for row in rows] == ["operator"]


def test_type_of_a_delegate_s_operators_goes_without_their_numbers():
    run = [
        Event("", 9_000, 1, "GEMM #1"),
        Event("", 5_000, 1, "GEMM #2"),
        Event("", 5_000, 1, "Add #1"),
    ]
    rows = Samples().add([run] * 8, [run] * 8).ask()
    types = _by_name(rows, "operator_type")
    assert list(types) == ["GEMM"]
    assert types["GEMM"]["base_ns"] == 14_000


def test_modules_have_the_time_of_all_inside_them():
    def run(factor):
        return [
            Event(CONV, 5_000, 1, modules=("", "body", "body.conv")),
            Event(LINEAR, round(4_000 * factor), 2, modules=("", "body")),
            Event("Method::execute", 30_000, 0),
        ]

    samples = Samples().add([run(1)] * 9, [run(1.2)] * 9, etrecord="net.etrecord")
    rows = _by_name(samples.ask(), "module")
    found = {path: (row["base_ns"], row["head_ns"], row["verdict"]) for path, row in rows.items()}
    assert found == {
        "": (9_000, 9_800, "regression"),
        "body": (9_000, 9_800, "regression"),
        "body.conv": (5_000, 5_000, "unchanged"),
    }
    assert {row["module_path"] for row in rows.values()} == set(rows)


def _program(conv, linear, *, gemm=7_000, call=8_000, tax=1_000):
    return [
        Event("Method::execute", conv + linear + call + tax, 0),
        Event(CONV, conv, 1),
        Event(LINEAR, linear, 2),
        Event("DELEGATE_CALL", call, 3),
        Event("", gemm, 3, "GEMM #1"),
    ]


def test_method_that_changed_names_the_operators_that_explain_it():
    base = [_program(value, 10_000, gemm=7_000 + n) for n, value in enumerate(FLAT)]
    head = [
        _program(value + 6_000, 11_000, gemm=9_000 + n, call=10_000) for n, value in enumerate(FLAT)
    ]
    rows = Samples().add(base, head).ask()
    (method,) = (row for row in rows if row["level"] == "method")
    assert method["verdict"] == "regression"
    assert method["cost_ns"] == pytest.approx(9_000)
    assert method["explained_by"] == f"{CONV} #1 67 %, DELEGATE_CALL #1 22 %, {LINEAR} #1 11 %"
    (call,) = (row for row in rows if row["level"] == "delegate")
    assert call["explained_by"] == "GEMM #1 #1 100 %"
    operators = _by_name(rows)
    assert operators[CONV]["change_share"] == pytest.approx(6 / 9)
    assert operators[CONV]["explained_by"] is None
    assert method["change_share"] == 1


def test_a_call_that_changed_names_the_operators_that_may_have():
    steps = range(10)
    base, head = (
        [
            [
                Event("Method::execute", 90_000 + more, 0),
                Event("DELEGATE_CALL", 60_000 + more + step, 3),
                Event("", 30_000, 3, "steady"),
                Event("", 20_000 + 1_000 * ((step * 7 + more) % 10), 3, "noisy"),
                Event("", 1_500, 3, "short"),
                Event("", 9_000 - 2_000 * (more > 0), 3, "faster"),
            ]
            for step in steps
        ]
        for more in (0, 5_000)
    )
    rows = Samples().add(base, head, resolution_ticks=1_000).ask()
    (call,) = (row for row in rows if row["level"] == "delegate")
    assert (call["verdict"], call["explained_by"]) == ("regression", None)
    assert call["may_be"] == "noisy #1, short #1"
    assert {row["may_be"] for row in rows if row is not call} == {None}


@pytest.mark.parametrize(("more", "named"), [(900, "whole #1"), (-900, "whole #1"), (1_100, None)])
def test_an_operator_may_hide_what_its_clock_cannot_tell_apart(more, named):
    base, head = (
        [
            [
                Event("Method::execute", 50_000, 0),
                Event("DELEGATE_CALL", 9_000 + change + step, 3),
                Event("", 5_000, 3, "whole"),
            ]
            for step in range(10)
        ]
        for change in (0, more)
    )
    rows = Samples().add(base, head, resolution_ticks=1_000).ask()
    assert [row["may_be"] for row in rows if row["level"] == "delegate"] == [named]


def test_what_explains_nothing_has_no_share():
    rows = Samples().add([_program(10_000, 8_000)] * 10, [_program(10_000, 8_000)] * 10).ask()
    assert {(row["change_share"], row["explained_by"]) for row in rows} == {(None, None)}


def test_time_that_went_from_one_operator_to_another_has_moved():
    base = [_program(value, 10_000) for value in FLAT]
    head = [_program(value - 2_000, 11_900) for value in FLAT]
    rows = Samples().add(base, head).ask()
    verdicts = {row["event_name"]: row["verdict"] for row in rows}
    assert verdicts[CONV] == verdicts[LINEAR] == "moved"
    assert verdicts["Method::execute"] == "unchanged"
    costs = _by_name(rows)
    assert (costs[CONV]["cost_ns"], costs[LINEAR]["cost_ns"]) == pytest.approx((-2_000, 1_900))


def test_time_that_moved_between_a_delegate_s_operators_stays_in_its_call():
    def run(first, second):
        return [
            Event("", first, 1, "A #1"),
            Event("", second, 1, "B #1"),
            Event("DELEGATE_CALL", 31_000, 1),
            Event(CONV, 9_000, 2),
        ]

    rows = Samples().add([run(20_000, 10_000)] * 10, [run(18_000, 12_000)] * 10).ask()
    verdicts = {row["event_name"]: row["verdict"] for row in rows}
    assert verdicts == {
        "A #1": "moved", "B #1": "moved", "DELEGATE_CALL": "unchanged", CONV: "unchanged",
    }  # fmt: skip


@pytest.mark.slow
def test_regression_is_not_moved_where_the_method_became_slower_or_too_little_was_gained():
    base = [_program(value, 10_000) for value in FLAT]
    for gained in (900, 1_400):
        head = [_program(value + 2_000, 10_000 - gained, tax=4_000) for value in FLAT]
        verdicts = {r["event_name"]: r["verdict"] for r in Samples().add(base, head).ask()}
        assert verdicts[CONV] == "regression"
        assert verdicts[LINEAR] == "improvement"
    head = [_program(value + 2_000, 8_200, tax=6_000) for value in FLAT]
    verdicts = {r["event_name"]: r["verdict"] for r in Samples().add(base, head).ask()}
    assert verdicts["Method::execute"] == verdicts[CONV] == "regression"


@pytest.mark.slow
def test_time_did_not_just_move_inside_a_delegate_if_the_method_became_slower():
    def run(first, second, total):
        return [
            Event("", first, 1, "A #1"),
            Event("", second, 1, "B #1"),
            Event("DELEGATE_CALL", 31_000, 1),
            Event("Method::execute", total, 0),
        ]

    base = [run(20_000, 10_000, 32_000)] * 10
    rows = Samples().add(base, [run(18_000, 12_000, 36_000)] * 10).ask()
    verdicts = {row["event_name"]: row["verdict"] for row in rows}
    assert (verdicts["A #1"], verdicts["B #1"]) == ("improvement", "regression")


def test_new_operator_keeps_its_verdict_and_costs_its_time():
    head = [[*_program(10_000, 8_000), Event("native_call_new", 5_000, 4)]] * 10
    rows = _by_name(Samples().add([_program(10_000, 8_000)] * 10, head).ask())
    assert rows["native_call_new"]["verdict"] == "new_op"
    assert rows["native_call_new"]["cost_ns"] == 5_000


@pytest.mark.slow
def test_weak_evidence_on_the_devices_of_a_pool_adds_up():
    generator = np.random.default_rng(3)
    samples = Samples()
    for device in ("one", "two", "three"):
        names = [CONV, *(f"native_call_{n}.out" for n in range(9))]
        base, head = (
            {name: generator.normal(30_000, 1_400, 10).astype(int) for name in names} for _ in "bh"
        )
        head[CONV] = head[CONV] + 1_800
        samples.add(_dumps(base), _dumps(head), device=device, pool="lab")
    rows = samples.ask()
    assert {row["verdict"] for row in rows if row["level"] == "operator"} == {"inconclusive"}
    pools = _by_name(rows, "pool")
    assert pools[CONV]["verdict"] == "regression"
    assert (pools[CONV]["device"], pools[CONV]["pool"]) == (None, "lab")
    assert (pools[CONV]["base_count"], pools[CONV]["head_count"]) == (30, 30)
    assert pools[CONV]["delta_low"] > 0
    assert {row["verdict"] for name, row in pools.items() if name != CONV} <= {
        "inconclusive", "unchanged",
    }  # fmt: skip


def test_pool_is_tested_by_the_sum_of_its_devices():
    base, head = [20_000, 21_000, 22_000, 23_000, 24_000], [22_500, 25_000, 26_000, 27_000, 28_000]
    samples = Samples()
    for device in ("one", "two"):
        samples.add([{CONV: v} for v in base], [{CONV: v} for v in head], device=device, pool="p")
    (row,) = (row for row in samples.ask() if row["level"] == "pool")
    u = 2 * sum(h > b for b in base for h in head)
    z = (u - 25 - 0.5) / math.sqrt(2 * 25 * 11 / 12)
    assert row["p_adjusted"] == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-6)


@pytest.mark.slow
def test_devices_of_other_pools_or_of_none_are_not_added_up():
    samples = Samples()
    for device, pool in (("one", "a"), ("two", "b"), ("three", None), ("four", None)):
        dumps = [{CONV: value} for value in FLAT]
        samples.add(dumps, dumps, device=device, pool=pool)
    assert {row["level"] for row in samples.ask()} == {"operator"}


def test_what_a_comparison_hides_is_noted():
    samples = Samples()
    dumps = [{CONV: value} for value in FLAT]
    samples.add(dumps, dumps, device="same", os_version="14", run={"threads": 2})
    samples.add(dumps, dumps, device="mixed", os_version="14", run={"threads": 2})
    samples.add(dumps, [], device="mixed", os_version="15", run={"threads": 4}, tags={"other": 1})
    samples.add(dumps, dumps, device="flashed", run={"firmware": "a"})
    samples.add([], dumps, device="flashed", run={"firmware": "b"})
    notes = {row["device"]: row["note"] for row in samples.ask()}
    assert notes == {
        "same": None,
        "mixed": "dumps differ in os_version, threads",
        "flashed": "dumps differ in firmware",
    }
