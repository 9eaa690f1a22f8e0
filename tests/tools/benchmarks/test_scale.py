"""A store of rows answers as one of dumps does."""

from __future__ import annotations

import pytest

from tests.tools.benchmarks.scale import fill
from tracehouse import Warehouse


@pytest.mark.slow
def test_a_store_of_rows_can_be_asked_and_has_the_change_that_was_planted(tmp_path):
    fill(tmp_path, 2, 5, 3, 10, 4)
    with Warehouse.open(tmp_path, read_only=True) as store:
        assert store.query("dumps").num_rows == 2 * 5 * 3 * 10
        rows = store.query("comparison", base="b1", head="b2", model="model-5").to_pylist()
    operators = [row for row in rows if row["level"] == "operator"]
    slower = {row["event_name"] for row in operators if row["delta"] > 0.05}
    assert slower == {"native_call_op3.out"}
    assert len(operators) == 2 * 3  # the fourth is the method
