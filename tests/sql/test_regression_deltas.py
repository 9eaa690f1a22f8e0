"""Verdicts about the operators of two builds: each case is a device of its own in one store."""

import math

import numpy as np
import pytest

from tests.support.builds import CONV, Builds
from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown

BASE = [10_000 + 10 * step for step in range(10)]
OVERLAPPING = BASE[:8], [10_005 + 20 * step for step in range(8)]
SLOW = 1.4


def _slower(values, percent):
    return [value * (100 + percent) // 100 for value in values]


def _mixed(fast_count, slow_count, factor=1.0):
    """Values of processes, some of which are SLOW."""
    fast = [10_000 + 10 * step for step in range(fast_count)]
    slow = [SLOW * (10_000 + 10 * step) for step in range(slow_count)]
    return [round(factor * value) for value in fast + slow]


def _random(seed, low, high, count):
    return np.random.default_rng(seed).integers(low, high, count).tolist()


LONG = [10_000 + step for step in range(31)]
TIED = [10_000] * 20 + [10_500] * 11, [10_000] * 5 + [10_500] * 26
WIDE = [10_000 + 150 * step for step in range(10)]
ANY = _random(7, 9_000, 11_000, 9), _random(8, 9_500, 12_000, 12)
# By name: the values of base and head, and the verdict.
CASES = {
    "slower": (BASE, _slower(BASE, 10), "regression"),
    "same": (BASE, BASE, "unchanged"),
    "faster": (_slower(BASE, 10), BASE, "improvement"),
    "slightly slower": (BASE, _slower(BASE, 2), "unchanged"),
    "by 3 percent": ([10_000] * 10, [10_300] * 10, "regression"),
    "back by 3 percent": ([10_300] * 10, [10_000] * 10, "improvement"),
    "by almost 3 percent": ([10_000] * 10, [10_299] * 10, "unchanged"),
    "overlapping": (*OVERLAPPING, "unchanged"),
    "rare": (BASE[:8], [value + 45 for value in BASE[:8]], "unchanged"),
    "long": (LONG, _slower(LONG, 10), "regression"),
    "tied": (*TIED, "inconclusive"),
    "few": (BASE[:7], _slower(BASE, 50), "needs_more_dumps"),
    "four and five": (BASE[:4], BASE[:5], "needs_more_dumps"),
    "four and six": (BASE[:4], _slower(BASE[:6], 10), "needs_more_dumps"),
    "short": ([600 + n for n in range(10)], [980 + n for n in range(10)], "below_resolution"),
    "short no more": ([600 + n for n in range(10)], [1900 + n for n in range(10)], "regression"),
    "short now": ([1900 + n for n in range(10)], [600 + n for n in range(10)], "improvement"),
    "gone to zero": (BASE, [0] * 10, "improvement"),
    "any": (*ANY, "inconclusive"),
    "wide": (WIDE, WIDE, "inconclusive"),
    # Modes are compared with modes; a share of slow processes that changed is a mode mix.
    "slower modes": (_mixed(7, 5), _mixed(6, 6, 1.05), "regression"),
    "same modes": (_mixed(8, 4), _mixed(5, 7), "unchanged"),
    "more slow": (_mixed(14, 6), _mixed(4, 16), "mode_mix"),
    "fewer slow": (_mixed(4, 16), _mixed(14, 6), "mode_mix"),
    # A head that is slow throughout is a regression whatever a stray dump of the base did.
    **{
        f"all slow but {stray}": (_mixed(12 - stray, stray), _mixed(0, 12), "regression")
        for stray in range(3)
    },
    "fast again": (_mixed(0, 12), _mixed(11, 1), "improvement"),
}


def _quiet(count):
    return {f"native_call_{n}.out": 5000 for n in range(count)}


def _beside(quiet, values):
    """Dumps of CONV beside so many operators that never change."""
    return [{CONV: value} | _quiet(quiet) for value in values]


def _events(*dumps):
    """Dumps of events of (name, ticks, instruction), or of a delegate's operators."""
    return [
        [Event("", t, i, n) if "#" in n else Event(n, t, i) for n, t, i in dump] for dump in dumps
    ]


@pytest.fixture(scope="module")
def farm():
    builds = Builds()
    for device, (base, head, _) in CASES.items():
        builds.add(base, head, device=device)
    builds.add(_beside(9, BASE), _beside(9, _slower(BASE, 10)), device="ten operators")
    for count in (64, 65):
        base, head = (_beside(count - 1, values) for values in (BASE[:8], _slower(BASE[:8], 10)))
        builds.add(base, head, device=f"{count} operators")
    for count in (3, 200):
        builds.add([_quiet(count)] * 6, [_quiet(count)] * 9, device=f"{count} short of dumps")
    builds.add(BASE, _slower(BASE, 10), device="ticks", ns_per_tick=None)
    base = _events([("A #1", 1_000, 1), ("B #1", 2_000, 1)]) * 10
    head = _events([("A #1", 1_900, 1), ("B #1", 20_000, 1)]) * 10
    builds.add(base, head, device="coarse clock", delegate_resolution_ticks=1000)
    base = _events(*([(CONV, v, 1), (CONV, 2 * v, 2)] for v in BASE))
    head = _events(*([(CONV, v, 1), ("new", 5000, 2), (CONV, 2 * v, 3)] for v in BASE))
    builds.add(base, head, device="inserted")
    base = _events(*([(CONV, v, 4), ("old", 5000, 9)] for v in BASE))
    head = _events(*([("new", 5000, 4), (CONV, v, 7)] for v in BASE))
    builds.add(base, head, device="moved")
    both = _events([("OPERATOR_CALL", 5000, 1), ("Method::init", 5000, 0)]) * 10
    builds.add(both, both, device="calls and loads")
    for pool in ("old pool", "new pool"):
        builds.add(BASE[:5], _slower(BASE[:5], 10), device="pools", pool=pool)
    builds.add([], BASE, device="head alone")
    builds.add(BASE, BASE, device="both clocks")
    builds.add(_slower(BASE, 70), [], device="both clocks", ns_per_tick=None)
    return builds.connect()


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "regression_deltas", base="base", head="head")


