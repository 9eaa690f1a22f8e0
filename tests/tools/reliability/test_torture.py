"""Short runs of what `make torture` and `make torture-service` do at length."""

from __future__ import annotations

import pytest

from tests.tools.reliability import (
    creation,
    damage,
    damaged_logs,
    intake,
    planted_values,
    readers,
    service_kills,
    upkeep,
)

SEED = 20261122

pytestmark = pytest.mark.slow


def test_a_store_whose_making_is_killed_is_whole_or_not_there() -> None:
    found = creation.torture(10, seed=SEED)
    assert found["problems"] == []
    assert found["outcomes"]["killed"] >= 5


def test_a_store_whose_making_meets_a_full_disk_is_whole_or_not_there() -> None:
    found = creation.torture(4, seed=SEED, is_full_disk=True)
    assert (found["problems"], found["outcomes"]) == ([], {"failed": 4})


def test_damage_is_harmless_or_reported_and_mended() -> None:
    assert damage.torture(4, seed=SEED)["problems"] == []


def test_wrong_values_in_every_table_are_found() -> None:
    found = planted_values.plant_values(30, SEED)["planted values"]
    assert (found["problems"], found["outcomes"]) == ([], {"found": found["tables"]})


def test_damage_to_a_log_is_reported_and_costs_no_other_record() -> None:
    found = damaged_logs.torture(6, seed=SEED)
    assert (found["problems"], found["outcomes"]) == ([], {"cut": 2, "flip": 2, "zero": 2})


def test_kills_at_random_moments_lose_no_acknowledged_dump() -> None:
    found = intake.torture(5, seed=SEED)
    assert found["problems"] == []
    assert found["outcomes"]["killed"] >= 3


def test_kills_between_commit_and_log_clearing_lose_no_acknowledged_dump() -> None:
    found = intake.torture(3, seed=SEED, points=("log sync", "committed", "log clear"))
    assert found["problems"] == []
    assert len(found["outcomes"]) == 3


@pytest.mark.parametrize("points", [(), ("spool sealed", "committed")])
def test_killing_a_service_loses_no_acknowledged_dump(points: tuple[str, ...]) -> None:
    found = service_kills.torture(2, seed=SEED, points=points)
    assert found["problems"] == []
    assert found["acknowledged"] > 0


def test_readers_beside_all_upkeep_see_one_state_each_and_no_error() -> None:
    found = readers.torture(1, seed=SEED, rounds=1)
    assert (found["problems"], found["deeds"]) == ([], 5)
    assert found["answers"] > 0


def test_a_killed_command_leaves_the_store_as_before_it_or_as_after_it() -> None:
    found = upkeep.torture(4, seed=SEED, names=("retention", "rebuild"))
    assert found["problems"] == []
    assert found["kills"] >= 2


def test_commands_can_be_killed_before_and_after_they_commit_or_swap() -> None:
    points = ("commit", "committed", "swap", "swapped", "published")
    others = {"merge", "rebuild", "retention", "verify"}
    names = [name for name in upkeep.OPERATIONS if name not in others]
    found = upkeep.torture(0, seed=SEED, points=points, names=names)
    assert found["problems"] == []
    met = {name for name, count in found["outcomes"].items() if name.endswith("killed") and count}
    assert met == {f"{name}: killed" for name in names}
