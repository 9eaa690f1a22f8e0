"""Comparisons of two builds beside a plain one, and what is compared above single operators.

Each case is a device of its own in one store, which is asked once.
"""

import math
from itertools import product

import numpy as np
import pytest

from tests.support.builds import CONV, Builds
from tests.support.plain_comparison import adjusted, compare
from tests.support.store_rows import Event, run_by_device, run_query, shown

LINEAR = "native_call_linear.out"
FLAT = [20_000 + 10 * step for step in range(10)]
SIZES = [(3, 4), (5, 5), (8, 8), (10, 12), (24, 9), (30, 30), (31, 8), (33, 40)]
SWAPPED = [f"swapped {seed}" for seed in range(4)]
UNSURE = {
    f"unsure {n} {m} {seed}": (1000 + seed, n, m)
    for (n, m), seed in product([(8, 8), (9, 14), (12, 12), (24, 20)], range(3))
}


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


def _dumps(samples):
    """The dumps of a side, from its values by operator."""
    return [
        dict(zip(samples, values, strict=True)) for values in zip(*samples.values(), strict=True)
    ]


def _book(n, m):
    return _random_samples(100 * n + m, n, m)


def _add_random(builds):
    for n, m in SIZES:
        builds.add(*map(_dumps, _book(n, m)), device=f"book {n} {m}")
    for seed, device in enumerate(SWAPPED):
        base, head = _random_samples(seed, 12, 12)
        base["native_call_old.out"] = head["native_call_0.out"]
        builds.add(_dumps(base), _dumps(head), device=device)
    for factor in (1, 3):
        sides = ({k: factor * v for k, v in one.items()} for one in _random_samples(7, 10, 10))
        builds.add(*map(_dumps, sides), device=f"speed {factor}")
    for device, sizes in UNSURE.items():
        builds.add(*map(_dumps, _random_samples(*sizes)), device=device)


def _program(conv, linear, *, gemm=7_000, call=8_000, tax=1_000):
    return [
        Event("Method::execute", conv + linear + call + tax, 0),
        Event(CONV, conv, 1),
        Event(LINEAR, linear, 2),
        Event("DELEGATE_CALL", call, 3),
        Event("", gemm, 3, "GEMM #1"),
    ]


def _delegate(first, second, *more):
    return [
        Event("", first, 1, "A #1"),
        Event("", second, 1, "B #1"),
        Event("DELEGATE_CALL", 31_000, 1),
        *more,
    ]


def _modules(factor):
    return [
        Event(CONV, 5_000, 1, modules=("", "body", "body.conv")),
        Event(LINEAR, round(4_000 * factor), 2, modules=("", "body")),
        Event("Method::execute", 30_000, 0),
    ]


def _noisy(step, more):
    """A call whose operators are steady, noisy, too short to be told apart, and faster."""
    return [
        Event("Method::execute", 90_000 + more, 0),
        Event("DELEGATE_CALL", 60_000 + more + step, 3),
        Event("", 30_000, 3, "steady"),
        Event("", 20_000 + 1_000 * ((step * 7 + more) % 10), 3, "noisy"),
        Event("", 1_500, 3, "short"),
        Event("", 9_000 - 2_000 * (more > 0), 3, "faster"),
    ]


def _whole(step, change):
    return [
        Event("Method::execute", 50_000, 0),
        Event("DELEGATE_CALL", 9_000 + change + step, 3),
        Event("", 5_000, 3, "whole"),
    ]


def _add_types(builds):
    names = [f"native_call_add.{overload}" for overload in ("out", "Scalar_out", "Tensor")]
    small = [
        {name: 700 + 3 * (step + n) % 17 for n, name in enumerate(names)} for step in range(10)
    ]
    slower = [{name: round(1.3 * value) for name, value in dump.items()} for dump in small]
    builds.add(small, slower, device="small operators")
    builds.add([5_000] * 8, [5_000] * 8, device="one operator")
    gemms = {"GEMM #1": 9_000, "GEMM #2": 5_000, "Add #1": 5_000}
    run = [Event("", ticks, 1, name) for name, ticks in gemms.items()]
    builds.add([run] * 8, [run] * 8, device="types of a delegate")
    builds.add([_modules(1)] * 9, [_modules(1.2)] * 9, device="modules", etrecord="net.etrecord")


