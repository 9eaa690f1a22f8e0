from __future__ import annotations

import pytest

from tests.support.reports import member
from tracehouse.queries.report.content import member_name, member_operator, member_place, value_text
from tracehouse.queries.report.figures import delta_text, duration_text, name_text, number_text


@pytest.mark.parametrize(
    ("value_ns", "text"),
    [
        (0.0, "0 ns"),
        (0.25, "0.25 ns"),
        (999.9, "999.9 ns"),
        (999.96, "1.000 µs"),
        (99_996.0, "100.0 µs"),
        (999_949.0, "999.9 µs"),
        (999_950.0, "1.000 ms"),
        (-2.5e9, "−2.500 s"),
        (1.5e13, "15,000 s"),
    ],
)
def test_durations_have_four_digits_in_the_unit_that_fits(value_ns: float, text: str) -> None:
    assert duration_text(value_ns) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "+0.00 %"), (0.00994, "+0.99 %"), (0.00996, "+1.0 %"), (0.9996, "+100 %")],
)  # fmt: skip
def test_small_changes_have_more_digits(share: float, text: str) -> None:
    assert delta_text(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (9.999, "+1,000 %"),
        (10.0, "+1,000 %"),
        (10.001, "× 11.0"),
        (98.96, "× 100"),
        (998.8, "× 1,000"),
        (36_712.4, "× 36,700"),
        (3.67e7, "× 36,700,000"),
        (4e15, "× 4e+15"),
    ],
)
def test_a_change_of_more_than_ten_times_is_a_factor(share: float, text: str) -> None:
    assert delta_text(share) == text


def test_numbers_below_zero_have_a_minus_sign() -> None:
    assert [number_text(-7), delta_text(-0.2)] == ["−7", "−20.0 %"]


def test_values_of_a_clock_of_unknown_rate_are_ticks() -> None:
    assert value_text(member(base_ns=None), 1234.0) == "1,234 ticks"
    assert value_text(member(), 1234.0) == "1.234 µs"


def test_a_change_seen_only_in_a_pool_is_labelled_by_the_pool() -> None:
    assert member_place(member(device=None)) == "pool phones · mobilenet_v2 · xnnpack"
    assert member_place(member(device=None, pool=None, backend=None)) == "– · mobilenet_v2"


def test_an_operator_of_a_delegate_has_its_id() -> None:
    one = member(event_name="DELEGATE_CALL", delegate_id="17", ordinal=2)
    assert member_operator(one) == "DELEGATE_CALL #17.2"


def test_an_operator_that_is_called_as_its_delegate_id_is_named_once() -> None:
    one = member(event_name="Max Pooling #2", delegate_id="Max Pooling #2", ordinal=1)
    assert member_operator(one) == "Max Pooling #2"
    assert member_name(one).full == "[Max Pooling #2] #1"


def test_long_and_strange_names_are_shortened_and_escaped() -> None:
    shown = name_text("\x1b" * 60_000)
    assert len(shown) == 120
    assert shown.isprintable()
