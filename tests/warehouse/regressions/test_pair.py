"""Laws of the judge of two builds."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from tests.support.pair_rows import sides, two_builds, value_row, values_table
from tracehouse.warehouse.regressions.pair import ORDER, judge_pair
from tracehouse.warehouse.regressions.pair_verdicts import Limits

LIMITS = Limits(0.01, 0.03)
OPPOSITE = {"regression": "improvement", "new_op": "removed_op"}
OPPOSITE |= {after: before for before, after in OPPOSITE.items()}


def _random_rows(seed):
    """Operators of two devices of a pool and of one without: alike, slower, faster, new, short."""
    generator, rows = np.random.default_rng(seed), []
    for device, pool in (("one", "lab"), ("two", "lab"), ("three", None)):
        for operator in range(8):
            level = math.exp(generator.uniform(6, 11))
            spread = generator.choice([0.002, 0.02, 0.1])
            shift = generator.choice([1, 1, 1.05, 1.3, 0.8])
            size = generator.integers(6, 15)
            base, head = (
                level * factor * np.exp(spread * generator.standard_normal(size))
                for factor in (1, shift)
            )
            lacks = generator.integers(0, 12)
            rows += sides(
                [] if lacks == 0 else base.tolist(),
                [] if lacks == 1 else head.tolist(),
                device=device,
                pool=pool,
                event_name=f"native_call_op{operator // 2}.out{operator}",
                op_type=f"op{operator // 2}",
                kind="method" if operator == 7 else "kernel",
                instruction_id=operator,
            )
    offset = {"one": 0, "two": 1000, "three": 2000}
    return [row | {"dump": row["dump"] + offset[row["device"]]} for row in rows]


def _swap(rows):
    names = {"base": "head", "head": "base"}
    return [row | {"distance": 1 - row["distance"], "build": names[row["build"]]} for row in rows]


def _judge(rows, **dumps):
    table = judge_pair(values_table(rows), two_builds(rows, **dumps), LIMITS)
    keys = ("level", "device", "pool", "event_name")
    return {tuple(row[key] for key in keys): row for row in table.to_pylist()}


@pytest.mark.parametrize("seed", [*range(10), 22, 96])
def test_base_and_head_swapped_give_the_opposite(seed):
    rows = _random_rows(seed)
    forth, back = _judge(rows), _judge(_swap(rows))
    assert forth.keys() == back.keys()
    for key, row in forth.items():
        other = back[key]
        assert other["verdict"] == OPPOSITE.get(row["verdict"], row["verdict"])
        assert (other["base_count"], other["head_count"]) == (row["head_count"], row["base_count"])
        if row["delta"] is not None:
            assert 1 + other["delta"] == pytest.approx(1 / (1 + row["delta"]), rel=1e-9)
    assert {"method", "operator", "operator_type"} <= {row["level"] for row in forth.values()}


def test_head_is_base_after_the_change_and_the_cost_is_their_difference():
    rows = [row for seed in range(12) for row in _judge(_random_rows(seed)).values()]
    for row in rows:
        if row["delta"] is not None:
            assert row["head_ns"] == pytest.approx(row["base_ns"] * (1 + row["delta"]), rel=1e-12)
        if row["verdict"] in ("regression", "improvement", "moved"):
            assert row["cost_ns"] == pytest.approx(row["head_ns"] - row["base_ns"], abs=1e-6)
        elif row["verdict"] not in ("new_op", "removed_op"):
            assert row["cost_ns"] == 0
    assert {row["verdict"] for row in rows} > {"regression", "improvement", "moved", "new_op"}
    assert "pool" in {row["level"] for row in rows}


def test_the_order_of_rows_and_the_numbers_of_dumps_do_not_matter():
    rows = _random_rows(3)
    shuffled = [rows[n] for n in np.random.default_rng(1).permutation(len(rows))]
    renumbered = [row | {"dump": 5_000 - row["dump"]} for row in shuffled]
    tables = [
        judge_pair(values_table(own), two_builds(own), LIMITS).sort_by(
            [(name, "ascending") for name in ORDER]
        )
        for own in (rows, shuffled, renumbered)
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_parts_of_whole_families_have_the_rows_of_the_whole():
    rows = _random_rows(5)
    builds = two_builds(rows)
    order = [(name, "ascending") for name in ORDER]
    whole = judge_pair(values_table(rows), builds, LIMITS).sort_by(order)
    parts = [
        judge_pair(values_table(row for row in rows if row["pool"] == pool), builds, LIMITS)
        for pool in ("lab", None)
    ]
    assert pa.concat_tables(parts).sort_by(order).equals(whole)


def test_changed_series_come_with_their_compared_values():
    base, head = [1e4 + step for step in range(9)], [1.2e4 + step for step in range(9)]
    rows = [*sides(base, head), *sides(base, base, event_name="same")]
    table = judge_pair(values_table(rows), two_builds(rows), LIMITS, with_values=True)
    found = {
        row["event_name"]: (row["base_values"], row["head_values"]) for row in table.to_pylist()
    }
    assert found == {"native_call_conv.out": (base, head), "same": ([], [])}


def test_a_pair_without_values_has_no_rows_and_ticks_have_no_nanoseconds():
    assert judge_pair(values_table([]), two_builds([]), LIMITS).num_rows == 0
    rows = [
        value_row(dump, 1e4 * factor + dump % 10, distance, unit="ticks")
        for distance, factor, start in ((1, 1, 0), (0, 1.1, 100))
        for dump in range(start, start + 10)
    ]
    (row,) = _judge(rows).values()
    assert (row["base_ns"], row["head_ns"], row["cost_ns"]) == (None, None, None)
    assert row["verdict"] == "regression"