def _add_programs(builds):
    builds.add(
        [_program(value, 10_000, gemm=7_000 + n) for n, value in enumerate(FLAT)],
        [
            _program(value + 6_000, 11_000, gemm=9_000 + n, call=10_000)
            for n, value in enumerate(FLAT)
        ],
        device="explained",
    )
    for device, more in (("noisy", 5_000), ("whole 900", 900), ("whole -900", -900)):
        one = _noisy if device == "noisy" else _whole
        sides = ([one(step, change) for step in range(10)] for change in (0, more))
        builds.add(*sides, device=device, delegate_resolution_ticks=1_000)
    sides = ([_whole(step, change) for step in range(10)] for change in (0, 1_100))
    builds.add(*sides, device="whole 1100", delegate_resolution_ticks=1_000)
    same = [_program(10_000, 8_000)] * 10
    builds.add(same, same, device="same")
    new = [[*_program(10_000, 8_000), Event("native_call_new", 5_000, 4)]] * 10
    builds.add(same, new, device="new operator")
    usual = [_program(value, 10_000) for value in FLAT]
    builds.add(usual, [_program(value - 2_000, 11_900) for value in FLAT], device="moved")
    # Time did not just move if the method became slower, or if what was gained is little.
    for gained in (900, 1_400):
        head = [_program(value + 2_000, 10_000 - gained, tax=4_000) for value in FLAT]
        builds.add(usual, head, device=f"gained {gained}")
    head = [_program(value + 2_000, 8_200, tax=6_000) for value in FLAT]
    builds.add(usual, head, device="slower by its tax")
    apart = Event(CONV, 9_000, 2)
    base, head = [_delegate(20_000, 10_000, apart)] * 10, [_delegate(18_000, 12_000, apart)] * 10
    builds.add(base, head, device="moved inside")
    base, head = (
        [_delegate(*times, Event("Method::execute", total, 0))] * 10
        for *times, total in ((20_000, 10_000, 32_000), (18_000, 12_000, 36_000))
    )
    builds.add(base, head, device="not just moved inside")


def _add_pools(builds):
    generator = np.random.default_rng(3)
    for device in ("one", "two", "three"):
        names = [CONV, *(f"native_call_{n}.out" for n in range(9))]
        base, head = (
            {name: generator.normal(30_000, 1_400, 10).astype(int) for name in names} for _ in "bh"
        )
        head[CONV] = head[CONV] + 1_800
        builds.add(_dumps(base), _dumps(head), device=device, pool="lab")
    for device in ("four", "five"):
        builds.add(*FIVE, device=device, pool="sum")
    for device, pool in (("six", "a"), ("seven", "b")):
        builds.add(FLAT, FLAT, device=device, pool=pool)


def _add_environments(builds):
    other = {"os_version": "15", "run": {"threads": 4}, "tags": {"other": 1}}
    builds.add(FLAT, FLAT, device="same state", os_version="14", run={"threads": 2})
    builds.add(FLAT, FLAT, device="mixed", os_version="14", run={"threads": 2})
    builds.add(FLAT, [], device="mixed", **other)
    builds.add(FLAT, FLAT, device="flashed", run={"firmware": "a"})
    builds.add([], FLAT, device="flashed", run={"firmware": "b"})


FIVE = [20_000, 21_000, 22_000, 23_000, 24_000], [22_500, 25_000, 26_000, 27_000, 28_000]


@pytest.fixture(scope="module")
def farm():
    builds = Builds()
    for add in (_add_random, _add_types, _add_programs, _add_pools, _add_environments):
        add(builds)
    return builds.connect()


@pytest.fixture(scope="module")
def rows(farm):
    """Rows by device; those of pools have none."""
    return run_by_device(farm, "comparison", base="base", head="head")


def _by_name(rows, level="operator"):
    return {row["event_name"]: row for row in rows if row["level"] == level}


