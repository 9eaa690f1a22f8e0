import pytest

from tests.support.store_rows import Event, StoreRows, run_query

RUNS = 25  # 20 are left after warm-up
KERNELS = [f"native_call_op{number}.out" for number in range(6)]
TICKS = 100_000


def _add(store, build, events, *, dumps=5, **columns):
    for _ in range(dumps):
        number = store.add_dump(build=build, **columns)
        for _ in range(RUNS):
            store.add_run(number, events)


def _kernels(*percents):
    """An event of each kernel, slower by so many per cent, and what is no vote."""
    events = [
        Event(name, TICKS * (100 + percent) // 100, number)
        for number, (name, percent) in enumerate(zip(KERNELS, percents, strict=False), start=1)
    ]
    return [*events, Event("Method::execute", 9 * TICKS, 0, chain=-1)]


def _ask(old, new, **params):
    store = StoreRows()
    _add(store, "old", old, **params)
    _add(store, "new", new, **params)
    (row,) = run_query(store.connect(), "run_shifts", base="old", head="new")
    return row


def test_weighted_median_of_six_kernels_by_hand():
    # All are known equally well, so the third of six in order has half of the weight.
    row = _ask(_kernels(*[0] * 6), _kernels(9, 1, 7, 5, 3, 11))
    assert row == {
        "device": "phone",
        "model": "net",
        "backend": "xnnpack",
        "base_count": 5,
        "head_count": 5,
        "operator_count": 6,
        "kernel_count": 6,
        "shift": pytest.approx(0.05),
        "verdict": "slower",
    }


@pytest.mark.parametrize(("percent", "verdict"), [(-4, "faster"), (2, "steady"), (-2, "steady")])
def test_shift_by_three_per_cent_is_notable(percent, verdict):
    assert _ask(_kernels(*[0] * 6), _kernels(*[percent] * 6))["verdict"] == verdict


def test_one_operator_moves_nothing():
    row = _ask(_kernels(*[0] * 6), _kernels(80, 0, 0, 0, 0, 0))
    assert (row["shift"], row["verdict"]) == (0, "steady")


def test_kernel_that_runs_often_has_one_vote():
    twins = [Event(KERNELS[0], 2 * TICKS, number) for number in range(10, 15)]
    slower = [twin._replace(ticks=3 * TICKS) for twin in twins]
    row = _ask(_kernels(*[0] * 6) + twins, _kernels(*[0] * 6) + slower)
    assert (row["operator_count"], row["kernel_count"], row["shift"]) == (11, 6, 0)


def test_operators_of_a_delegate_vote_by_name():
    gemms = [Event("", TICKS, 8, f"GEMM #{number}") for number in (1, 2)]
    row = _ask(_kernels(*[0] * 6) + gemms, _kernels(*[0] * 6) + gemms)
    assert (row["operator_count"], row["kernel_count"]) == (8, 7)


def test_kernel_that_is_known_well_weighs_more():
    store = StoreRows()
    for dump in range(10):
        steady = [Event(name, TICKS, number) for number, name in enumerate(KERNELS[:3])]
        noise = TICKS * (100 + 10 * dump) // 100
        noisy = [Event(name, noise, number) for number, name in enumerate(KERNELS[3:], start=3)]
        _add(store, "old", [*steady, *noisy], dumps=1)
        slower = [event._replace(ticks=event.ticks * 2) for event in steady]
        _add(store, "new", [*slower, *noisy], dumps=1)
    (row,) = run_query(store.connect(), "run_shifts", base="old", head="new")
    assert row["shift"] == pytest.approx(1)


def test_five_kernels_are_too_few():
    row = _ask(_kernels(*[0] * 5), _kernels(*[50] * 5))
    assert (row["kernel_count"], row["shift"], row["verdict"]) == (5, None, "too_few_kernels")


def test_operators_with_few_dumps_or_short_times_do_not_vote():
    events = _kernels(*[0] * 6)
    assert _ask(events, events, dumps=4)["operator_count"] == 0
    short = [event._replace(ticks=900) for event in events]
    assert _ask(short, short)["verdict"] == "too_few_kernels"


def test_clock_of_unknown_rate_shifts_too():
    row = _ask(_kernels(*[0] * 6), _kernels(*[10] * 6), ns_per_tick=None)
    assert row["shift"] == pytest.approx(0.1)


def test_device_that_one_of_the_builds_lacks_is_not_compared():
    store = StoreRows()
    _add(store, "old", _kernels(*[0] * 6))
    _add(store, "new", _kernels(*[0] * 6), device="tablet")
    assert run_query(store.connect(), "run_shifts", base="old", head="new") == []
