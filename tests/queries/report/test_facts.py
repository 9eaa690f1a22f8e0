from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tests.support.store_rows import LONG_AGO
from tests.support.stores import write
from tracehouse import Warehouse
from tracehouse.queries.report.facts import read_facts


@pytest.fixture(scope="module")
def facts(nightly):
    return read_facts(nightly, base="b10", head="b11")


def test_stability_covers_the_devices_of_the_head(facts, nightly):
    assert [(row.device, row.dump_count) for row in facts.quality.stability] == [("phone", 8)]
    both = read_facts(nightly, base=None, head="b10").quality.stability
    assert [row.device for row in both] == ["phone", "tablet"]


@pytest.mark.slow
def test_changed_measures_without_noise_are_reported(facts, nightly):
    measures = {row.measure: (row.base, row.head) for row in facts.exact_changes}
    assert measures.keys() == {"dump_bytes", "operator_calls", "operator_count"}
    assert measures["operator_count"] == (4, 5)
    assert read_facts(nightly, base="b7", head="b8").exact_changes == []
    assert read_facts(nightly, base=None, head="b11").exact_changes == []


def test_framework_tax_is_given_for_both_builds_if_the_head_has_it(facts, nightly):
    (phone,) = facts.framework_tax
    assert phone.device == "phone"
    assert 0 < phone.head_percent < 100
    assert 0 < phone.base_percent < 100
    (alone, _) = read_facts(nightly, base=None, head="b10").framework_tax
    assert alone.base_percent is None


@pytest.mark.slow
def test_a_changed_environment_is_reported(tmp_path):
    devices = [{"name": "phone", "os_version": version} for version in ("14", "15")]
    dumps = [d for n, device in enumerate(devices) for d in record_build(n, device=device, count=1)]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        (change,) = read_facts(store, base="b0", head="b1").quality.environment
        assert read_facts(store, base=None, head="b1").quality.environment == []
    assert (change.device, change.attribute, change.base, change.head) == (
        "phone",
        "os_version",
        "14",
        "15",
    )


def test_refused_files_are_listed_up_to_a_hundred(tmp_path, facts):
    assert facts.refused == []
    for number in range(103):
        write(tmp_path / "in" / f"{number:03}.etdp", b"no dump %d" % number)
    names = {"device": "phone", "build": "b1", "model": "net"}
    path = ingest_all(tmp_path / "s", record_build(1, count=1))
    with Warehouse.open(path) as store:
        store.ingest([tmp_path / "in"], manifest=names)
        found = read_facts(store, base=None, head="b1")
    assert len(found.refused) == 100
    assert found.refused[0].source.endswith(".etdp")
    assert found.quality.warnings == ["103 files were refused; 100 are listed"]


def test_devices_whose_clocks_were_wrong_or_are_doubted_are_named(tmp_path):
    clocks = {
        "phone": LONG_AGO,
        "pixel9": LONG_AGO - timedelta(days=20_454),
        "slow": LONG_AGO - timedelta(days=40),
        "tablet": LONG_AGO,
        "week": LONG_AGO - timedelta(days=7),
    }
    dumps = [
        dump
        for device, at in clocks.items()
        for dump in record_build(6, device=device, count=2, captured_at=at)
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        warnings = read_facts(store, base=None, head="b6").quality.warnings
    assert warnings == [
        "pixel9's clock was at 1970-01-01 in b6 (2 dumps), which cannot be and does not count in "
        "the order of builds: set it, and correct the dumps with 'tracehouse store amend'",
        "slow's clock was at 2025-11-22 in b6 (2 dumps), and the clocks of its other devices at "
        "2026-01-01: if it is wrong, set it, and correct the dumps with 'tracehouse store amend'",
    ]


@pytest.mark.slow
def test_files_refused_after_a_time_are_left_out(tmp_path):
    write(tmp_path / "in" / "a.etdp", b"no dump")
    path = ingest_all(tmp_path / "s", record_build(1, count=1))
    with Warehouse.open(path) as store:
        store.ingest([tmp_path / "in"], manifest={"device": "d", "build": "b1", "model": "net"})
        (at,) = store.query("ingest_errors")["refused_at"].to_pylist()
        later = at + timedelta(seconds=1)
        found = [read_facts(store, base=None, head="b1", until=x) for x in (at, later, None)]
    assert [len(each.refused) for each in found] == [0, 1, 1]


@pytest.mark.slow
def test_dumps_at_two_speeds_are_a_warning(tmp_path):
    operators = ("convolution", "relu", "add", "mean")
    slow = {f"native_call_{name}.out": 1.3 for name in operators}
    devices = [f"d{number:02}" for number in range(22)]
    dumps = [
        dump
        for device in devices
        for slower, at in ((None, 0), (slow, 1))
        for dump in record_build(at, slower, device=device, build={"id": "b"}, count=4)
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        warnings = read_facts(store, base=None, head="b").quality.warnings
    assert len(warnings) == 21
    told = "d00 net: dumps ran at two speeds, 29 % apart, 1 step from one to the other"
    assert warnings[0] == told
    assert warnings[-1] == "and 2 more that ran at two speeds"