def _verdicts(rows):
    return {row["event_name"]: row["verdict"] for row in rows}


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_operators_are_compared_as_by_the_reference_statistics(rows, n, m):
    base, head = _book(n, m)
    found = _by_name(rows[f"book {n} {m}"])
    plain = {name: compare(base[name].tolist(), head[name].tolist()) for name in base}
    ps = dict(zip(plain, adjusted([one.p for one in plain.values()]), strict=True))
    for name, one in plain.items():
        row = found[name]
        assert (row["base_count"], row["head_count"]) == (n, m)
        assert row["delta"] == pytest.approx(math.expm1(one.shift), abs=1e-9)
        low, high = row["delta_low"], row["delta_high"]
        if one.low is None:
            assert (low, high, row["minimum_detectable"]) == (None, None, None)
        else:
            assert low == pytest.approx(math.expm1(one.low), abs=1e-9)
            assert high == pytest.approx(math.expm1(one.high), abs=1e-9)
        if min(n, m) < 8:
            assert row["p_adjusted"] is None
        else:
            assert row["p_adjusted"] == pytest.approx(ps[name], rel=1e-6)
    assert {one.is_centred for one in plain.values()} == {True, False}


OPPOSITE = {"regression": "improvement", "improvement": "regression"}
OPPOSITE |= {"new_op": "removed_op", "removed_op": "new_op"}


def test_base_and_head_swapped_give_the_opposite_verdicts(rows, farm):
    swapped = run_query(farm, "comparison", base="head", head="base", device=SWAPPED)
    back = {(row["device"], row["event_name"]): row["verdict"] for row in swapped}
    forth = {
        (device, row["event_name"]): row["verdict"] for device in SWAPPED for row in rows[device]
    }
    assert forth == {key: OPPOSITE.get(verdict, verdict) for key, verdict in back.items()}
    assert {"regression", "unchanged", "inconclusive", "removed_op"} <= set(forth.values())


def test_devices_of_another_speed_give_the_same_answers(rows):
    keys = ("level", "event_name", "verdict", "dumps_needed")
    assert shown(rows["speed 1"], *keys) == shown(rows["speed 3"], *keys)
    for row, other in zip(rows["speed 1"], rows["speed 3"], strict=True):
        for key in ("delta", "delta_low", "delta_high", "p_adjusted"):
            assert other[key] == pytest.approx(row[key], abs=1e-9)


def test_no_regression_has_an_interval_with_0_in_it(farm):
    found = run_query(farm, "comparison", base="base", head="head", device=[*UNSURE], q=1)
    for row in found:
        assert row["verdict"] != "regression" or row["delta_low"] > 0
        assert row["verdict"] != "improvement" or row["delta_high"] < 0
    assert sum(row["verdict"] == "regression" for row in found) > 20


def test_operators_of_a_type_are_compared_together(rows):
    small = rows["small operators"]
    assert {row["verdict"] for row in _by_name(small).values()} == {"below_resolution"}
    row = _by_name(small, "operator_type")["add"]
    assert (row["verdict"], row["kind"], row["ordinal"]) == ("regression", "kernel", 1)
    assert row["delta"] == pytest.approx(0.3, abs=0.02)
    assert [row["level"] for row in rows["one operator"]] == ["operator"]
    types = _by_name(rows["types of a delegate"], "operator_type")
    assert {name: row["base_ns"] for name, row in types.items()} == {"GEMM": 14_000}


def test_modules_have_the_time_of_all_inside_them(rows):
    modules = _by_name(rows["modules"], "module")
    assert shown(modules.values(), "module_path", "base_ns", "head_ns", "verdict") == [
        ("", 9_000, pytest.approx(9_800), "regression"),
        ("body", 9_000, pytest.approx(9_800), "regression"),
        ("body.conv", 5_000, 5_000, "unchanged"),
    ]
    assert [*modules] == [row["module_path"] for row in modules.values()]


