"""Clocks that step more coarsely than the unit of their ticks: no verdict is finer than they."""

from __future__ import annotations

import pytest

from tests.support.cross_section import cross_section
from tests.support.traced_farm import Step, write_nights
from tracehouse import Warehouse

NIGHTS, CHANGED = 9, 7
ADDMM = "native_call_addmm.out"
# Of the times of a device with a clock of 100 us, a device with finer ones takes a hundredth.
TIMES = {
    "native_call_convolution.out": 3_000_000,
    ADDMM: 1_940_000,  # 19 or 20 steps of 100 us
    "native_call_relu.out": 410_000,
    "native_call_mul.out": 730_000,
    "native_call_max_pool2d.out": 5_200_000,
    "native_call_add.out": 120_000,
}
STEPS = {"100 us": (1e5, 1), "1 us": (1e3, 100), "24 MHz": (1e9 / 24e6, 100), "fine": (1, 100)}
CHANGES = {"none": 1.0, "small": 1.015, "large": 1.3}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """By clock and change: nights in which an operator changes by that from `CHANGED` on."""
    folder = tmp_path_factory.mktemp("coarse")
    for clock, (step_ns, divisor) in STEPS.items():
        for change, factor in CHANGES.items():
            nights = [
                [
                    Step(name, ns / divisor * (factor if late and name == ADDMM else 1))
                    for name, ns in TIMES.items()
                ]
                for late in (night >= CHANGED for night in range(1, NIGHTS + 1))
            ]
            name = f"{clock}, {change}"
            write_nights(folder, nights, noise=0.002, step_ns=step_ns, name=name)
    with Warehouse.open(folder / "store", create=True) as warehouse:
        assert warehouse.ingest(folder).n_dumps == 8 * NIGHTS * len(STEPS) * len(CHANGES)
        yield warehouse


def moved(rows):
    """Operators with a verdict, and their change in percent, by clock and change."""
    found = {}
    for row in rows:
        if "regression" in row["verdict"] or "improvement" in row["verdict"]:
            found.setdefault(row["model"], {})[row["event_name"]] = 100 * row["delta"]
    return found


@pytest.mark.parametrize("clock", STEPS)
def test_the_step_of_the_clock_is_seen(store, clock):
    text = "SELECT DISTINCT resolution_ticks FROM named_dumps WHERE model LIKE ?"
    found = store.sql(text.replace("?", f"'{clock}, %'")).column(0).to_pylist()
    assert found == pytest.approx([STEPS[clock][0]] * len(found), rel=1e-4)


@pytest.mark.parametrize("head", cross_section(["b6", "b4", "b7", "b5", "b9", "b8"], 2))
def test_nights_have_no_verdict_but_the_change_that_the_clock_can_tell(store, head):
    found = moved(store.query("nightly_verdicts", head=head).to_pylist())
    expected = {f"{clock}, large" for clock in STEPS} if int(head[1:]) >= CHANGED else set()
    assert found.keys() == expected
    if head == f"b{CHANGED}":
        for operators in found.values():
            assert operators.keys() >= {ADDMM, "Method::execute"}
            assert operators[ADDMM] == pytest.approx(30, abs=3)


def test_two_builds_have_no_verdict_but_the_change_that_the_clock_can_tell(store):
    for base in ("b3", "b6"):
        rows = store.query("regression_deltas", base=base, head=f"b{int(base[1:]) + 1}")
        found = moved(rows.to_pylist())
        assert found.keys() == ({f"{clock}, large" for clock in STEPS} if base == "b6" else set())
        for operators in found.values():
            assert operators[ADDMM] == pytest.approx(30, abs=3)


def test_the_smallest_reported_change_is_half_a_clock_step(store):
    text = f"""
        SELECT DISTINCT round(floor), round(half_tick)
        FROM operator_stats WHERE model = '100 us, none' AND event_name = '{ADDMM}'
    """  # noqa: S608
    assert store.sql(text).to_pylist() == [{"round(floor)": 200_000, "round(half_tick)": 50_000}]


def test_a_clock_whose_label_is_finer_than_its_steps_is_named(store):
    rows = store.query("data_quality").to_pylist()
    found = {row["model"].split(",")[0] for row in rows if row["problem"] == "coarse clock"}
    assert found == {"100 us", "1 us"}
