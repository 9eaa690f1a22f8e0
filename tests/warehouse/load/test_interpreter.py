from __future__ import annotations

import gc
import sys

import pytest

from tracehouse.warehouse.load.pipeline import tuned_interpreter

SHORT = pytest.approx(0.0005, rel=0.01)
DEFAULT = pytest.approx(0.005)


@pytest.fixture(autouse=True)
def defaults() -> None:
    assert gc.isenabled()
    assert sys.getswitchinterval() == DEFAULT


def test_the_collector_is_paused_and_switches_are_fast_until_the_body_fails() -> None:
    def fail() -> None:
        with tuned_interpreter():
            assert not gc.isenabled()
            assert sys.getswitchinterval() == SHORT
            with tuned_interpreter():
                pass
            assert not gc.isenabled()
            assert sys.getswitchinterval() == SHORT
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert gc.isenabled()
    assert sys.getswitchinterval() == DEFAULT


def test_a_switch_interval_that_is_already_shorter_stays() -> None:
    sys.setswitchinterval(0.0002)
    try:
        with tuned_interpreter():
            assert sys.getswitchinterval() == pytest.approx(0.0002, rel=0.01)
    finally:
        sys.setswitchinterval(0.005)