@pytest.fixture(scope="module")
def row(rows):
    """The only row of each case."""
    return {case: rows[case][0] for case in [*CASES, "ticks", "head alone", "both clocks", "pools"]}


def _ask(farm, *devices, **params):
    sides = {"base": "base", "head": "head"}
    return run_query(farm, "regression_deltas", device=[*devices], **sides | params)


def _verdicts(rows):
    return {row["event_name"]: row["verdict"] for row in rows}


def test_every_case_has_its_verdict(row):
    assert {case: row[case]["verdict"] for case in CASES} == {
        case: verdict for case, (_, _, verdict) in CASES.items()
    }


def test_ten_per_cent_slower_by_hand(row):
    # Rank 17 from either end of the 100 differences: the largest U of p <= 0.01 is 16.
    ratios = sorted(h / b for b in BASE for h in _slower(BASE, 10))
    assert row["slower"] == {
        "device": "slower",
        "model": "net",
        "backend": "xnnpack",
        "run": "Execute (incomplete)",
        "event_name": CONV,
        "delegate_id": None,
        "ordinal": 1,
        "base_count": 10,
        "head_count": 10,
        "base_ns": 10_045,
        "head_ns": pytest.approx(11_049.5),
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


def test_delta_is_the_median_of_all_ratios(row):
    for case in ("faster", "any"):
        base, head, _ = CASES[case]
        logs = [math.log(h / b) for b in base for h in head]
        assert row[case]["delta"] == pytest.approx(math.exp(np.median(logs)) - 1, rel=1e-9)
    assert (row["same"]["delta"], row["same"]["p_adjusted"]) == (0, 1)
    assert row["slower modes"]["delta"] == pytest.approx(0.05, abs=0.002)
    assert row["same modes"]["minimum_detectable"] < 0.01
    assert row["all slow but 1"]["delta"] == pytest.approx(SLOW - 1, abs=0.01)
    assert row["gone to zero"]["head_ns"] == pytest.approx(0.5)  # half a tick


def test_p_is_exact_for_few_dumps_and_normal_with_ties_for_more_than_thirty(row):
    assert sum(h < b for b in OVERLAPPING[0] for h in OVERLAPPING[1]) == 16
    # scipy.stats.mannwhitneyu(base, head, method="exact")
    assert row["overlapping"]["p_adjusted"] == pytest.approx(0.10489510489510488, rel=1e-12)
    z = (31 * 31 / 2 - 0.5) / math.sqrt(31 * 31 * 63 / 12)
    assert row["long"]["p_adjusted"] == pytest.approx(math.erfc(z / math.sqrt(2)), rel=2e-7)
    u = 20 * 26 + (20 * 5 + 11 * 26) / 2
    ties = sum(t**3 - t for t in (25, 37))
    z = (u - 31 * 31 / 2 - 0.5) / math.sqrt(31 * 31 / 12 * (63 - ties / (62 * 61)))
    assert row["tied"]["p_adjusted"] == pytest.approx(math.erfc(z / math.sqrt(2)), rel=2e-7)
    assert row["short"]["p_adjusted"] is None
    assert row["few"]["p_adjusted"] is None


def test_an_interval_is_given_if_p_could_reach_one_per_cent(row):
    interval = ("delta_low", "delta_high", "minimum_detectable")
    # 2 / (9 over 4) is 0.016, and 2 / (10 over 4) is 0.0095.
    assert shown([row["four and five"]], *interval) == [(None, None, None)]
    ratios = sorted(h / b for b in BASE[:4] for h in _slower(BASE[:6], 10))
    assert row["four and six"]["delta_low"] == pytest.approx(ratios[0] - 1, rel=1e-9)
    assert row["four and six"]["delta_high"] == pytest.approx(ratios[-1] - 1, rel=1e-9)


def test_share_of_false_alarms_and_least_change_that_are_accepted_decide(farm):
    def verdicts(case, **params):
        return _ask(farm, case, **params)[0]["verdict"]

    # The least p that 8 dumps a side can give is 1.55e-4.
    assert verdicts("overlapping", q=1e-4, min_change=0) == "needs_more_dumps"
    found = _ask(farm, "rare", "more slow", "slightly slower", "wide", q=0.004, min_change=0.001)
    assert {r["device"]: r["verdict"] for r in found} == {
        "rare": "inconclusive",  # its p is 0.0047
        "more slow": "mode_mix",
        "slightly slower": "regression",
        "wide": "inconclusive",
    }
    found = _ask(farm, "overlapping", "rare", "wide", q=0.005, min_change=0.001)
    assert [r["verdict"] for r in found] == ["inconclusive", "regression", "inconclusive"]


@pytest.mark.slow
def test_an_interval_with_0_in_it_is_no_regression_whatever_q_says(farm):
    for q in (0, 0.1, 0.105, 1):  # the p is 0.1049
        (row,) = _ask(farm, "overlapping", q=q, min_change=0)
        assert row["verdict"] == ("needs_more_dumps" if q == 0 else "inconclusive")
    (row,) = _ask(farm, "more slow", q=1e-3)
    assert row["verdict"] == "unchanged"


def test_p_is_adjusted_over_the_operators_of_a_model_on_a_device(rows):
    ps = {row["event_name"]: row["p_adjusted"] for row in rows["ten operators"]}
    assert ps[CONV] == pytest.approx(10 * 2 / math.comb(20, 10), rel=1e-12)
    assert ps["native_call_0.out"] == 1
    # 2 / (16 over 8) is 1.55e-4, above 0.01 / 65 and below 0.01 / 64.
    found = {(row["verdict"], row["dumps_needed"]) for row in rows["65 operators"]}
    assert found == {("needs_more_dumps", 1)}
    assert _verdicts(rows["64 operators"])[CONV] == "regression"


def test_dumps_that_are_lacking_follow_from_the_interval_and_the_operators(row, rows, farm):
    assert (row["few"]["base_count"], row["few"]["dumps_needed"]) == (7, 1)
    width = math.log(1 + row["wide"]["minimum_detectable"])
    expected = math.ceil(10 * (width / math.log(1.03)) ** 2) - 10
    assert row["wide"]["dumps_needed"] == expected
    assert row["more slow"]["dumps_needed"] is None
    assert {row["dumps_needed"] for row in rows["3 short of dumps"]} == {2}
    assert {row["dumps_needed"] for row in rows["200 short of dumps"]} == {3}
    (wide,) = _ask(farm, "wide", min_change=0.2)
    assert (wide["verdict"], wide["dumps_needed"]) == ("unchanged", None)


def test_ticks_are_compared_where_their_rate_is_unknown_of_all(row):
    names = ("base_ns", "head_ns", "cost_ns", "base_count", "verdict")
    assert shown([row["ticks"]], *names) == [(None, None, None, 10, "regression")]
    assert row["ticks"]["delta"] == pytest.approx(0.1, abs=1e-9)
    mixed = row["both clocks"]
    assert (mixed["base_count"], mixed["delta"], mixed["verdict"]) == (10, 0, "unchanged")


def test_delegate_under_two_ticks_of_its_clock_is_below_resolution(rows):
    verdicts = _verdicts(rows["coarse clock"])
    assert verdicts == {"A #1": "below_resolution", "B #1": "regression"}


def test_inserted_operator_is_new_and_shifts_nothing(rows, farm):
    assert shown(rows["inserted"], "event_name", "ordinal", "delta", "verdict") == [
        (CONV, 1, 0, "unchanged"),
        (CONV, 2, 0, "unchanged"),
        ("new", 1, None, "new_op"),
    ]
    swapped = _ask(farm, "inserted", base="head", head="base")
    assert [r["verdict"] for r in swapped] == ["unchanged", "unchanged", "removed_op"]
    # The instruction is that of the head.
    moved = {row["event_name"]: row["instruction_id"] for row in rows["moved"]}
    assert moved == {CONV: 7, "new": 4, "old": None}


def test_only_operators_that_both_builds_ran_on_one_device_are_compared(row, rows):
    assert rows["calls and loads"] == []
    assert row["head alone"]["verdict"] == "needs_more_dumps"
    assert (row["pools"]["base_count"], row["pools"]["verdict"]) == (10, "regression")


def _add_runs(store, build, dumps, runs=25, **columns):
    for events in dumps:
        store.add_runs(store.add_dump(build=build, **columns), [events] * runs)


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
        _add_runs(store, build, [run] * 2, etrecord=f"{build}.etrecord")
    # On the tablet ETRecords of the head disagree.
    for build, record, path in (
        ("base", "base", "a"),
        ("head", "one", "a"),
        ("head", "two", "b"),
        ("head", None, "c"),
    ):
        run = [Event(CONV, 10_000, 1, modules=("", path)), Event("x", 10_000, 2, modules=("", "m"))]
        _add_runs(store, build, [run] * 2, etrecord=record, device="tablet")
    rows = run_query(store.connect(), "regression_deltas", base="base", head="head")
    assert {(row["device"], row["event_name"]): row["module_path"] for row in rows} == {
        ("phone", CONV): "layers.0",
        ("phone", "native_call_add"): "",
        ("phone", "native_call_free"): None,
        ("phone", "native_call_old"): None,
        ("tablet", CONV): None,
        ("tablet", "x"): "m",
    }


def test_too_few_samples_other_signatures_and_half_ticks_do_not_count():
    store = StoreRows()
    for build, factor in (("base", 1), ("head", 2)):
        # 24 runs leave 19 after warm-up, one too few.
        _add_runs(store, build, [[Event(CONV, value, 1)] for value in BASE], 24, device="short")
        # Of two signatures of an operator, a dump's value is that of the one with more events.
        for value in BASE:
            number = store.add_dump(build=build, device="logging")
            store.add_runs(number, [[Event(CONV, factor * value, 1)]] * 25)
            store.add_runs(number, [[Event(CONV, 10**6, 1, debug_name="")]] * 6)
        # A change below half a tick is no alarm, however sure.
        for dump in range(10):
            number = store.add_dump(build=build, delegate_resolution_ticks=1_000, device="coarse")
            slow_count = 8 + 30 * (factor - 1) + dump // 5
            ticks = [6_000] * slow_count + [5_000] * (105 - slow_count)
            store.add_runs(number, [[Event("", one, 1, "A #1")] for one in ticks])
        # The second convolution is the tablet's first, whatever device is asked for.
        both = [Event(CONV, 10_000, 1), Event(CONV, 20_000, 2)]
        _add_runs(store, build, [both] * 8)
        _add_runs(store, build, [both[1:]] * 8, device="tablet")
    farm = store.connect()
    rows = run_by_device(farm, "regression_deltas", base="base", head="head")
    figures = ("base_count", "base_ns", "head_ns", "verdict")
    assert shown(rows["short"], *figures) == [(0, None, None, "needs_more_dumps")]
    assert shown(rows["logging"], *figures) == [(10, 10_045, 20_090, "regression")]
    (coarse,) = rows["coarse"]
    assert 0.03 < coarse["delta"] < 0.1
    assert coarse["p_adjusted"] < 0.01
    assert (coarse["verdict"], coarse["dumps_needed"]) == ("inconclusive", None)
    assert shown(rows["tablet"], "ordinal", "base_ns") == [(1, 20_000)]
    assert _ask(farm, "tablet") == rows["tablet"]


def test_state_of_the_device_cancels_where_a_reference_was_recorded_too():
    builds = Builds()
    builds.store.add_build("pinned", role="reference")

    def record(device, build, values, level=1.0, *, session=None, pinned=BASE[:3]):
        for name, own in ((build, values), ("pinned", pinned)):
            slower = [round(value * level) for value in own]
            builds.add_build(name, slower, device=device, run={"session": session or build})

    record("became slow", "base", BASE)
    record("became slow", "head", BASE, 1.2)
    record("became fast", "base", BASE, 1.1)
    record("became fast", "head", _slower(BASE, 10))
    record("partly without", "base", BASE, pinned=BASE)
    record("partly without", "head", BASE, pinned=BASE)
    record("partly without", "head", _slower(BASE, 50), session="alone", pinned=[])
    record("of one side", "base", BASE)
    record("of one side", "head", _slower(BASE, 10), pinned=[])
    farm = builds.connect()
    rows = run_by_device(farm, "regression_deltas", base="base", head="head")
    assert {
        device: shown(found, "verdict", "reference", "head_count")[0]
        for device, found in rows.items()
    } == {
        "became slow": ("unchanged", "pinned", 10),
        "became fast": ("regression", "pinned", 10),
        "partly without": ("unchanged", "pinned", 10),
        "of one side": ("regression", None, 10),
    }
    (slow,), (fast,) = rows["became slow"], rows["became fast"]
    assert slow["delta"] == pytest.approx(0, abs=1e-3)
    assert slow["base_ns"] == pytest.approx(slow["head_ns"], rel=1e-3)
    assert fast["delta"] == pytest.approx(0.1, abs=2e-3)
    assert rows["of one side"][0]["base_ns"] == 10_045
    # A reference that is compared itself is a build like others.
    found = _ask(farm, "became slow", base="pinned", head="head")
    assert {row["reference"] for row in found} == {None}
