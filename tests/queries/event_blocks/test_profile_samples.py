"""What event blocks of hostile dumps cost: work is shared by groups and runs, not done for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import integer, logged, run, timed
from tests.tools.fuzz import worst_cases
from tracehouse.queries.event_blocks import blocks as blocks_module
from tracehouse.queries.event_blocks.blocks import summarise_events, summarise_groups
from tracehouse.queries.event_blocks.build import build_event_blocks, decode_tables
from tracehouse.queries.event_blocks.logged_values import LoggedValues
from tracehouse.queries.event_blocks.table import event_blocks_json

Count = Callable[[bytes], int]


@pytest.fixture
def percentiles_of(monkeypatch: pytest.MonkeyPatch) -> Count:
    """Counts the passes over samples that the statistics of a dump take."""
    passes = []
    interpolate = blocks_module.interpolate_sorted

    def counted(rows: Any, share: float) -> Any:
        passes.append(share)
        return interpolate(rows, share)

    monkeypatch.setattr(blocks_module, "interpolate_sorted", counted)

    def count(dump: bytes) -> int:
        passes.clear()
        assert event_blocks_json(build_event_blocks(decode_tables(dump, "dump")))
        return len(passes)

    return count


def test_statistics_of_any_number_of_signatures_take_as_many_passes(percentiles_of: Count):
    few, many = map(worst_cases.distinct_events, (30, 3000))
    assert percentiles_of(many) == percentiles_of(few) > 0


def test_statistics_of_any_number_of_blocks_take_as_many_passes(percentiles_of: Count):
    few, many = (worst_cases.loops_in_any_order(runs, 12) for runs in (5, 200))
    assert percentiles_of(many) == percentiles_of(few) > 0


def test_statistics_of_many_groups_are_those_of_each():
    rng = np.random.default_rng(7)
    sizes = [*rng.integers(0, 12, 300).tolist(), 1000, 0, 257]
    bounds = [0, *np.cumsum(sizes).tolist()]
    durations = rng.lognormal(10, 3, bounds[-1])
    each = [one for part in np.split(durations, bounds[1:-1]) for one in summarise_events([part])]
    assert summarise_groups(durations, bounds) == each
    assert summarise_groups(durations[:0], [0]) == []


class _CountingTable:
    """A table that counts how often it is cut."""

    def __init__(self, table: pa.Table) -> None:
        self._table = self._selected = table
        self.slices = 0

    def __getitem__(self, name: str) -> Any:
        return self._table[name]

    def select(self, names: Any) -> _CountingTable:
        self._selected = self._table.select(names)
        return self

    def slice(self, start: int, length: int) -> Any:
        self.slices += 1
        return self._selected.slice(start, length)


@pytest.mark.parametrize("step", [1, 1500])
def test_logged_values_of_many_runs_are_read_together(step: int):
    runs = 3000
    value = logged(integer(3), name="v")
    dump = build_etdump({"run_data": [run(timed("op", 0, 1), value)] * runs})
    table = _CountingTable(decode_tables(dump, "dump")["debug_values"])
    values = LoggedValues(table)  # type: ignore[arg-type]
    order = [number for first in range(step) for number in range(first, runs, step)]
    assert {values.of_run(number)[0].value for number in order} == {3}
    assert table.slices <= 3
