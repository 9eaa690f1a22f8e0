from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.inboxes import fill_inbox
from tests.support.lakes import rows_of
from tests.support.plans import ended_process, state_plan
from tests.support.tasks import DriverDies, DyingTasks, TasksHere
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.layout import PLANS
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.verification import verify_lake
from tracehouse.warehouse.spark.ingest import LakeIngest, LakeIngester
from tracehouse.warehouse.spark.plans import IngestPlan

LONG_AGO = (datetime.now(UTC) - timedelta(minutes=11)).isoformat()


class Checking(LakeIngester):
    """Something happens between what it plans first and its look at what others plan."""

    def __init__(self, inbox: Path, lake: Path, meanwhile: Callable[[], None]) -> None:
        super().__init__(TasksHere(), str(inbox), str(lake))
        self._meanwhile = [meanwhile]

    def _is_contested(self, plan: IngestPlan, state: LakeState) -> bool:
        while self._meanwhile:
            self._meanwhile.pop()()
        return super()._is_contested(plan, state)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """Eight dumps of a day."""
    return fill_inbox(tmp_path / "inbox", 8, days=1)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Where their lake is to be."""
    return tmp_path / "lake"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.warehouse.spark.ingest._PAUSE_SECONDS", 0)


def take(inbox: Path, lake: Path, tasks: TasksHere | None = None) -> LakeIngest:
    return LakeIngester(tasks or TasksHere(), str(inbox), str(lake)).ingest_all()


def count_dumps(lake: Path) -> int:
    """How many there are in a lake, of which none is there twice."""
    assert verify_lake(Lake(lake)) == []
    return len(rows_of(lake, "dumps"))


def test_a_plan_that_is_not_checked_yet_is_not_carried_out_by_another(inbox, lake) -> None:
    other = TasksHere()

    def meet() -> None:
        with pytest.raises(LakeError, match="other processes repeatedly ingest the same"):
            take(inbox, lake, other)

    assert Checking(inbox, lake, meet).ingest_all().n_dumps == 8
    assert other.done
    assert count_dumps(lake) == 8


@pytest.mark.slow
def test_a_plan_given_up_to_a_third_driver_is_never_carried_out(inbox, lake) -> None:
    third = fill_inbox(inbox.parent / "third", 4, days=1)

    class Overtaken(TasksHere):
        """When this one decodes, the first has given up its plan, and a third takes the dumps."""

        def run(self, pieces, work, schema):
            rows = super().run(pieces, work, schema)
            for plan in (lake / PLANS).iterdir():
                plan.unlink()
            take(third, lake)
            return rows

    def meet() -> None:
        take(inbox, lake, Overtaken())

    Checking(inbox, lake, meet).ingest_all()
    assert count_dumps(lake) == 8


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_an_unchecked_plan_of_a_dead_driver_is_ignored(inbox, lake, place: str) -> None:
    def die() -> None:
        raise DriverDies

    with pytest.raises(DriverDies):
        Checking(inbox, lake, die).ingest_all()
    here = {"pid": ended_process()}
    state_plan(Lake(lake), **here if place == "here" else {"host": "elsewhere", "at": LONG_AGO})
    os.unlink(inbox / "2026-01-01-0" / "0000.etdp")
    done = take(inbox, lake)
    assert (done.n_dumps, done.n_changed) == (7, 0)
    assert count_dumps(lake) == 7


@pytest.mark.slow
def test_a_driver_does_not_carry_out_a_plan_that_expired_for_others(inbox, lake) -> None:
    other = inbox.parent / "other"
    shutil.copytree(inbox, other)

    def wait_too_long() -> None:
        state_plan(Lake(lake), at=LONG_AGO)
        with pytest.raises(DriverDies):
            take(other, lake, DyingTasks(2))

    with pytest.raises(LakeError, match="other processes repeatedly ingest the same"):
        Checking(inbox, lake, wait_too_long).ingest_all()
    assert take(other, lake).n_dumps == 8
    assert count_dumps(lake) == 8
