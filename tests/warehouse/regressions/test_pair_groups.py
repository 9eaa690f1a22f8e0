from __future__ import annotations

import numpy as np
import pytest

from tests.support.pair_rows import CONV, RELU, dumps_of, sides, values_table
from tracehouse.warehouse.regressions.pair import name_modules, read_modules, sum_modules, sum_types
from tracehouse.warehouse.regressions.pair_series import lay_out_pair

TWO = [5_000.0, 5_100.0]


def _lay_out(rows, **changes):
    dumps = dumps_of(rows, **changes)
    return lay_out_pair(values_table(rows), dumps), dumps


def _sums(series):
    values = series.values
    names = series.keys["event_name"].to_pylist()
    return {
        (names[row], bool(is_head), dump): None if np.isnan(value) else float(value)
        for row, is_head, dump, value in zip(
            values.series, values.is_head, values.dump, values.value, strict=True
        )
    }


def test_operators_of_a_type_are_added_up_if_a_dump_has_two():
    add = {"op_type": "add"}
    rows = [
        *sides(TWO, TWO, event_name="native_call_add.out", **add),
        *sides(TWO, [2 * v for v in TWO], event_name="native_call_add.Scalar", ordinal=2, **add),
        *sides(TWO, TWO, event_name=CONV),
    ]
    found = sum_types(_lay_out(rows)[0])
    assert found.keys.select(["level", "event_name", "kind", "ordinal"]).to_pylist() == [
        {"level": "operator_type", "event_name": "add", "kind": "kernel", "ordinal": 1}
    ]
    assert list(_sums(found).values()) == [10_000, 10_200, 15_000, 15_300]


def test_a_sum_without_one_of_its_values_does_not_count_and_units_are_not_mixed():
    add = {"op_type": "add"}
    rows = [
        *sides(TWO, [None, 5_000.0], **add),
        *sides(TWO, TWO, event_name=RELU, **add),
        *sides([9.0], [], event_name="other", unit="ticks", **add),
    ]
    found = sum_types(_lay_out(rows)[0])
    # The first dump of the base has one operator in ticks.
    assert list(_sums(found).values()) == [10_200, None, 10_100]
    assert found.is_ns.tolist() == [True]


def _modules(*rows):
    names = ("etrecord_id", "event_name", "module_path", "is_own", "is_total")
    return read_modules(
        dict(zip(names, row, strict=True)) | {"run": "Execute", "delegate_id": None, "ordinal": 1}
        for row in rows
    )


MODULES = _modules(
    (1, CONV, "", False, True),
    (1, CONV, "body", True, True),
    (1, RELU, "", True, True),
    (2, CONV, "", False, True),
    (2, CONV, "other", True, True),
)


def test_a_module_has_all_operators_inside_it():
    rows = [*sides(TWO, TWO), *sides(TWO, TWO, event_name=RELU)]
    series, dumps = _lay_out(rows, etrecord_id=1)
    found = sum_modules(series, dumps, MODULES)
    sums = {}
    for (name, *_), value in _sums(found).items():
        sums.setdefault(name, []).append(value)
    assert sums == {"": [10_000, 10_200] * 2, "body": TWO * 2}
    assert found.keys["kind"].to_pylist() == ["module"] * 2


@pytest.mark.parametrize(
    ("etrecord", "names"), [(1, ["body", ""]), (2, ["other", None]), (None, [None, None])]
)
def test_an_operator_is_of_the_module_whose_nodes_it_runs_in_the_head(etrecord, names):
    rows = [*sides(TWO, TWO), *sides(TWO, TWO, event_name=RELU)]
    series, dumps = _lay_out(rows, etrecord_id=etrecord)
    assert name_modules(series, dumps, MODULES) == names
    if etrecord is None:
        assert len(sum_modules(series, dumps, MODULES).keys) == 0


def test_an_operator_of_several_modules_gets_no_module():
    rows = sides(TWO, TWO)
    series, dumps = _lay_out(rows)
    several = dumps._replace(etrecord=np.array([1, 1, 1, 2]))
    assert name_modules(series, several, MODULES) == [None]
    of_base = dumps._replace(etrecord=np.array([2, 1, 1, 1]))
    assert name_modules(series, of_base, MODULES) == ["body"], "the base does not decide"