def test_method_that_changed_names_the_operators_that_explain_it(rows):
    found = rows["explained"]
    (method,), (call,) = (
        _by_name(found, level).values() for level in ("method", "delegate")
    )  # fmt: skip
    assert method["verdict"] == "regression"
    assert method["cost_ns"] == pytest.approx(9_000)
    assert method["explained_by"] == f"{CONV} #1 67 %, DELEGATE_CALL #1 22 %, {LINEAR} #1 11 %"
    assert call["explained_by"] == "GEMM #1 100 %"
    operators = _by_name(found)
    assert operators[CONV]["change_share"] == pytest.approx(6 / 9)
    assert operators[CONV]["explained_by"] is None
    assert method["change_share"] == 1
    assert set(shown(rows["same"], "change_share", "explained_by")) == {(None, None)}


def test_a_call_that_changed_names_the_operators_that_may_have(rows):
    calls = {
        device: shown(_by_name(rows[device], "delegate").values(), "explained_by", "may_be")
        for device in ("noisy", "whole 900", "whole -900", "whole 1100")
    }
    assert calls == {
        "noisy": [(None, "noisy #1, short #1")],
        # An operator may hide what its clock cannot tell apart.
        "whole 900": [(None, "whole #1")],
        "whole -900": [(None, "whole #1")],
        "whole 1100": [(None, None)],
    }
    (call,) = _by_name(rows["noisy"], "delegate").values()
    assert call["verdict"] == "regression"
    assert {row["may_be"] for row in rows["noisy"] if row is not call} == {None}


def test_time_that_went_from_one_operator_to_another_has_moved(rows):
    verdicts = _verdicts(rows["moved"])
    assert verdicts[CONV] == verdicts[LINEAR] == "moved"
    assert verdicts["Method::execute"] == "unchanged"
    costs = _by_name(rows["moved"])
    assert (costs[CONV]["cost_ns"], costs[LINEAR]["cost_ns"]) == pytest.approx((-2_000, 1_900))
    assert _verdicts(rows["moved inside"]) == {
        "A #1": "moved", "B #1": "moved", "DELEGATE_CALL": "unchanged", CONV: "unchanged",
    }  # fmt: skip


def test_time_did_not_just_move_if_the_whole_became_slower_or_little_was_gained(rows):
    for device in ("gained 900", "gained 1400"):
        verdicts = _verdicts(rows[device])
        assert (verdicts[CONV], verdicts[LINEAR]) == ("regression", "improvement")
    verdicts = _verdicts(rows["slower by its tax"])
    assert verdicts["Method::execute"] == verdicts[CONV] == "regression"
    verdicts = _verdicts(rows["not just moved inside"])
    assert (verdicts["A #1"], verdicts["B #1"]) == ("improvement", "regression")


def test_new_operator_keeps_its_verdict_and_costs_its_time(rows):
    new = _by_name(rows["new operator"])["native_call_new"]
    assert (new["verdict"], new["cost_ns"]) == ("new_op", 5_000)


def test_devices_of_a_pool_are_tested_together(rows):
    alone = [row for device in ("one", "two", "three") for row in rows[device]]
    assert {row["verdict"] for row in alone} == {"inconclusive"}
    pools = {(row["pool"], row["event_name"]): row for row in rows[None]}
    assert {pool for pool, _ in pools} == {"lab", "sum"}  # not those of one device
    weak = pools["lab", CONV]
    assert shown([weak], "level", "device", "verdict", "base_count", "head_count") == [
        ("pool", None, "regression", 30, 30)
    ]
    assert weak["delta_low"] > 0
    others = {r["verdict"] for key, r in pools.items() if key[0] == "lab" and key[1] != CONV}
    assert others <= {"inconclusive", "unchanged"}
    u = 2 * sum(h > b for b in FIVE[0] for h in FIVE[1])
    z = (u - 25 - 0.5) / math.sqrt(2 * 25 * 11 / 12)
    p = pools["sum", CONV]["p_adjusted"]
    assert p == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-6)


def test_a_comparison_notes_how_its_dumps_differ(rows):
    notes = {device: rows[device][0]["note"] for device in ("same state", "mixed", "flashed")}
    assert notes == {
        "same state": None,
        "mixed": "dumps differ in os_version, threads",
        "flashed": "dumps differ in firmware",
    }
