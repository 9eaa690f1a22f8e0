import math

import numpy as np
import pytest

from tests.support.cross_section import cross_section
from tests.support.store_rows import Event, StoreRows, run_query

CONV = "native_call_conv.out"
RUNS = 25  # 20 are left after warm-up
BASE = [10_000 + 10 * step for step in range(10)]


def _add_build(store, build, dumps, *, runs=RUNS, **columns):
    """One dump per item: the duration of CONV, or all events of its runs."""
    for item in dumps:
        number = store.add_dump(build=build, **columns)
        events = item if isinstance(item, list) else [Event(CONV, item, 1)]
        for _ in range(runs):
            store.add_run(number, events)


def _ask(base, head, *, dump=None, runs=RUNS, **params):
    store = StoreRows()
    _add_build(store, "base", base, runs=runs, **(dump or {}))
    _add_build(store, "head", head, runs=runs, **(dump or {}))
    return run_query(store.connect(), "regression_deltas", base="base", head="head", **params)


def _slower(values, percent):
    return [value * (100 + percent) // 100 for value in values]


def _verdicts(rows):
    return {row["event_name"]: row["verdict"] for row in rows}


def test_ten_per_cent_slower_by_hand():
    (row,) = _ask(BASE, _slower(BASE, 10))
    # Rank 17 from either end of the 100 differences: the largest U of p <= 0.01 is 16.
    ratios = sorted(h / b for b in BASE for h in _slower(BASE, 10))
    assert row == {
        "device": "phone",
        "model": "net",
        "backend": "xnnpack",
        "run": "Execute (incomplete)",
        "event_name": CONV,
        "delegate_id": None,
        "ordinal": 1,
        "base_count": 10,
        "head_count": 10,
        "base_ns": 10_045,
        "head_ns": 11_049.5,
        "delta": pytest.approx(0.1, abs=1e-9),
        "delta_low": pytest.approx(ratios[16] - 1, rel=1e-9),
        "delta_high": pytest.approx(ratios[83] - 1, rel=1e-9),
        "p_adjusted": pytest.approx(2 / math.comb(20, 10), rel=1e-12),
        "minimum_detectable": pytest.approx(math.sqrt(ratios[83] / ratios[16]) - 1, rel=1e-9),
        "verdict": "regression",
        "instruction_id": 1,
        "module_path": None,
        "kind": "kernel",
        "pool": None,
        "cost_ns": pytest.approx(1_004.5, rel=1e-6),
        "dumps_needed": None,
        "reference": None,
        "frame": "raw",
        "state_delta": None,
    }


def test_same_code_is_unchanged():
    (row,) = _ask(BASE, BASE)
    assert (row["delta"], row["p_adjusted"], row["verdict"]) == (0, 1, "unchanged")


def test_faster_is_an_improvement():
    (row,) = _ask(_slower(BASE, 10), BASE)
    assert row["verdict"] == "improvement"
    assert row["delta"] == pytest.approx(1 / 1.1 - 1, rel=1e-3)


@pytest.mark.slow
def test_certain_but_small_change_is_unchanged():
    (row,) = _ask(BASE, _slower(BASE, 2))
    assert row["p_adjusted"] < 0.01
    assert row["verdict"] == "unchanged"
    (row,) = _ask(BASE, _slower(BASE, 2), min_change=0.01)
    assert row["verdict"] == "regression"


@pytest.mark.slow
def test_overlapping_dumps_give_the_exact_p():
    base, head = BASE[:8], [10_005, 10_025, 10_045, 10_065, 10_085, 10_105, 10_125, 10_145]
    (row,) = _ask(base, head)
    assert sum(h < b for b in base for h in head) == 16
    # scipy.stats.mannwhitneyu(base, head, method="exact")
    assert row["p_adjusted"] == pytest.approx(0.10489510489510488, rel=1e-12)


@pytest.mark.slow
def test_share_of_false_alarms_that_is_accepted_decides():
    base, head = BASE[:8], [10_005, 10_025, 10_045, 10_065, 10_085, 10_105, 10_125, 10_145]
    verdicts = {
        q: _ask(base, head, q=q, min_change=0)[0]["verdict"] for q in (0, 1e-4, 0.1, 0.105, 1)
    }
    # The least p that 8 dumps a side can give is 1.55e-4, this one is 0.1049: the 99 % interval
    # has 0 in it.
    assert verdicts == {
        0: "needs_more_dumps",
        1e-4: "needs_more_dumps",
        0.1: "inconclusive",
        0.105: "inconclusive",
        1: "inconclusive",
    }


def test_regression_needs_a_p_of_q_or_less():
    base = BASE[:8]
    head = [value + 45 for value in base]
    assert sum(h < b for b in base for h in head) == 6  # p is 0.0047
    verdicts = {q: _ask(base, head, q=q, min_change=0.001)[0]["verdict"] for q in (0.004, 0.005)}
    assert verdicts == {0.004: "inconclusive", 0.005: "regression"}


def test_more_than_thirty_dumps_use_the_normal_approximation():
    base = [10_000 + step for step in range(31)]
    (row,) = _ask(base, _slower(base, 10))
    z = (31 * 31 / 2 - 0.5) / math.sqrt(31 * 31 * 63 / 12)
    assert row["p_adjusted"] == pytest.approx(math.erfc(z / math.sqrt(2)), rel=2e-7)


@pytest.mark.slow
def test_ties_widen_the_normal_approximation():
    base, head = [10_000] * 20 + [10_500] * 11, [10_000] * 5 + [10_500] * 26
    (row,) = _ask(base, head)
    u = 20 * 26 + (20 * 5 + 11 * 26) / 2
    ties = sum(t**3 - t for t in (25, 37))
    z = (u - 31 * 31 / 2 - 0.5) / math.sqrt(31 * 31 / 12 * (63 - ties / (62 * 61)))
    assert row["p_adjusted"] == pytest.approx(math.erfc(z / math.sqrt(2)), rel=2e-7)


def test_p_is_adjusted_over_the_operators_of_a_model_on_a_device():
    quiet = [Event(f"native_call_{n}.out", 5000, n + 2) for n in range(9)]
    base = [[Event(CONV, value, 1), *quiet] for value in BASE]
    head = [[Event(CONV, value, 1), *quiet] for value in _slower(BASE, 10)]
    rows = {row["event_name"]: row for row in _ask(base, head)}
    assert rows[CONV]["p_adjusted"] == pytest.approx(10 * 2 / math.comb(20, 10), rel=1e-12)
    assert rows["native_call_0.out"]["p_adjusted"] == 1


def test_few_dumps_need_more():
    (row,) = _ask(BASE[:7], _slower(BASE, 50))
    assert (row["base_count"], row["p_adjusted"]) == (7, None)
    assert (row["verdict"], row["dumps_needed"]) == ("needs_more_dumps", 1)


@pytest.mark.slow
def test_interval_is_there_where_some_p_is_one_per_cent_or_less():
    (row,) = _ask(BASE[:4], BASE[:5])  # 2 / (9 over 4) is 0.016
    assert (row["delta_low"], row["delta_high"], row["minimum_detectable"]) == (None, None, None)
    (row,) = _ask(BASE[:4], _slower(BASE[:6], 10))  # 2 / (10 over 4) is 0.0095
    ratios = sorted(h / b for b in BASE[:4] for h in _slower(BASE[:6], 10))
    assert row["delta_low"] == pytest.approx(ratios[0] - 1, rel=1e-9)
    assert row["delta_high"] == pytest.approx(ratios[-1] - 1, rel=1e-9)


@pytest.mark.slow
def test_eight_dumps_are_too_few_among_many_operators():
    many = [Event(f"native_call_{n}.out", 5000, n + 2) for n in range(64)]
    base = [[Event(CONV, value, 1), *many] for value in BASE[:8]]
    head = [[Event(CONV, value, 1), *many] for value in _slower(BASE[:8], 10)]
    # 2 / (16 over 8) is 1.55e-4, above 0.01 / 65 and below 0.01 / 64.
    rows = _ask(base, head)
    assert {(r["verdict"], r["dumps_needed"]) for r in rows} == {("needs_more_dumps", 1)}
    fewer = [events[:-1] for events in base], [events[:-1] for events in head]
    assert _verdicts(_ask(*fewer))[CONV] == "regression"


@pytest.mark.slow
def test_dumps_with_fewer_than_twenty_steady_events_do_not_count():
    (row,) = _ask(BASE, BASE, runs=24)
    assert (row["base_count"], row["base_ns"], row["verdict"]) == (0, None, "needs_more_dumps")


def test_ticks_are_compared_where_their_rate_is_unknown():
    (row,) = _ask(BASE, _slower(BASE, 10), dump={"ns_per_tick": None})
    assert (row["base_ns"], row["head_ns"], row["cost_ns"]) == (None, None, None)
    assert row["delta"] == pytest.approx(0.1, abs=1e-9)
    assert (row["base_count"], row["verdict"]) == (10, "regression")


def test_dumps_in_ticks_do_not_count_beside_others_in_nanoseconds():
    store = StoreRows()
    _add_build(store, "base", BASE)
    _add_build(store, "base", _slower(BASE, 70), ns_per_tick=None)
    _add_build(store, "head", BASE)
    (row,) = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert (row["base_count"], row["delta"], row["verdict"]) == (10, 0, "unchanged")


def test_both_builds_under_a_microsecond_are_below_resolution():
    (row,) = _ask([600 + n for n in range(10)], [980 + n for n in range(10)])
    assert row["verdict"] == "below_resolution"
    assert row["p_adjusted"] is None


@pytest.mark.slow
@pytest.mark.parametrize(("base", "head"), [(600, 1900), (1900, 600)])
def test_operator_that_one_build_runs_long_enough_is_compared(base, head):
    (row,) = _ask([base + n for n in range(10)], [head + n for n in range(10)])
    assert row["verdict"] == ("regression" if head > base else "improvement")


@pytest.mark.slow
def test_delegate_under_two_ticks_of_its_clock_is_below_resolution():
    base = [[Event("", 1_000, 1, "A #1"), Event("", 2_000, 1, "B #1")]] * 10
    head = [[Event("", 1_900, 1, "A #1"), Event("", 20_000, 1, "B #1")]] * 10
    rows = _ask(base, head, dump={"resolution_ticks": 1000})
    assert _verdicts(rows) == {"A #1": "below_resolution", "B #1": "regression"}


@pytest.mark.slow
def test_operator_that_vanishes_into_zero_is_an_improvement():
    (row,) = _ask(BASE, [0] * 10)
    assert row["verdict"] == "improvement"
    assert row["head_ns"] == 0


def test_inserted_operator_is_new_and_shifts_nothing():
    base = [[Event(CONV, v, 1), Event(CONV, 2 * v, 2)] for v in BASE]
    head = [
        [Event(CONV, v, 1), Event("native_call_new", 5000, 2), Event(CONV, 2 * v, 3)] for v in BASE
    ]
    rows = _ask(base, head)
    assert [(r["event_name"], r["ordinal"], r["delta"], r["verdict"]) for r in rows] == [
        (CONV, 1, 0, "unchanged"),
        (CONV, 2, 0, "unchanged"),
        ("native_call_new", 1, None, "new_op"),
    ]
    assert [r["verdict"] for r in _ask(head, base)] == ["unchanged", "unchanged", "removed_op"]


@pytest.mark.slow
def test_instruction_is_that_of_the_head():
    base = [[Event(CONV, v, 4), Event("native_call_old", 5000, 9)] for v in BASE]
    head = [[Event("native_call_new", 5000, 4), Event(CONV, v, 7)] for v in BASE]
    assert {row["event_name"]: row["instruction_id"] for row in _ask(base, head)} == {
        CONV: 7,
        "native_call_new": 4,
        "native_call_old": None,
    }


def test_module_is_that_whose_own_nodes_the_operator_runs_in_the_head():
    store = StoreRows()
    places = {"base": ("", "old"), "head": ("", "layers", "layers.0")}
    for build, modules in places.items():
        run = [
            Event(CONV, 10_000, 1, modules=modules),
            Event("native_call_add", 5000, 2, modules=("",)),
            Event("native_call_free", 5000, 3),
            *([Event("native_call_old", 5000, 4, modules=("",))] if build == "base" else []),
        ]
        _add_build(store, build, [run] * 2, etrecord=f"{build}.etrecord")
    rows = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert {row["event_name"]: row["module_path"] for row in rows} == {
        CONV: "layers.0",
        "native_call_add": "",
        "native_call_free": None,
        "native_call_old": None,
    }


def test_module_is_unknown_where_etrecords_of_the_head_disagree():
    store = StoreRows()
    for build, record, path in (
        ("base", "base", "a"),
        ("head", "one", "a"),
        ("head", "two", "b"),
        ("head", None, "c"),
    ):
        run = [Event(CONV, 10_000, 1, modules=("", path)), Event("x", 10_000, 2, modules=("", "m"))]
        _add_build(store, build, [run] * 2, etrecord=record)
    rows = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert {row["event_name"]: row["module_path"] for row in rows} == {CONV: None, "x": "m"}


@pytest.mark.slow
def test_operators_of_a_device_the_other_build_never_ran_on_are_not_new():
    store = StoreRows()
    _add_build(store, "base", BASE)
    _add_build(store, "head", BASE)
    _add_build(store, "head", BASE, device="tablet")
    rows = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert [(r["device"], r["verdict"]) for r in rows] == [
        ("phone", "unchanged"),
        ("tablet", "needs_more_dumps"),
    ]


@pytest.mark.slow
def test_ordinals_do_not_depend_on_the_device_filter():
    store = StoreRows()
    both = [Event(CONV, 10_000, 1), Event(CONV, 20_000, 2)]
    for build in ("base", "head"):
        _add_build(store, build, [both] * 8)
        _add_build(store, build, [both[1:]] * 8, device="tablet")
    connection, ask = store.connect(), {"base": "base", "head": "head"}
    (row,) = run_query(connection, "regression_deltas", **ask, device="tablet")
    assert (row["ordinal"], row["base_ns"]) == (1, 20_000)
    assert row in run_query(connection, "regression_deltas", **ask)


def test_states_of_one_device_are_one_device():
    store = StoreRows()
    for pool in ("old pool", "new pool"):
        _add_build(store, "base", BASE[:5], pool=pool)
        _add_build(store, "head", _slower(BASE[:5], 10), pool=pool)
    (row,) = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert (row["base_count"], row["verdict"]) == (10, "regression")


@pytest.mark.slow
def test_dump_with_two_signatures_of_an_operator_has_one_value():
    store = StoreRows()
    for build, factor in (("base", 1), ("head", 2)):
        for value in BASE:
            number = store.add_dump(build=build)
            for _ in range(RUNS):
                store.add_run(number, [Event(CONV, factor * value, 1)])
            for _ in range(6):
                store.add_run(number, [Event(CONV, 10**6, 1, debug_name="")])
    (row,) = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert (row["base_count"], row["base_ns"], row["head_ns"]) == (10, 10_045, 20_090)


def test_operator_calls_and_loads_are_left_out():
    events = [Event("OPERATOR_CALL", 5000, 1), Event("Method::init", 5000, 0)]
    assert _ask([events] * 10, [events] * 10) == []


@pytest.mark.slow
def test_delta_is_the_median_of_all_ratios():
    generator = np.random.default_rng(7)
    base = generator.integers(9_000, 11_000, 9).tolist()
    head = generator.integers(9_500, 12_000, 12).tolist()
    (row,) = _ask(base, head)
    logs = [math.log(h / b) for b in base for h in head]
    assert row["delta"] == pytest.approx(math.exp(np.median(logs)) - 1, rel=1e-9)


@pytest.mark.slow
def test_change_below_half_a_tick_is_no_alarm():
    store = StoreRows()
    for build, slower in (("base", 0), ("head", 10)):
        for dump in range(10):
            number = store.add_dump(build=build, resolution_ticks=1_000)
            for run in range(105):
                is_slow = run < 8 + 3 * slower + dump // 5
                store.add_run(number, [Event("", 5_000 + 1_000 * is_slow, 1, "A #1")])
    (row,) = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert 0.03 < row["delta"] < 0.1
    assert row["p_adjusted"] < 0.01
    assert (row["verdict"], row["dumps_needed"]) == ("inconclusive", None)


SLOW = 1.4


def _mixed(fast_count, slow_count, factor=1.0):
    fast = [10_000 + 10 * step for step in range(fast_count)]
    slow = [SLOW * (10_000 + 10 * step) for step in range(slow_count)]
    return [round(factor * value) for value in fast + slow]


def test_modes_are_compared_with_modes():
    (row,) = _ask(_mixed(7, 5), _mixed(6, 6, 1.05))
    assert row["verdict"] == "regression"
    assert row["delta"] == pytest.approx(0.05, abs=0.002)


def test_as_many_slow_processes_more_or_less_are_unchanged():
    (row,) = _ask(_mixed(8, 4), _mixed(5, 7))
    assert row["verdict"] == "unchanged"
    assert row["minimum_detectable"] < 0.01


@pytest.mark.slow
def test_share_of_slow_processes_that_changed_is_a_mode_mix():
    (row,) = _ask(_mixed(14, 6), _mixed(4, 16))
    assert (row["verdict"], row["dumps_needed"]) == ("mode_mix", None)
    (row,) = _ask(_mixed(4, 16), _mixed(14, 6))
    assert row["verdict"] == "mode_mix"
    (row,) = _ask(_mixed(14, 6), _mixed(4, 16), q=1e-3)
    assert row["verdict"] == "unchanged"


@pytest.mark.slow
@pytest.mark.parametrize(("fast", "slow"), cross_section([(11, 1), (10, 2), (12, 0)], 3))
def test_head_that_is_slow_throughout_is_a_regression_whatever_a_stray_base_did(fast, slow):
    (row,) = _ask(_mixed(fast, slow), _mixed(0, 12))
    assert row["verdict"] == "regression"
    assert row["delta"] == pytest.approx(SLOW - 1, abs=0.01)
    (row,) = _ask(_mixed(0, 12), _mixed(fast, slow))
    assert row["verdict"] == "improvement"


@pytest.mark.slow
def test_dumps_that_an_inconclusive_answer_lacks_follow_from_its_interval():
    base = [10_000 + 150 * step for step in range(10)]
    (row,) = _ask(base, base)
    assert row["verdict"] == "inconclusive"
    width = math.log(1 + row["minimum_detectable"])
    assert row["dumps_needed"] == math.ceil(10 * (width / math.log(1.03)) ** 2) - 10
    (row,) = _ask(base, base, min_change=0.2)
    assert (row["verdict"], row["dumps_needed"]) == ("unchanged", None)


@pytest.mark.slow
def test_dumps_that_are_lacking_grow_with_the_operators():
    for count, needed in ((3, 2), (200, 3)):
        run = [Event(f"native_call_{n}.out", 5000, n) for n in range(count)]
        rows = _ask([run] * 6, [run] * 9, runs=25)
        assert {row["dumps_needed"] for row in rows} == {needed}


def _in_sessions(levels, **builds):
    """A store of builds by name, each recorded in the session of its name beside "pinned".

    Args:
        levels: How slow the device was in each session.
        builds: Values of each build on a device that is not slow.
    """
    store = StoreRows()
    store.add_build("pinned", role="reference")
    for build, values in builds.items():
        run = {"session": build}
        level = levels[build]
        _add_build(store, build, [round(value * level) for value in values], run=run)
        _add_build(store, "pinned", [round(value * level) for value in BASE[:3]], run=run)
    return store.connect()


def _against(connection, **params):
    return run_query(connection, "regression_deltas", base="base", head="head", **params)


def test_state_of_the_device_cancels_where_a_reference_was_recorded_too():
    (row,) = _against(_in_sessions({"base": 1, "head": 1.2}, base=BASE, head=BASE))
    assert (row["verdict"], row["reference"]) == ("unchanged", "pinned")
    assert row["delta"] == pytest.approx(0, abs=1e-3)
    assert row["base_ns"] == pytest.approx(row["head_ns"], rel=1e-3)


def test_change_of_the_code_is_seen_on_a_device_that_became_fast():
    connection = _in_sessions({"base": 1.1, "head": 1}, base=BASE, head=_slower(BASE, 10))
    (row,) = _against(connection)
    assert row["verdict"] == "regression"
    assert row["delta"] == pytest.approx(0.1, abs=2e-3)


@pytest.mark.slow
def test_dumps_without_the_reference_are_left_out_where_both_builds_have_it():
    store = StoreRows()
    store.add_build("pinned", role="reference")
    for build, run in (("base", "s1"), ("head", "s2"), ("pinned", "s1"), ("pinned", "s2")):
        _add_build(store, build, BASE, run={"session": run})
    _add_build(store, "head", _slower(BASE, 50), run={"session": "alone"})
    (row,) = _against(store.connect())
    assert (row["verdict"], row["head_count"]) == ("unchanged", len(BASE))


@pytest.mark.slow
def test_reference_of_one_side_alone_changes_nothing():
    store = StoreRows()
    store.add_build("pinned", role="reference")
    _add_build(store, "base", BASE, run={"session": "s1"})
    _add_build(store, "head", _slower(BASE, 10))
    _add_build(store, "pinned", _slower(BASE, 30), run={"session": "s1"})
    (row,) = _against(store.connect())
    assert (row["verdict"], row["reference"]) == ("regression", None)
    assert row["base_ns"] == 10_045


def test_reference_that_is_compared_itself_is_a_build_like_others():
    connection = _in_sessions({"base": 1, "head": 1.2}, base=BASE, head=BASE)
    rows = run_query(connection, "regression_deltas", base="pinned", head="head")
    assert {row["reference"] for row in rows} == {None}
