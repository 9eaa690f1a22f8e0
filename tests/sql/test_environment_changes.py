import pytest

from tests.support.store_rows import StoreRows, run_by_device, shown

RUN = {"firmware": "f7", "governor": "schedutil", "threads": 4, "temperature_c": 31.4}
NEW_RUN = RUN | {"governor": "performance", "temperature_c": 36.4}


def _versions(*versions):
    return [{"os_version": one} for one in versions]


def _celsius(*degrees):
    return [{"run": {"temperature_c": one}} for one in degrees]


# By pool: the states in which dumps of the old and the new build were recorded.
CASES = {
    "all": (
        [{"os": "Android", "os_version": "14", "run": RUN}] * 2,
        [{"os": "Android", "os_version": "15", "run": NEW_RUN}],
    ),
    "unknown": ([{"os": "Android"}, {}], _versions("15")),
    "same two": (_versions("14", "15"), _versions("15", "14", "15")),
    "one of two": (_versions("14", "15"), _versions("15")),
    "two of three": (_versions("13", "14", "15"), _versions("13", "15")),
    "4.9 degrees": (_celsius(30, 30, 90), _celsius(34.9)),
    "5 degrees": (_celsius(30, 30, 90), _celsius(25)),
    "5 degrees in tenths": (_celsius(27.3), _celsius(32.3)),
    "old alone": ([{}], []),
    "new alone": ([], [{}]),
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, sides in CASES.items():
        for build, states in zip(("old", "new"), sides, strict=True):
            for state in states:
                store.add_dump(build=build, device=device, **state)
    for build, threads in (("old", 2), ("new", 1)):
        here = {"build": build, "device": "models"}
        store.add_dump(**here, model="net", run={"threads": 2})
        store.add_dump(**here, model="control", run={"threads": threads})
        store.add_dump(**here, model="net", backend=None, run={"threads": 3 - threads})
    store.add_dump(build="new", device="models", model="wide", run={"threads": 4})
    return run_by_device(store.connect(), "environment_changes", base="old", head="new")


def _of(rows, attribute):
    figures = ("base", "head", "verdict")
    return shown([row for row in rows if row["attribute"] == attribute], *figures)


def test_every_attribute_by_hand(rows):
    figures = ("attribute", "base", "head", "verdict", "base_count", "head_count")
    assert shown(rows["all"], *figures) == [
        ("firmware", "f7", "f7", "unchanged", 2, 1),
        ("governor", "schedutil", "performance", "changed", 2, 1),
        ("os", "Android", "Android", "unchanged", 2, 1),
        ("os_version", "14", "15", "changed", 2, 1),
        ("temperature", "31", "36", "changed", 2, 1),
        ("threads", "4", "4", "unchanged", 2, 1),
    ]


def test_attributes_that_a_build_does_not_state_are_unknown(rows):
    assert {row["verdict"] for row in rows["unknown"]} == {"unknown"}
    counts = {row["attribute"]: (row["base_count"], row["head_count"]) for row in rows["unknown"]}
    assert counts["os"] == (1, 0)


def test_builds_that_were_recorded_with_several_values(rows):
    assert _of(rows["same two"], "os_version") == [("14, 15", "14, 15", "varies")]
    assert _of(rows["one of two"], "os_version") == [("14, 15", "15", "changed")]
    assert _of(rows["two of three"], "os_version") == [("13, ..., 15", "13, 15", "changed")]


def test_temperature_changes_by_five_degrees_of_the_median(rows):
    assert _of(rows["4.9 degrees"], "temperature") == [("30", "35", "unchanged")]
    assert _of(rows["5 degrees"], "temperature") == [("30", "25", "changed")]
    assert _of(rows["5 degrees in tenths"], "temperature") == [("27", "32", "changed")]


def test_environment_changes_of_one_model_do_not_affect_another(rows):
    threads = [row for row in rows["models"] if row["attribute"] == "threads"]
    assert shown(threads, "model", "backend", "verdict") == [
        ("control", "xnnpack", "changed"),
        ("net", "xnnpack", "unchanged"),
        ("net", None, "changed"),
    ]
    assert rows["old alone"] == rows["new alone"] == []
