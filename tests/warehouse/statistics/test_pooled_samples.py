import math

import numpy as np
import pytest

from tracehouse.warehouse.statistics.paired_samples import pool_samples
from tracehouse.warehouse.statistics.two_samples import compare_samples


def _pooled(devices):
    """The pool of some devices, each a base and a head."""
    found = [compare_samples(*(np.array([side]) for side in device)) for device in devices]
    names = ("excess", "variance", "shift", "low", "high")
    return pool_samples(*(np.array([[getattr(one, name)[0] for one in found]]) for name in names))


def _devices(count, shift, seed=0):
    generator = np.random.default_rng(seed)
    return [
        (generator.normal(place, 0.03, 8), generator.normal(place + shift, 0.03, 8))
        for place in range(count)
    ]


def test_evidence_of_several_devices_adds_up():
    devices = _devices(9, 0.03)
    alone = [compare_samples(*(np.array([side]) for side in one)).p[0] for one in devices]
    pool = _pooled(devices)
    assert pool.p[0] < 1e-4 < np.median(alone)
    assert pool.low[0] < 0.03 < pool.high[0]
    assert pool.low[0] > 0


def test_order_of_the_devices_does_not_matter_to_the_last_bit():
    devices = _devices(30, 0.01)
    assert _pooled(devices) == _pooled(devices[::-1])


def test_p_is_the_stratified_test_s_by_hand():
    devices = _devices(3, 0.02)
    u = sum(sum((h > b) for b in base for h in head) for base, head in devices)
    variance = 3 * 64 * 17 / 12
    z = (abs(u - 3 * 32) - 0.5) / math.sqrt(variance)
    assert _pooled(devices).p[0] == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_missing_devices_do_not_count_in_a_pool():
    devices = _devices(2, 0.02)
    found = [compare_samples(*(np.array([side]) for side in one)) for one in devices]
    names = ("excess", "variance", "shift", "low", "high")
    wide = [np.array([[getattr(one, n)[0] for one in found] + [math.nan]]) for n in names]
    assert pool_samples(*wide) == _pooled(devices)
