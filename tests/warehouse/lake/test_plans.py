from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.lakes import dump_ids, files_of, rows_only_farm, write_dumps
from tests.support.plans import ended_process, state_plan
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import LakeState, read_state
from tracehouse.warehouse.lake.layout import PLANS
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import clear_plans, list_plans, planned_files


@pytest.fixture(scope="module")
def farm():
    """A farm; only for reading."""
    return rows_only_farm()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def parquet_files(lake: Lake) -> set[str]:
    return {file.path for file in lake.list() if file.path.endswith(".parquet")}


@pytest.mark.system
def test_files_of_a_writer_that_died_are_deleted(farm, lake: Lake) -> None:
    write_dumps(farm, lake, dump_ids(farm))
    state_plan(lake, pid=ended_process())
    clear_plans(lake)
    assert parquet_files(lake) == set()
    assert lake.list(PLANS) == []


def test_files_of_a_writer_at_work_stay_elsewhere_for_a_day(farm, lake: Lake) -> None:
    written = write_dumps(farm, lake, dump_ids(farm))
    clear_plans(lake)
    state_plan(lake, pid=os.getppid())
    clear_plans(lake)
    state_plan(lake, host="elsewhere")
    clear_plans(lake)
    assert parquet_files(lake) == {file.path for file in written.added}
    state_plan(lake, host="elsewhere", at=(datetime.now(UTC) - timedelta(days=2)).isoformat())
    clear_plans(lake)
    assert parquet_files(lake) == set()


@pytest.mark.system
def test_files_of_a_plan_that_another_takes_over_meanwhile_stay(
    farm, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_dumps(farm, lake, dump_ids(farm))
    state_plan(lake, pid=ended_process())

    def taken_over(lake: Lake) -> LakeState:
        state_plan(lake, pid=os.getpid())
        return read_state(lake)

    monkeypatch.setattr("tracehouse.warehouse.lake.plans.read_state", taken_over)
    clear_plans(lake)
    assert parquet_files(lake) == {file.path for file in written.added}


@pytest.mark.system
def test_committed_files_stay_though_their_plan_was_left(farm, lake: Lake) -> None:
    written = write_dumps(farm, lake, dump_ids(farm))
    (plan,) = lake.list(PLANS)
    kept = lake.read(plan.path)
    written.commit()
    assert lake.list(PLANS) == []
    lake.write(plan.path, kept)
    state_plan(lake, pid=ended_process())
    clear_plans(lake)
    assert parquet_files(lake) == {file.path for file in written.added}
    assert lake.list(PLANS) == []


@pytest.mark.system
@pytest.mark.slow
def test_files_that_a_living_writer_makes_again_stay(farm, lake: Lake, tmp_path: Path) -> None:
    write_dumps(farm, lake, dump_ids(farm))
    state_plan(lake, pid=ended_process())
    written = write_dumps(farm, lake, dump_ids(farm))
    clear_plans(lake)
    assert {file.path for file in written.added} <= parquet_files(lake)
    written.commit()
    assert len(files_of(tmp_path, "dumps")) == 1


@pytest.mark.parametrize("text", ['{"files": [', "[]", "{}", "\xff", "[" * 100_000], ids=range(5))
def test_a_damaged_plan_is_named_with_what_to_do(lake: Lake, text: str) -> None:
    lake.write(f"{PLANS}/a.json", text.encode("latin-1"))
    for read in (clear_plans, list_plans, planned_files):
        with pytest.raises(
            LakeError, match=r"_lake/plans/a\.json is the damaged record .*: delete it; "
        ):
            read(lake)


def test_a_plan_is_ignored_while_it_is_written(lake: Lake) -> None:
    lake.write(f"{PLANS}/.a.json.0123abcd.tmp", b'{"files": [')
    assert [plan for plan in list_plans(lake) if plan.work] == []
    assert planned_files(lake) == set()
