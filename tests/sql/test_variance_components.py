import math

import numpy as np
import pytest

from tests.support.builds import CONV, Builds
from tests.support.store_rows import run_query

Z = 2.5758293 + 1.2815516
# What the n-th of six groups of dumps differs by.
FACTORS = {
    "device": lambda n: {"device": f"d{n}"},
    "firmware": lambda n: {"run": {"firmware": f"f{n}"}},
    "governor": lambda n: {"run": {"governor": f"g{n}"}},
    "temperature": lambda n: {"run": {"temperature_c": 20.0 + 6 * n}},
    "session": lambda n: {"run": {"session": f"s{n}"}},
    "build": lambda n: {"build": f"b{n}", "run": {"session": "s"}},
}


@pytest.fixture(scope="module")
def rows():
    """The row of each model."""
    builds = Builds()

    def add(model, *logs, build="b1", **columns):
        ticks = [round(1e8 * math.exp(log)) for log in logs]
        builds.add_build(build, ticks, model=model, **columns)

    for session, level in (("s1", 0.0), ("s2", 0.1)):
        logs = [level + log for log in (0.01, 0.01, 0.03, 0.03)]
        add("two sessions", *logs, run={"session": session})
    for factor, columns in FACTORS.items():
        rng = np.random.default_rng(1)
        for number in range(6):
            add(factor, *rng.normal(0.1 * number, 0.005, 8), **columns(number))
    for number in range(4):
        logs = [0.1 * number + log for log in (0.0, 0.01, 0.02)]
        add("no sessions", *logs, build=f"b{number}")
    add("same", *[0] * 8)
    add("seven dumps", *[0.01 * hour for hour in range(7)])
    found = run_query(builds.connect(), "variance_components")
    assert len({row["model"] for row in found}) == len(found)
    return {row["model"]: row for row in found}


def test_two_sessions_of_four_dumps_by_hand(rows):
    # Mean squares: 8 * 0.05 ** 2 of the sessions, (8 * 0.01 ** 2) / 6 of the dumps in them.
    process = 8 * 0.01**2 / 6
    session = (8 * 0.05**2 - process) / 4
    total = session + process
    assert rows["two sessions"] == {
        "model": "two sessions",
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


@pytest.mark.parametrize("factor", FACTORS)
def test_the_factor_that_causes_the_variance_has_nearly_all_of_it(factor, rows):
    shares = {name: rows[factor][f"{name}_share"] for name in (*FACTORS, "process")}
    assert shares.pop(factor) > 0.95
    assert shares.pop("process") < 0.05
    assert all(not share for share in shares.values())


def test_dumps_of_a_build_without_a_session_are_one_recording(rows):
    row = rows["no sessions"]
    assert (row["session_count"], row["build_count"], row["build_share"]) == (4, 4, None)
    assert row["session_share"] > 0.9


def test_shares_need_eight_dumps_that_differ(rows):
    row = rows["same"]
    assert (row["spread"], row["process_share"], row["with_pairs"]) == (0, None, 0)
    assert "seven dumps" not in rows
