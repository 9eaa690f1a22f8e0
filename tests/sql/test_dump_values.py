import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

CONV = "native_call_conv.out"


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for ordinal, build in enumerate(("b", "a"), start=1):
        store.add_build(build, ordinal=ordinal)
    store.add_build("pinned", role="reference")

    def add(build, ticks, *, runs=25, **columns):
        own = [900_000] * 5 + [ticks] * (runs - 5)
        number = store.add_dump(build=build, **columns)
        store.add_runs(number, [[Event(CONV, one, 1)] for one in own])

    add("a", 120)
    add("b", 100)
    add("b", 110)
    add("a", 100, device="ticks", ns_per_tick=None)
    for build in ("a", "pinned"):
        add(build, 100, device="reference")
    add("a", 100, runs=24, device="few events")
    return store.connect()


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "dump_values")


def test_values_of_two_builds_by_hand(rows):
    assert shown(rows["phone"], "build", "dump_id", "value") == [
        ("b", 2, 100),
        ("b", 3, 110),
        ("a", 1, 120),
    ]
    names = ("event_name", "ordinal", "kind", "unit", "floor")
    assert set(shown(rows["phone"], *names)) == {(CONV, 1, "kernel", "ns", 1000)}


def test_clock_of_unknown_rate_counts_ticks(rows):
    assert shown(rows["ticks"], "unit", "value", "floor") == [("ticks", 100, 2)]


def test_reference_builds_are_left_out_unless_named(farm, rows):
    assert [row["build"] for row in rows["reference"]] == ["a"]
    named = run_by_device(farm, "dump_values", build=["pinned"])["reference"]
    assert shown(named, "build", "value") == [("pinned", 100)]


def test_dump_with_too_few_events_has_no_value(rows):
    assert rows["few events"] == []
