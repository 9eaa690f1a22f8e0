from __future__ import annotations

import gc
import sys

import pytest

from warehouse.load.interpreter import gc_paused, short_switch_interval


@pytest.fixture
def turns() -> None:
    """What Python is set to by default, here and after the test."""
    assert gc.isenabled()
    assert sys.getswitchinterval() == pytest.approx(0.005)


@pytest.mark.usefixtures("turns")
def test_the_collector_stays_off_for_so_long_and_comes_back_after_an_error() -> None:
    def fail() -> None:
        with gc_paused():
            assert not gc.isenabled()
            with gc_paused():
                pass
            assert not gc.isenabled()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert gc.isenabled()


@pytest.mark.usefixtures("turns")
def test_turns_are_short_for_so_long_and_as_before_after_an_error() -> None:
    def fail() -> None:
        with short_switch_interval():
            assert sys.getswitchinterval() == pytest.approx(0.0005, rel=0.01)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert sys.getswitchinterval() == pytest.approx(0.005)


@pytest.mark.usefixtures("turns")
def test_turns_that_are_shorter_already_stay_so() -> None:
    sys.setswitchinterval(0.0002)
    try:
        with short_switch_interval():
            assert sys.getswitchinterval() == pytest.approx(0.0002, rel=0.01)
    finally:
        sys.setswitchinterval(0.005)
