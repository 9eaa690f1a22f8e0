import math
from datetime import timedelta

import numpy as np
import pytest

from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_query

CONV = "native_call_conv.out"
Z = 2.5758293 + 1.2815516


def _add(store, log, build="b1", device="phone", **run):
    number = store.add_dump(build=build, device=device, run=run)
    for _ in range(25):
        store.add_run(number, [Event(CONV, round(1e8 * math.exp(log)), 1)])


def _ask(store, **params):
    (row,) = run_query(store.connect(), "variance_components", **params)
    return row


def test_two_sessions_of_four_dumps_by_hand():
    store = StoreRows()
    logs = [0.01, 0.01, 0.03, 0.03]
    for session, level in (("s1", 0.0), ("s2", 0.1)):
        for log in logs:
            _add(store, level + log, session=session)
    # Mean squares: 8 * 0.05 ** 2 of the sessions, (8 * 0.01 ** 2) / 6 of the dumps in them.
    process = 8 * 0.01**2 / 6
    session = (8 * 0.05**2 - process) / 4
    total = session + process
    assert _ask(store) == {
        "model": "net",
        "backend": "xnnpack",
        "run": "Execute (incomplete)",
        "event_name": CONV,
        "delegate_id": None,
        "ordinal": 1,
        "kind": "kernel",
        "unit": "ns",
        "dump_count": 8,
        "device_count": 1,
        "session_count": 2,
        "build_count": 1,
        "spread": pytest.approx(math.expm1(math.sqrt(total)), rel=1e-5),
        **dict.fromkeys([f"{name}_share" for name in ("device", "firmware", "governor")]),
        "temperature_share": None,
        "session_share": pytest.approx(session / total, rel=1e-5),
        "build_share": None,
        "process_share": pytest.approx(process / total, rel=1e-5),
        "detectable": _change(session + process / 4),
        "with_dumps": _change(session + process / 8),
        "with_sessions": _change((session + process / 4) / 2),
        "with_pairs": _change(process / 4),
        "with_pool": None,
    }


def _change(variance):
    return pytest.approx(math.expm1(Z * math.sqrt(2 * variance)), rel=1e-4)


FACTORS = {
    "device": lambda n: {"device": f"d{n}"},
    "firmware": lambda n: {"firmware": f"f{n}"},
    "governor": lambda n: {"governor": f"g{n}"},
    "temperature": lambda n: {"temperature_c": 20.0 + 6 * n},
    "session": lambda n: {"session": f"s{n}"},
    "build": lambda n: {"build": f"b{n}", "session": "s"},
}


@pytest.mark.parametrize("factor", FACTORS)
def test_the_factor_that_makes_the_difference_has_the_share(factor):
    rng = np.random.default_rng(1)
    store = StoreRows()
    for number in range(6):
        for log in rng.normal(0.1 * number, 0.005, 8):
            _add(store, log, **FACTORS[factor](number))
    row = _ask(store)
    shares = {name: row[f"{name}_share"] for name in (*FACTORS, "process")}
    assert shares.pop(factor) > 0.95
    assert shares.pop("process") < 0.05
    assert all(not share for share in shares.values())


def test_dumps_of_a_build_without_a_session_are_one_recording():
    store = StoreRows()
    for number in range(4):
        for log in (0.0, 0.01, 0.02):
            _add(store, 0.1 * number + log, build=f"b{number}")
    row = _ask(store)
    assert (row["session_count"], row["build_count"], row["build_share"]) == (4, 4, None)
    assert row["session_share"] > 0.9


def test_values_that_never_differ_have_no_shares():
    store = StoreRows()
    for hour in range(8):
        number = store.add_dump(captured_at=LONG_AGO + timedelta(hours=hour))
        for _ in range(25):
            store.add_run(number, [Event(CONV, 100_000, 1)])
    row = _ask(store)
    assert (row["spread"], row["process_share"], row["with_pairs"]) == (0, None, 0)


def test_fewer_than_eight_dumps_are_left_out():
    store = StoreRows()
    for hour in range(7):
        _add(store, 0.01 * hour)
    assert run_query(store.connect(), "variance_components") == []
