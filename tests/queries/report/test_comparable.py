from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.comparable import find_obstacle, note_clocks
from tracehouse.queries.report.outline import verdict_text
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.settings import Settings

CYCLES = {"unit": "cycles"}
OTHERS: Mapping[str, tuple[dict[str, Any], str]] = {
    "device": (
        {"device": "watch"},
        "No device recorded both builds: b1 is on phone and b2 is on watch",
    ),
    "model": (
        {"model": {"name": "other"}},
        "No device recorded both builds with one model: b1 is on net and b2 is on other",
    ),
    "backend": (
        {"model": {"name": "net", "backend": "xnnpack"}},
        "No model was recorded on one backend in both builds: "
        "b1 is on portable and b2 is on xnnpack",
    ),
    "clock": (
        {"clock": CYCLES},
        "The clocks of the builds cannot be converted into each other: "
        "b1 counts time and b2 counts cycles of unknown rate",
    ),
}
USUAL = {"device": "phone", "model": {"name": "net", "backend": "portable"}}


def _store(folder: Path, head: Mapping[str, Any]) -> Path:
    base = record_build(1, **USUAL)
    return ingest_all(folder / "store", [*base, *record_build(2, **{**USUAL, **head})])


def _obstacle(store: Warehouse) -> str | None:
    """The obstacle, for a client who may ask canned queries alone, as of a service."""
    asked: Any = SimpleNamespace(query=store.query)
    rows = store.query("comparison", base="b1", head="b2").to_pylist()
    return find_obstacle(asked, rows, base="b1", head="b2")


@pytest.mark.parametrize("what", cross_section(OTHERS, 3))
def test_builds_that_have_nothing_in_common_are_not_comparable(tmp_path: Path, what: str) -> None:
    head, told = OTHERS[what]
    place = _store(tmp_path, head)
    with Warehouse.open(place, read_only=True) as store:
        obstacle = _obstacle(store)
        report = compare_report(store, Settings(), base="b1", head="b2")
    assert obstacle == told
    assert (report.verdict, report.groups) == ("not_enough_data", [])
    assert verdict_text(report) == f"{obstacle}."


def test_builds_that_have_something_in_common_are_comparable(tmp_path: Path) -> None:
    dumps = [*record_build(1, **USUAL), *record_build(2, **USUAL)]
    other = record_build(2, **{**USUAL, "device": "watch"})
    place = ingest_all(tmp_path / "store", [*dumps, *other])
    with Warehouse.open(place, read_only=True) as store:
        assert _obstacle(store) is None


def _rows(*times: float | None, device: str = "phone") -> list[dict[str, Any]]:
    """Rows of operators that took 1 ns in the base."""
    return [
        {
            "level": "operator",
            "base_ns": 1.0,
            "head_ns": time,
            "device": device,
            "state_delta": None,
        }
        for time in times
    ]


@pytest.mark.parametrize(
    ("times", "factor"),
    [
        ((998.8, 1050.0, 2.0), "1,000"),
        ((0.001, 0.0009, None), "1/1,000"),
        ((1e6, 1.1e6), "1,000,000"),
        ((1.5, 2.0, 999.0), None),
        ((10.0, 10.0), None),
        ((), None),
    ],
)
def test_a_factor_between_units_asks_for_the_clock(
    times: tuple[float, ...], factor: str | None
) -> None:
    told = note_clocks([*_rows(*times), *_rows(1.01, 1.02, device="watch")], base="b1")
    assert [note.partition(" times those")[0] for note in told] == (
        [f"phone: times are {factor}"] if factor else []
    )


def test_a_wrong_unit_of_the_clock_is_asked_for(tmp_path: Path) -> None:
    place = _store(tmp_path, {"clock": {"unit": "us"}})
    with Warehouse.open(place, read_only=True) as store:
        report = compare_report(store, Settings(), base="b1", head="b2")
    assert any("1,000 times those of b1" in note for note in report.notes)
