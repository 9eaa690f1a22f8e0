from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pyarrow as pa
import pytest

from tracehouse.warehouse.regressions.exact_changes import ExactHistory, judge_exact

SCHEMA = pa.schema(
    [
        *(
            (name, pa.string())
            for name in ("device", "model", "backend", "measure", "run_name", "allocator", "build")
        ),
        ("distance", pa.int32()),
        ("dump_count", pa.int64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
    ]
)
Values = Mapping[str, Sequence[float | tuple[float, float] | None]]


def judge(
    values: Values,
    *,
    allocator: str | None = None,
    devices: Sequence[str] = ("phone",),
    models: Sequence[str] = ("net",),
    base_builds: int = 8,
    dumps: int = 8,
) -> ExactHistory:
    """The history of measures that have these values build by build, a pair where they vary."""
    length = len(next(iter(values.values())))
    rows = []
    for device, model in product(devices, models):
        for measure, series in [("runs_per_dump", [10] * length), *values.items()]:
            for number, value in enumerate(series):
                if value is None:
                    continue
                low, high = value if isinstance(value, tuple) else (value, value)
                rows.append(
                    {
                        "device": device,
                        "model": model,
                        "measure": measure,
                        "run_name": None if measure == "runs_per_dump" else "Execute",
                        "allocator": allocator if measure == "allocated_bytes" else None,
                        "build": f"b{number}",
                        "distance": length - 1 - number,
                        "dump_count": dumps,
                        "low": low,
                        "high": high,
                    }
                )
    return judge_exact(pa.Table.from_pylist(rows, SCHEMA), f"b{length - 1}", base_builds)


def told(found: ExactHistory) -> list[tuple[str, int, str, str | None]]:
    """Measure, direction, first bad build and the one that fixed it, of each change."""
    return [
        (
            found.series[change.series].measure,
            change.direction,
            found.builds[change.first_bad],
            None if change.fixed is None else found.builds[change.fixed],
        )
        for change in found.changes
    ]


def test_a_byte_more_is_a_change_that_is_confirmed_at_once():
    found = judge({"allocated_bytes": [128, 128, 129]}, allocator="pool")
    assert told(found) == [("allocated_bytes", 1, "b2", None)]
    (change,) = found.changes
    assert (change.confirmed, change.last_good) == (2, 1)


@pytest.mark.parametrize(
    ("measure", "values", "direction"),
    [
        ("allocated_bytes", [9, 8], -1),
        ("operator_count", [4, 5], 1),
        ("delegate_calls", [1, 2], 1),
        ("program_bytes", [2e6, 3e6], 1),
    ],
)
def test_more_is_worse_of_all_but_the_share_of_delegates(measure, values, direction):
    assert told(judge({measure: values})) == [(measure, direction, "b1", None)]


@pytest.mark.parametrize("count", ["operator_count", "delegate_call_count"])
def test_a_larger_share_of_delegates_is_better(count):
    found = told(judge({"delegated_share": [0.9, 0.8, 0.9], count: [4, 5, 4]}))
    assert ("delegated_share", 1, "b1", "b2") in found
    found = told(judge({"delegated_share": [0.8, 0.9], count: [5, 4]}))
    assert ("delegated_share", -1, "b1", None) in found


def test_a_delegated_share_change_requires_changed_operators_or_calls():
    counts = {"operator_count": [2, 2, 3], "delegate_call_count": [1, 1, 1]}
    found = told(judge({"delegated_share": [1 / 3, 10 / 12, 10 / 13], **counts}))
    assert [change for change in found if change[0] == "delegated_share"] == [
        ("delegated_share", 1, "b2", None)
    ]


def test_calls_that_take_over_operators_are_for_the_better():
    values = {"delegated_share": [0.5, 0.8], "delegate_call_count": [1, 2]}
    assert {direction for _, direction, _, _ in told(judge(values))} == {-1}
    back = {"delegated_share": [0.8, 0.5], "delegate_call_count": [2, 1]}
    assert {direction for _, direction, _, _ in told(judge(back))} == {1}


def test_an_exact_measure_is_compared_with_the_last_build_that_has_data():
    found = judge({"operator_count": [4, None, None, 5]})
    assert told(found) == [("operator_count", 1, "b3", None)]
    assert found.builds[found.changes[0].last_good] == "b0"


def test_builds_whose_dumps_do_not_agree_are_passed_over():
    assert told(judge({"allocated_bytes": [8, (8, 16), 8, (9, 16)]})) == []


def test_a_value_that_returns_to_its_level_is_fixed_and_no_new_change():
    assert told(judge({"operator_count": [4, 5, 5, 4]})) == [("operator_count", 1, "b1", "b3")]
    gained = judge({"operator_count": [5, 4, 5]})
    assert told(gained) == [("operator_count", -1, "b1", "b2")]


def test_a_gain_that_is_lost_after_more_builds_than_a_base_is_a_change_for_the_worse():
    found = judge({"operator_count": [5, 4, 4, 4, 5]}, base_builds=2)
    assert told(found) == [("operator_count", -1, "b1", None), ("operator_count", 1, "b4", None)]


def test_a_value_that_drops_below_its_old_level_is_fixed_and_an_improvement():
    found = judge({"allocated_bytes": [100, 110, 120, 90]})
    assert told(found) == [
        ("allocated_bytes", 1, "b1", "b3"),
        ("allocated_bytes", 1, "b2", "b3"),
        ("allocated_bytes", -1, "b3", None),
    ]


def test_memory_that_only_some_builds_log_is_unknown_in_the_others():
    assert told(judge({"allocated_bytes": [None, None, 64]}, allocator="pool")) == []


def test_a_counter_stated_by_few_dumps_is_not_taken_as_exact():
    assert told(judge({"rss_bytes": [8, 9]}, dumps=4)) == []
    assert told(judge({"rss_bytes": [8, 9]}, dumps=5)) == [("rss_bytes", 1, "b1", None)]


def test_a_change_of_dump_size_is_no_change_of_the_program():
    assert told(judge({"dump_bytes": [100, 200]})) == []


def test_changes_of_one_build_are_one_group_across_devices_and_measures():
    values = {"operator_count": [4, 5], "operator_calls": [4, 5], "allocated_bytes": [8, 16]}
    (group,) = judge(values, devices=("phone", "tablet")).groups
    assert group.operators == ("allocated_bytes", "operator_count")
    assert len(group.changes) == 4  # calls follow from the count


def test_changes_of_two_models_are_decided_separately():
    values = {"allocated_bytes": [8, 16]}
    (alone,) = judge(values, devices=("phone", "tablet")).groups
    groups = judge(values, models=("net", "other"), devices=("phone", "tablet")).groups
    assert [len(group.changes) for group in groups] == [2, 2]
    assert len({group.id for group in groups}) == 2
    assert alone.id in {group.id for group in groups}


def test_a_measure_that_joins_makes_a_new_undecided_group():
    values = {"allocated_bytes": [8, 16], "operator_count": [4, 4]}
    (first,) = judge(values).groups
    for joined in ({"operator_count": [4, 5]}, {"allocated_bytes": [8, 24]}):
        (later,) = judge(values | joined).groups
        assert later.id != first.id
    (later,) = judge(values, devices=("phone", "tablet")).groups
    assert later.id != first.id


def test_changes_of_two_builds_are_two_groups_with_builds_of_their_own():
    values = {"allocated_bytes": [8, 16, 16], "operator_count": [4, 4, 5]}
    found = judge(values)
    began = [(group.operators, group.last_good, group.first_bad) for group in found.groups]
    assert began == [(("allocated_bytes",), 0, 1), (("operator_count",), 1, 2)]


def test_a_measure_without_data_of_the_build_shares_its_group():
    values = {"allocated_bytes": [8, 16, 16, 16], "operator_count": [4, None, 5, 5]}
    (group,) = judge(values).groups
    assert (group.last_good, group.first_bad, len(group.changes)) == (0, 1, 2)


def test_the_id_of_a_group_stays_while_builds_come():
    first, later = (judge({"operator_count": values}) for values in ([4, 5], [4, 5, 5, 5]))
    assert first.groups[0].id == later.groups[0].id


def test_the_id_of_a_group_stays_when_an_earlier_build_is_filled_in():
    ids = [
        judge({"operator_count": values}).groups[0].id
        for values in ([4, None, 5], [4, 5, 5], [4, 4, 5])
    ]
    assert len(set(ids)) == 1


def test_a_head_without_data_keeps_open_changes():
    found = judge({"operator_count": [4, 5, None]})
    assert (found.builds[-1], told(found)) == ("b2", [("operator_count", 1, "b1", None)])
