from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report import nightly as nightly_module
from tracehouse.queries.report.nightly import NightKey, find_report, last_night, read_night
from tracehouse.queries.report.settings import Nightly, ReportChoice, Settings
from tracehouse.warehouse.upkeep.nights import JudgedNight
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

SLOWER = {"native_call_relu.out": 1.2}


@pytest.fixture(scope="module")
def five_builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of five builds; only for reading."""
    dumps = [dump for number in range(4) for dump in record_build(number)]
    store = tmp_path_factory.mktemp("five") / "s"
    return ingest_all(store, [*dumps, *record_build(4, SLOWER)])


@pytest.fixture(scope="module")
def judged(five_builds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the night of the last one; only for reading."""
    store = Path(shutil.copytree(five_builds, tmp_path_factory.mktemp("judged") / "s"))
    keep(store)
    return store


@pytest.fixture
def store(five_builds: Path, tmp_path: Path) -> Path:
    """Five builds, none of which is judged."""
    return Path(shutil.copytree(five_builds, tmp_path / "s"))


@pytest.fixture
def kept(judged: Path, tmp_path: Path) -> Path:
    """Five builds, with the night of the last one."""
    return Path(shutil.copytree(judged, tmp_path / "s"))


def keep(store: Path, head: str | None = None, settings: Settings = Settings()) -> None:  # noqa: B008
    with Warehouse.open(store) as warehouse:
        night = read_night(warehouse, settings, head)
        assert not night.is_stored
        warehouse.keep_night(night.packed())


def is_stored(store: Path, head: str | None = None, settings: Settings = Settings()) -> bool:  # noqa: B008
    """Whether the report is read from the store; where it is not, none is made."""
    with Warehouse.open(store, read_only=True) as warehouse:
        return find_report(warehouse, NightKey.of(warehouse, settings, head)) is not None


def test_a_stored_night_is_the_report_and_costs_no_judgement(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Warehouse.open(store) as warehouse:
        night = read_night(warehouse, Settings(), None)
        made = night.report
        assert not night.is_stored
        warehouse.keep_night(night.packed())
    assert made.groups
    monkeypatch.setattr(nightly_module, "nightly_report", pytest.fail)
    with Warehouse.open(store, read_only=True) as warehouse:
        assert read_night(warehouse, Settings(), None).report == made
        assert read_night(warehouse, Settings(), "b4").report == made
        (row,) = warehouse.sql("SELECT build, verdict, summary FROM judged_nights").to_pylist()
    assert row == {"build": "b4", "verdict": made.verdict, "summary": made.summary}


def test_the_last_report_is_that_of_the_newest_judged_build(store: Path) -> None:
    def last() -> str | None:
        with Warehouse.open(store, read_only=True) as warehouse:
            night = last_night(warehouse, Settings())
        return night and night.report.head

    assert last() is None
    keep(store)
    keep(store, "b3")  # judged later
    assert last() == "b4"
    ingest_all(store, record_build(5))
    assert last() == "b4"
    # Neither does the later build change the earlier night.
    assert not is_stored(store)
    assert is_stored(store, "b4")


def test_a_night_with_more_dumps_or_other_settings_is_judged_again(kept: Path) -> None:
    store = kept
    keep(store, "b3")
    other = Settings(nightly=Nightly(min_change=0.5))
    assert not is_stored(store, settings=other)
    assert is_stored(store)
    ingest_all(store, record_build(4, SLOWER, count=9)[8:])  # a late dump of the last night
    assert not is_stored(store)
    assert is_stored(store, "b3")
    keep(store)
    with Warehouse.open(store, read_only=True) as warehouse:  # the last judgement of a build
        assert warehouse.sql("SELECT build FROM judged_nights ORDER BY build").to_pylist() == [
            {"build": "b3"}, {"build": "b4"},
        ]  # fmt: skip
        assert find_report(warehouse, NightKey.of(warehouse, Settings(), "b4"))
    ingest_all(store, record_build(2, count=9)[8:])  # and one of an earlier night
    assert not is_stored(store, "b3")


def test_a_trial_of_another_branch_and_the_choice_of_a_branch_change_no_night(kept: Path) -> None:
    store = kept
    trial = {"id": "try", "branch": "mine", "parent": "b4", "ordinal": 5}
    ingest_all(store, record_build(5, build=trial))
    assert is_stored(store, "b4")
    assert is_stored(store, "b4", Settings().of_branch("mine"))
    with Warehouse.open(store) as warehouse:
        (group,) = read_night(warehouse, Settings(), "b4").report.groups[:1]
        warehouse.decide(group.id, state="accepted", reason="known")
        report = read_night(warehouse, Settings(), "b4").report
    assert report.groups[0].state == "accepted"


def test_a_decision_changes_the_night_until_a_later_build_arrives(kept: Path) -> None:
    store = kept
    with Warehouse.open(store) as warehouse:
        (group,) = read_night(warehouse, Settings(), None).report.groups[:1]
        warehouse.decide(group.id, state="accepted", reason="known")
    assert not is_stored(store)
    keep(store)
    ingest_all(store, record_build(5))
    assert is_stored(store, "b4")
    with Warehouse.open(store) as warehouse:
        warehouse.decide(group.id, state="reopened", reason="not after all")
    assert is_stored(store, "b4")


def test_a_rebuild_has_the_nights_again(kept: Path) -> None:
    store = kept
    with Warehouse.open(store, read_only=True) as warehouse:
        before = warehouse.sql("FROM judged_nights").to_pylist()
    assert all(table.is_equal for table in rebuild_store(store).tables)
    (store / "warehouse.duckdb").unlink()
    rebuild_store(store)
    with Warehouse.open(store, read_only=True) as warehouse:
        assert warehouse.sql("FROM judged_nights").to_pylist() == before
    assert is_stored(store)


def test_the_last_night_is_of_the_report_s_branch(store: Path) -> None:
    ingest_all(store, record_build(5, branch="other"))
    keep(store, "b5")
    with Warehouse.open(store, read_only=True) as warehouse:
        chosen = Settings(report=ReportChoice(branch="main"))
        assert last_night(warehouse, chosen) is None
        other = last_night(warehouse, chosen.of_branch("other"))
    assert other is not None
    assert other.key.build == "b5"


def test_a_stored_night_of_another_version_is_not_shown(store: Path) -> None:
    report = zlib.compress(b'{"kind": "nightly"}')
    with Warehouse.open(store) as warehouse:
        warehouse.keep_night(JudgedNight("b4", "settings", "inputs", "clear", "b4: clear", report))
        assert last_night(warehouse, Settings()) is None
    keep(store)
    with Warehouse.open(store, read_only=True) as warehouse:
        night = last_night(warehouse, Settings())
    assert night is not None
    assert night.key.build == "b4"
