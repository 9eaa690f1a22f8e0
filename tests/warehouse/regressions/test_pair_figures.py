from __future__ import annotations

import numpy as np
import pytest

from tests.support.pair_rows import CONV, RELU, dumps_of, sides, values_table
from tracehouse.warehouse.regressions.pair_series import lay_out_pair
from tracehouse.warehouse.regressions.pair_verdicts import compare_series, pool_devices
from tracehouse.warehouse.statistics.paired_samples import compare_pairs
from tracehouse.warehouse.statistics.two_samples import compare_samples

RANDOM = np.random.default_rng(4)


def _sample(count, factor=1.0):
    return (1e4 * factor * RANDOM.normal(1, 0.02, count)).tolist()


def _compare(rows, *, pair=None):
    dumps = dumps_of(rows)
    if pair is not None:
        dumps = dumps._replace(pair=np.array(pair))
    series = lay_out_pair(values_table(rows), dumps)
    return series, compare_series(series, dumps)


def test_series_of_any_sizes_have_the_figures_of_their_samples_alone():
    sizes = {CONV: (8, 9), RELU: (30, 2), "one": (1, 1), "long": (5, 40), "none": (0, 3)}
    samples = {name: (_sample(n), _sample(m, 1.1)) for name, (n, m) in sizes.items()}
    rows = [row for name, both in samples.items() for row in sides(*both, event_name=name)]
    series, figures = _compare(rows)
    for row, name in enumerate(series.keys["event_name"].to_pylist()):
        base, head = samples[name]
        assert (figures.base_count[row], figures.head_count[row]) == (len(base), len(head))
        assert figures.head_value[row] == pytest.approx(np.median(head))
        if not base:
            assert np.isnan([figures.base_value[row], figures.shift[row], figures.p[row]]).all()
            continue
        alone = compare_samples(np.log([base]), np.log([head]))
        for field in ("p", "shift", "low", "high"):
            found, wanted = getattr(figures, field)[row], getattr(alone, field)[0]
            assert found == pytest.approx(wanted, nan_ok=True)


def test_eight_pairs_or_more_are_compared_by_their_differences():
    states = RANDOM.normal(1, 0.3, 8)
    rows = [
        *sides((1e4 * states).tolist(), (1.05e4 * states).tolist()),
        *sides([1e4] * 7, [2e4] * 7, event_name=RELU),
    ]
    _, figures = _compare(rows, pair=[*range(8), *range(8)])
    assert figures.is_paired.tolist() == [True, False]
    assert figures.base_count.tolist() == [8, 7]
    wanted = compare_pairs(np.log([1e4 * states]), np.log([1.05e4 * states]))
    assert figures.shift[0] == pytest.approx(wanted.shift[0]) == pytest.approx(np.log(1.05))
    assert figures.p[0] == pytest.approx(wanted.p[0])


def test_a_dump_whose_partner_has_no_value_is_left_out_of_pairs():
    rows = sides([*_sample(9), None], _sample(10))
    _, figures = _compare(rows, pair=[*range(10), *range(10)])
    assert (figures.base_count[0], figures.head_count[0]) == (9, 9)


def _pooled(**changes):
    return [
        row
        for device in ("one", "two", "three")
        for row in sides(
            _sample(10),
            _sample(10, 1.03),
            device=device,
            pool=None if device == "three" else "lab",
            **changes,
        )
    ]


def _number(rows):
    """The same rows, each device with dumps of its own."""
    offset = {"one": 0, "two": 1_000, "three": 2_000}
    return [row | {"dump": row["dump"] + offset[row["device"]]} for row in rows]


def test_the_devices_of_a_pool_are_one_series_of_their_evidence():
    series, figures = _compare(_number(_pooled()))
    pools, found = pool_devices(series, figures)
    assert pools.keys.select(["level", "device", "pool"]).to_pylist() == [
        {"level": "pool", "device": None, "pool": "lab"}
    ]
    own = np.flatnonzero(np.array(series.keys["pool"].to_pylist()) == "lab")
    assert (found.base_count[0], found.head_count[0]) == (20, 20)
    assert found.base_value[0] == pytest.approx(figures.base_value[own].mean())
    assert min(figures.shift[own]) <= found.shift[0] <= max(figures.shift[own])
    assert found.high[0] - found.low[0] < min((figures.high - figures.low)[own])


@pytest.mark.parametrize("changes", [{"floor": 1e6}, {"device": "one"}])
def test_a_pool_needs_two_comparable_devices(changes):
    rows = [row | changes for row in _number(_pooled())]
    pools, _ = pool_devices(*_compare(rows))
    assert len(pools.keys) == 0
