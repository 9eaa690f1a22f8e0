"""Clocks of dumps."""

from __future__ import annotations

import pytest

from tracehouse.queries.timeline.dumps import Clocks, parse_clocks
from tracehouse.warehouse.errors import QueryError


def test_a_clock_is_in_nanoseconds_unless_stated() -> None:
    assert parse_clocks(None, None) == Clocks(1.0, {})
    assert parse_clocks("us", None).ns_per_tick == 1000.0
    assert parse_clocks("500", None).ns_per_tick == 2e6
    assert parse_clocks("cycles", None).ns_per_tick is None


def test_a_backend_has_its_own_clock_else_that_of_all_delegates_else_the_runtimes() -> None:
    clocks = parse_clocks("ms", "us,Npu=cycles")
    assert clocks.of_delegate("Npu") is None
    assert clocks.of_delegate("Cpu") == clocks.of_delegate(None) == 1e3
    assert parse_clocks("ms", None).of_delegate("Npu") == 1e6


@pytest.mark.parametrize("text", ["hours", "Npu=us", "us,ms=ns"])
def test_a_malformed_clock_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="clock"):
        parse_clocks(text, None)
