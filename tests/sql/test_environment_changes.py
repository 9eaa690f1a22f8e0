import pytest

from tests.support.store_rows import StoreRows, run_query

ATTRIBUTES = ["firmware", "governor", "os", "os_version", "temperature", "threads"]


def _ask(old, new):
    """Rows by attribute of two builds, whose dumps were recorded in these states."""
    store = StoreRows()
    for build, states in (("old", old), ("new", new)):
        for state in states:
            store.add_dump(build=build, **state)
    rows = run_query(store.connect(), "environment_changes", base="old", head="new")
    assert [row["attribute"] for row in rows] == ATTRIBUTES[: len(rows)]
    return {row["attribute"]: row for row in rows}


def _said(row):
    return row["base"], row["head"], row["verdict"]


def test_every_attribute_by_hand():
    old = {"os": "Android", "os_version": "14"}
    run = {"firmware": "f7", "governor": "schedutil", "threads": 4, "temperature_c": 31.4}
    new = {"os": "Android", "os_version": "15"}
    rows = _ask(
        [{**old, "run": run}] * 2,
        [{**new, "run": {**run, "governor": "performance", "temperature_c": 36.4}}],
    )
    assert {name: _said(row) for name, row in rows.items()} == {
        "firmware": ("f7", "f7", "unchanged"),
        "governor": ("schedutil", "performance", "changed"),
        "os": ("Android", "Android", "unchanged"),
        "os_version": ("14", "15", "changed"),
        "temperature": ("31", "36", "changed"),
        "threads": ("4", "4", "unchanged"),
    }
    assert {(row["base_count"], row["head_count"]) for row in rows.values()} == {(2, 1)}


def test_what_a_build_does_not_state_is_unknown():
    rows = _ask([{"os": "Android"}, {}], [{"os_version": "15"}])
    assert {row["verdict"] for row in rows.values()} == {"unknown"}
    assert (rows["os"]["base_count"], rows["os"]["head_count"]) == (1, 0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (["14", "15"], ["15", "14", "15"], ("14, 15", "14, 15", "varies")),
        (["14", "15"], ["15"], ("14, 15", "15", "changed")),
        (["13", "14", "15"], ["13", "15"], ("13, ..., 15", "13, 15", "changed")),
    ],
)
def test_builds_that_were_recorded_with_several_values(old, new, said):
    rows = _ask([{"os_version": one} for one in old], [{"os_version": one} for one in new])
    assert _said(rows["os_version"]) == said


@pytest.mark.parametrize(("celsius", "verdict"), [(34.9, "unchanged"), (25, "changed")])
def test_temperature_changes_by_five_degrees_of_the_median(celsius, verdict):
    old = [{"run": {"temperature_c": degrees}} for degrees in (30, 30, 90)]
    rows = _ask(old, [{"run": {"temperature_c": celsius}}])
    assert rows["temperature"]["verdict"] == verdict


def test_what_changed_around_one_model_says_nothing_of_another():
    store = StoreRows()
    for build, threads in (("old", 2), ("new", 1)):
        store.add_dump(build=build, model="net", run={"threads": 2})
        store.add_dump(build=build, model="control", run={"threads": threads})
        store.add_dump(build=build, model="net", backend=None, run={"threads": 3 - threads})
    store.add_dump(build="new", model="wide", run={"threads": 4})
    rows = run_query(store.connect(), "environment_changes", base="old", head="new")
    assert [
        (row["model"], row["backend"], row["verdict"])
        for row in rows
        if row["attribute"] == "threads"
    ] == [
        ("control", "xnnpack", "changed"),
        ("net", "xnnpack", "unchanged"),
        ("net", None, "changed"),
    ]


def test_device_that_one_of_the_builds_lacks_is_not_compared():
    assert _ask([{"device": "phone"}], [{"device": "tablet"}]) == {}
