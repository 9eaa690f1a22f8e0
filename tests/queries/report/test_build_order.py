"""Builds have one order in stores, lakes and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.cross_section import cross_section
from tests.support.lakes import fill
from tests.support.nightly_farm import ingest_all
from tests.support.store_rows import LONG_AGO
from tests.support.stores import writing
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.queries.report.comparable import note_order
from tracehouse.queries.report.night import find_head, list_builds
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import choose_dumps
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

_LAST = 6
_ALWAYS = range(1, _LAST + 1)


def record(
    night: int,
    *,
    late: int = 0,
    ordinals: Sequence[int] = (),
    parents: Sequence[int] = (),
    **own: Any,
) -> Iterator[Dump]:
    """A build's dumps on two devices; from the first night on, some state more than their id."""
    build: dict[str, Any] = {"id": f"n{night}", "branch": "main"}
    if late:
        committed = LONG_AGO + timedelta(days=night + (5 if night == late else 0))
        build["committed_at"] = committed - timedelta(hours=9)
    if night in ordinals:
        build["ordinal"] = night
    if night in parents:
        build["parent"] = f"n{night - 1}"
    build |= own.pop("build", {})
    for number, device in enumerate(("phone", "tablet")):
        at = own.get(device, LONG_AGO + timedelta(days=night, minutes=number))
        fields = {"device": device, "build": build, "model": "net", "captured_at": at}
        data = tiny_dump(2 * night + number)
        manifest = Manifest.model_validate(fields)
        yield Dump.of_bytes(f"{night}-{device}.etdp", data, manifest)


def farm(changes: dict[int, dict[str, Any]], **stated: Any) -> list[Dump]:
    """The builds n1 to n6, of which some are recorded otherwise."""
    return [dump for night in _ALWAYS for dump in record(night, **stated, **changes.get(night, {}))]


_1970 = LONG_AGO - timedelta(days=20_000)
_NO_CLOCK = {"phone": None, "tablet": None}
_TRIAL = {"id": "n6", "branch": "mine", "parent": "n5", "committed_at": LONG_AGO}
FARMS = {
    "nothing but recordings": ({}, {}, "n1 n2 n3 n4 n5 n6"),
    "one of two clocks at 1970": ({6: {"phone": _1970}, 2: {"tablet": _1970}}, {}, None),
    "one of two clocks a year behind": ({6: {"phone": LONG_AGO - timedelta(days=365)}}, {}, None),
    "no clock in one build": ({3: _NO_CLOCK}, {}, "n1 n2 n4 n5 n6 n3"),
    "no clock in one build, parents stated": ({3: _NO_CLOCK}, {"parents": _ALWAYS}, None),
    "no clock at all": (dict.fromkeys(_ALWAYS, _NO_CLOCK), {}, None),
    "late commit": ({}, {"late": 3}, "n1 n2 n4 n5 n6 n3"),
    "late commit, parents stated": ({}, {"late": 3, "parents": _ALWAYS}, None),
    "late commit, its child states its parent": ({}, {"late": 3, "parents": [4]}, None),
    "ordinals, late commit": ({}, {"late": 3, "ordinals": _ALWAYS}, None),
    "some ordinals": ({}, {"ordinals": [1, 2, 4, 5]}, "n1 n2 n4 n5 n3 n6"),
    "some ordinals, parents": ({}, {"ordinals": [1, 2, 4, 5], "parents": [3, 4, 6]}, None),
    "parents in a circle": ({1: {"build": {"parent": "n6"}}}, {"parents": _ALWAYS}, None),
    "an early trial": ({6: {"build": _TRIAL}}, {"late": 9}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", cross_section(FARMS, 7))
def test_stores_and_lakes_have_one_order_whatever_came_first(tmp_path: Path, name: str) -> None:
    changes, stated, order = FARMS[name]
    dumps, expected = farm(changes, **stated), (order or "n1 n2 n3 n4 n5 n6").split()
    choice = Random(name)  # noqa: S311 - an order of arrival
    for number, arrived in enumerate((dumps, choice.sample(dumps, len(dumps)))):
        store = tmp_path / f"{number}.store"
        ingest_all(store, arrived[:5])
        with Warehouse.open(store) as warehouse:
            warehouse.ingest(arrived[5:])
            assert list_builds(warehouse) == expected
            assert find_head(warehouse, None, Settings()) == expected[-1]
            assert note_order(warehouse, base=expected[0], head=expected[-1]) is None
    with writing(store) as connection:
        fill(tmp_path / "lake", connection)
    with Warehouse.open_lake(tmp_path / "lake") as lake:
        assert list_builds(lake) == expected
        assert lake.sql("SELECT position FROM build_order").num_rows == len(expected)


def test_a_comparison_with_a_parent_says_that_it_is_older(tmp_path: Path) -> None:
    path = ingest_all(tmp_path / "s", farm({}, late=3, parents=_ALWAYS))
    with Warehouse.open(path, read_only=True) as store:
        doubt = note_order(store, base="n4", head="n3")
        assert (doubt or "").startswith("n3 is older than n4 by its parents, so ")
        assert note_order(store, base="n3", head="n4") is None


def test_a_store_keeps_the_order_whatever_happens_to_its_dumps(tmp_path: Path) -> None:
    path = ingest_all(tmp_path / "s", farm({}))
    with Warehouse.open(path) as store:
        assert list_builds(store) == ["n1", "n2", "n3", "n4", "n5", "n6"]
        chosen = choose_dumps(store.writing, where={"build": "n2"})
        corrected = parse_corrections(["captured_at=2026-01-05T12:00:00Z"])
        amend_manifests(store.writing, path, plan_amendments(store.writing, chosen, corrected))
        assert list_builds(store) == ["n1", "n3", "n4", "n2", "n5", "n6"]
        forget_dumps(store.writing, path, choose_dumps(store.writing, where={"build": "n4"}))
        assert list_builds(store) == ["n1", "n3", "n2", "n5", "n6"]
    rebuild_store(path)
    with Warehouse.open(path, read_only=True) as store:
        assert list_builds(store) == ["n1", "n3", "n2", "n5", "n6"]
