from __future__ import annotations

import pytest

from tests.support.documents import ROOT
from tests.support.nightly_farm import ingest_all, nightly_store, record_build
from tests.support.store_template import copy_new_store
from tracehouse import Warehouse
from tracehouse.queries.explain.content import Place
from tracehouse.queries.explain.facts import list_divergences, list_facts
from tracehouse.queries.report.figures import NONE


def places(*devices, **changes):
    names = {"pool": None, "model": "net", "backend": None, "base": "b1", "head": "b2"}
    return [Place(device=device, **names | changes) for device in devices]


def record(number, device, size, version, energy):
    return record_build(
        number,
        device=device | {"os_version": version},
        count=2,
        allocated=size,
        counters=[{"name": "energy", "unit": "mJ", "values": [energy] * 25}],
    )


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    """On two of three devices b2 allocates more, needs more energy, and runs another system."""
    lab = [{"name": name, "pool": "lab"} for name in ("phone", "tab[1]")]
    dumps = [
        *(dump for device in lab for dump in record(1, device, 100, "14", 1.0)),
        *(dump for device in lab for dump in record(2, device, 300, "15", 1.2)),
        *(dump for number in (1, 2) for dump in record(number, {"name": "old"}, 100, "9", 1.0)),
    ]
    path = ingest_all(tmp_path_factory.mktemp("facts") / "s", dumps)
    with Warehouse.open(path, read_only=True) as store:
        yield store


def test_environment_memory_and_counters_stand_side_by_side(farm):
    found = list_facts(farm, places("phone"))
    allocated = "100 bytes in 1 allocations", "300 bytes in 1 allocations"
    assert [(one.subject, one.name, one.base, one.head) for one in found] == [
        ("environment", "os_version", "14", "15"),
        ("memory", "forward, pool", *allocated),
        ("memory", "forward, all allocators", *allocated),
        ("counter", "energy per run", "1 mJ", "1.2 mJ"),
    ]
    assert {(one.where, one.is_changed) for one in found} == {("phone · net", True)}


def test_memory_of_runs_that_only_one_build_has_did_not_change(tmp_path):
    dumps = [*record_build(1, count=1), *record_build(2, count=1, loaded=64)]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        memory = [one for one in list_facts(store, places("phone")) if one.subject == "memory"]
    assert {(one.name, one.base, one.head, one.is_changed) for one in memory} == {
        (f"Default, {name}", NONE, "64 bytes in 1 allocations", False)
        for name in ("pool", "all allocators")
    }


def test_exact_measures_that_changed_are_listed():
    with Warehouse.open(nightly_store(), read_only=True) as store:
        found = list_facts(store, places("phone", base="b10", head="b11"))
    exact = [(one.name, one.base, one.head) for one in found if one.subject == "exact measure"]
    assert exact == [
        ("dump_bytes", "9,408 bytes", "11,008 bytes"),
        ("operator_calls", "4", "5"),
        ("operator_count", "4", "5"),
    ]


def test_names_are_no_globs(farm):
    assert {one.where for one in list_facts(farm, places("tab[1]"))} == {"tab[1] · net"}


def test_a_pool_has_the_facts_of_its_devices(farm):
    found = list_facts(farm, places(None, pool="lab"))
    assert {one.where for one in found} == {"phone · net", "tab[1] · net"}


@pytest.mark.parametrize(("energy", "is_changed"), [(1.03, False), (0.97, False), (1.031, True)])
def test_a_counter_that_moved_by_exactly_3_percent_is_unchanged(energy, is_changed, tmp_path):
    phone = {"name": "phone"}
    dumps = [*record(1, phone, 0, "14", 1.0), *record(2, phone, 0, "14", energy)]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        (counter,) = (one for one in list_facts(store, places("phone")) if one.subject == "counter")
    assert counter.is_changed == is_changed


def test_unchanged_facts_come_last(farm):
    changed = [one.is_changed for one in list_facts(farm, places("old", "phone"))]
    assert changed == [True] * 4 + [False] * 4


def test_the_first_logged_value_that_differs_is_named(tmp_path):
    copy_new_store(tmp_path / "s")
    with Warehouse.open(tmp_path / "s") as store:
        for build, model in (("b1", "mish_p"), ("b2", "std_p")):
            dump = ROOT / "tests/data/gap" / model / "run.etdp"
            store.ingest([dump], manifest={"device": "phone", "model": "net", "build": build})
        (found,) = list_divergences(store, places("phone"))
    assert found.verdict == "different"
    assert found.operator == "convolution #1"
    assert found.equal_count < found.compared_count
    assert found.command == "tracehouse numeric-gap 1 2 --first"


def test_dumps_without_logged_values_have_no_divergences(farm):
    assert list_divergences(farm, places("phone")) == []
