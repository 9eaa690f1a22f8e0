from __future__ import annotations

from fractions import Fraction

import pytest

from tests.support.event_blocks import blocks_of, run, timed
from tracehouse.queries.event_blocks.time_scales import TimeScale, parse_delegate_clocks
from tracehouse.warehouse.errors import QueryError


def durations(**options):
    [block] = blocks_of(
        run(timed("plain", 0, 3000), timed("", 0, 3000, delegate_debug_id_str="inner")), **options
    )
    return [event.perf_data.raw for event in block.events]


def test_delegates_have_the_clock_of_the_dump_unless_told():
    assert durations(target_time_scale=TimeScale.US) == [[3.0], [3.0]]


def test_a_clock_without_backend_holds_for_all_delegates():
    assert durations(delegate_times={"": TimeScale.US}) == [[0.003], [3.0]]
    assert durations(delegate_times={"": Fraction(6000)}) == [[0.003], [500.0]]


def test_cycles_of_a_delegate_need_a_rate():
    with pytest.raises(QueryError, match="cannot convert cycles to ms"):
        durations(delegate_times={"": TimeScale.CYCLES})
    cycles = {"source_time_scale": TimeScale.CYCLES, "target_time_scale": TimeScale.CYCLES}
    assert durations(delegate_times={"": TimeScale.CYCLES}, **cycles) == [[3000.0], [3000.0]]
    with pytest.raises(QueryError, match="cannot convert 1000 to cycles"):
        durations(delegate_times={"": Fraction(1000)}, **cycles)


def test_the_clock_of_a_backend_that_no_event_ran_on_is_an_error():
    with pytest.raises(QueryError, match="delegate clock of XnnpackBackend: no event ran on it"):
        durations(delegate_times={"XnnpackBackend": TimeScale.US})


def test_a_converter_is_asked_with_the_name_of_the_delegated_event():
    asked = []

    def converter(name, value):
        asked.append(name)
        return value / 1000

    assert durations(delegate_times=converter) == [[0.003], [3.0]]
    assert set(asked) == {"inner"}


def test_a_converter_loses_no_digits_to_large_readings_and_may_have_an_origin():
    start = 2**60
    [block] = blocks_of(
        run(timed("", start, start + 7, delegate_debug_id_int=4)),
        delegate_times=lambda _, value: 5 + value / 1000,
    )
    assert block.events[0].perf_data.raw == pytest.approx([0.007], rel=1e-12)


@pytest.mark.parametrize(
    ("text", "clocks"),
    [
        ("", {}),
        ("us", {"": TimeScale.US}),
        ("A=US, B=19.2e6", {"A": TimeScale.US, "B": Fraction(19_200_000)}),
    ],
)
def test_clocks_are_read_from_text(text, clocks):
    assert parse_delegate_clocks(text) == clocks


@pytest.mark.parametrize("text", ["fortnight", "A=", "A=0", "A=-1", "A=nan", "A=1e999", "us,"])
def test_a_clock_that_makes_no_sense_is_refused(text):
    with pytest.raises(QueryError, match="wanted ns, us, ms, s, cycles or ticks per second"):
        parse_delegate_clocks(text)
