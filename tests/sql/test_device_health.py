from datetime import timedelta

import pytest

from tests.support.store_rows import LONG_AGO, StoreRows, run_query

PROBLEMS = {
    "cool": None,
    "warm": None,
    "hot": "hot",
    "late": "silent",
    "other": None,
    "bad": "silent, refused",
    "never": "refused",
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for ordinal in (1, 2, 3):
        store.add_build(f"b{ordinal}", ordinal=ordinal)
    degrees = {"cool": 30.0, "warm": 34.5, "hot": 39.5}
    for build in ("b1", "b2", "b3"):
        at = LONG_AGO + timedelta(days=int(build[1:]))
        for device, celsius in degrees.items():
            run = {"temperature_c": celsius if build == "b3" else 90.0}
            store.add_dump(device=device, pool="lab", build=build, run=run, ingested_at=at)
        if build != "b3":
            store.add_dump(device="late", pool="lab", build=build, ingested_at=at)
            store.add_dump(device="bad", pool="lab", build=build, ingested_at=at)
        if build != "b2":
            store.add_dump(device="other", build=build, ingested_at=at)
    refused = [("bad", "lab")] * 5 + [("never", "lab")] * 3 + [("cool", "lab"), (None, None)]
    for number, (device, pool) in enumerate(refused):
        store.add_error(
            f"{number}.etdp", device=device, pool=pool, refused_at=LONG_AGO + timedelta(days=2)
        )
    for number in range(9):  # before the first build
        store.add_error(f"old{number}", device="other", refused_at=LONG_AGO)
    return store.connect()


def _rows(farm, **params):
    return {row["device"]: row for row in run_query(farm, "device_health", **params)}


def test_unhealthy_devices_come_first_with_their_problems_by_name(farm):
    rows = _rows(farm)
    assert {name: row["problems"] for name, row in rows.items()} == PROBLEMS
    assert list(rows)[:3] == ["bad", "never", "late"]
    assert [row["problem_count"] for row in rows.values()] == [2, 1, 1, 1, 0, 0, 0]


def test_a_device_is_refused_more_often_than_its_pool(farm):
    bad = _rows(farm)["bad"]
    assert (bad["refused_count"], bad["refused_share"]) == (5, 5 / 7)
    assert bad["pool_refused_share"] == 4 / (4 + 11)


def test_a_device_of_which_nothing_was_accepted_has_no_build(farm):
    never = _rows(farm)["never"]
    assert [never[name] for name in ("last_build", "builds_behind", "dump_count")] == [
        None,
        None,
        0,
    ]
    assert never["refused_share"] == 1.0


def test_only_the_last_build_has_a_temperature_which_the_pool_is_compared_with(farm):
    hot = _rows(farm)["hot"]
    assert (hot["temperature_c"], hot["pool_temperature_c"]) == (39.5, 34.5)
    assert _rows(farm)["late"]["temperature_c"] is None


def test_a_build_is_missing_that_the_pool_has(farm):
    rows = _rows(farm)
    assert {name: row["missing_count"] for name, row in rows.items() if row["missing_count"]} == {
        "bad": 1,
        "late": 1,
    }
    assert rows["late"]["builds_behind"] == 1


def test_old_refusals_do_not_count(farm):
    assert _rows(farm)["other"]["refused_count"] == 0
    assert _rows(farm, last_n=1)["bad"]["problems"] == "silent"


def test_refusals_of_other_pools_and_devices_are_left_out(farm):
    assert set(_rows(farm, pool="lab")) == set(PROBLEMS) - {"other"}
    assert set(_rows(farm, device=["bad", "late"])) == {"bad", "late"}


def test_a_device_alone_in_its_pool_is_compared_with_the_others_of_the_store():
    store = StoreRows()
    refused = {"phone": 3, "tablet": 3, "board": 3, "dongle": 30}
    for ordinal in (1, 2):
        store.add_build(f"b{ordinal}", ordinal=ordinal)
    for device, count in refused.items():
        for build in ("b1", "b2")[: 1 if device == "board" else 2]:
            for _ in range(5):
                store.add_dump(device=device, pool=f"{device}s", build=build)
        for number in range(count):
            store.add_error(f"{device}{number}", device=device, pool=f"{device}s")
    rows = _rows(store.connect())
    found = {name: row["problems"] for name, row in rows.items()}
    assert found == {"phone": None, "tablet": None, "board": "silent", "dongle": "refused"}


def test_a_device_is_not_silent_if_each_build_is_recorded_on_another_device():
    store = StoreRows()
    for ordinal in (1, 2, 3, 4):
        store.add_build(f"b{ordinal}", ordinal=ordinal)
        store.add_dump(device=f"phone-{ordinal}", pool="lab", build=f"b{ordinal}")
    problems = {name: row["problems"] for name, row in _rows(store.connect()).items()}
    assert problems == dict.fromkeys(["phone-1", "phone-2", "phone-3", "phone-4"])


@pytest.mark.parametrize("pool", [None, "lab"])
def test_a_device_is_not_silent_where_each_build_is_recorded_on_another_device(pool):
    store = StoreRows()
    for number, device in enumerate(["ab", "fresh", "quiet"]):
        for ordinal in (2 * number + 1, 2 * number + 2):
            store.add_build(f"b{ordinal}", ordinal=ordinal)
            store.add_dump(device=device, pool=pool or device, build=f"b{ordinal}")
    problems = {name: row["problems"] for name, row in _rows(store.connect()).items()}
    assert problems == dict.fromkeys(["ab", "fresh", "quiet"])


def test_few_refusals_among_many_dumps_are_no_health_problem():
    store = StoreRows()
    store.add_build("b1", ordinal=1)
    for device in ("phone", "tablet"):
        for _ in range(200):
            store.add_dump(device=device, pool="lab", build="b1")
    for number in range(3):
        store.add_error(str(number), device="phone", pool="lab")
    assert _rows(store.connect())["phone"]["problems"] is None
