"""A simulated farm is ingested whole, and comparing its builds finds what was planted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.tools.simulation import FarmProgress, FarmSize, FarmSummary, FarmWriter, plan_farm
from tracehouse import Warehouse
from tracehouse.ingest.errors import SinkError

SMALL = FarmSize(devices=4, builds=4, models=2, dumps=10, iterations=26)
SEED = 4

Key = tuple[object, ...]


def write(out: Path, size: FarmSize, seed: int = 0) -> FarmSummary:
    return FarmWriter(plan_farm(size, seed)).write(out)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FarmSummary, dict[str, Any]]:
    out = tmp_path_factory.mktemp("farm")
    summary = write(out, SMALL, SEED)
    return out, summary, json.loads((out / "truth.json").read_text())


@pytest.fixture(scope="module")
def store(farm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with Warehouse.open(tmp_path_factory.mktemp("store") / "farm.store", create=True) as warehouse:
        warehouse.ingest([farm[0]])
        yield warehouse


def planted(truth: dict[str, Any], head: str, role: str) -> set[Key]:
    """Operators that a build changed on each device, in one role."""
    return {
        (device["name"], change["model"], change["backend"], *operator.values())
        for change in truth["changes"]
        if change["head"] == head
        for device in truth["devices"]
        if change["pool"] in (None, device["pool"])
        for operator in ([change[role]] if isinstance(change[role], dict) else change[role])
        for operator in [
            {name: operator[name] for name in ("event_name", "delegate_id", "ordinal")}
        ]
    }


def verdicts(store: Warehouse, base: str, head: str) -> dict[Key, str]:
    names = ("device", "model", "backend", "event_name", "delegate_id", "ordinal")
    rows = store.query("regression_deltas", base=base, head=head).to_pylist()
    return {
        tuple(row[name] for name in names): row["verdict"]
        for row in rows
        if row["verdict"] != "needs_more_dumps"  # of runs that come too seldom in a dump
    }


@pytest.mark.store
@pytest.mark.slow
def test_only_truncated_dumps_are_refused(farm, store):
    _, summary, truth = farm
    assert truth["truncated_dumps"] == summary.truncated_dumps
    errors = store.query("ingest_errors").to_pylist()
    assert len(errors) == len(summary.truncated_dumps) > 0
    assert {error["reason"] for error in errors} <= {"bad_size_prefix", "truncated"}
    dumps = store.sql("SELECT count(*) AS n, sum(n_events) AS events FROM dumps").to_pylist()
    assert dumps == [{"n": summary.dumps - len(errors), "events": summary.events}]


@pytest.mark.slow
@pytest.mark.store
def test_comparing_builds_finds_every_planted_change(farm, store):
    _, _, truth = farm
    kinds = {change["kind"] for change in truth["changes"]}
    assert kinds == {"regression", "improvement", "delegate_move_out"}
    for change in truth["changes"]:
        found = verdicts(store, change["base"], change["head"])
        if change["kind"].startswith("delegate_move"):
            for role, verdict in (("removed", "removed_op"), ("appeared", "new_op")):
                operators = planted(truth, change["head"], role)
                assert operators
                assert {found[operator] for operator in operators} == {verdict}
        else:
            operators = planted(truth, change["head"], "operator")
            assert len(operators) == SMALL.devices
            assert {found[operator] for operator in operators} == {change["kind"]}


@pytest.mark.store
@pytest.mark.slow
def test_comparing_builds_flags_nothing_else(farm, store):
    _, _, truth = farm
    builds = [row["build"] for row in store.query("dumps").to_pylist()]
    for base, head in pairwise(sorted(set(builds))):
        allowed = {
            operator
            for role in ("operator", "follows", "removed", "appeared")
            for operator in planted(truth, head, role)
        }
        flagged = {
            operator
            for operator, verdict in verdicts(store, base, head).items()
            if verdict in ("regression", "improvement", "new_op", "removed_op")
        }
        assert flagged <= allowed


@pytest.mark.store
def test_failed_runs_are_those_that_truth_tells_of(farm, store):
    out, _, truth = farm
    told = {
        (str(out / run["path"]), run["run_index"], run["n_events"]) for run in truth["failed_runs"]
    }
    assert told
    rows = store.sql(
        "SELECT d.source, r.run_index, r.n_events, max(r.n_events) OVER"
        " (PARTITION BY r.dump_id) AS most FROM runs AS r JOIN dumps AS d USING (dump_id)"
        " WHERE r.run_index > 0"
    ).to_pylist()
    short = {
        (row["source"], row["run_index"], row["n_events"])
        for row in rows
        if row["n_events"] < row["most"]
    }
    assert short == told


def test_missing_dumps_and_nights_are_missing(tmp_path):
    size = FarmSize(devices=3, builds=20, models=1, dumps=2, iterations=1)
    write(tmp_path / "farm", size, seed=2)
    truth = json.loads((tmp_path / "farm/truth.json").read_text())
    assert truth["missing_dumps"]
    assert truth["missing_nights"]
    for path in truth["missing_dumps"]:
        assert not (tmp_path / "farm" / path).exists()
    for night in truth["missing_nights"]:
        assert not (tmp_path / "farm" / night["device"] / night["build"]).exists()
    nights = len(list((tmp_path / "farm").glob("*/*/")))
    assert nights == size.devices * size.builds - len(truth["missing_nights"])


@pytest.mark.store
def test_every_manifest_is_tagged_synthetic(farm, store):
    out, _, truth = farm
    assert truth["synthetic"] is True
    manifests = list(out.glob("*/**/*.json"))
    assert manifests
    for path in manifests:
        assert json.loads(path.read_text())["tags"]["synthetic"] is True
    rows = store.sql("SELECT manifest FROM dumps").to_pylist()
    assert all(json.loads(row["manifest"])["tags"]["synthetic"] for row in rows)
    names = store.sql("SELECT name FROM devices UNION ALL SELECT name FROM builds").to_pylist()
    assert all(row["name"].startswith("sim-") for row in names)


@pytest.mark.store
def test_cycles_of_unknown_rate_have_no_nanoseconds(tmp_path):
    write(tmp_path / "farm", FarmSize(devices=6, builds=1, models=1, dumps=1, iterations=3))
    truth = json.loads((tmp_path / "farm/truth.json").read_text())
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        warehouse.ingest([tmp_path / "farm"])
        rows = warehouse.sql(
            "SELECT device, count(*) AS n, count(duration_ns) AS known FROM named_events"
            " GROUP BY device"
        ).to_pylist()
    known = {row["device"]: row["known"] for row in rows}
    assert len(known) == 6
    assert known.pop("sim-prototype-01") == 0
    assert [row["n"] for row in rows if row["device"] in known] == list(known.values())
    (prototype,) = (device for device in truth["devices"] if device["arch"] == "riscv64")
    assert prototype["ticks_per_second"] == 32_768_000


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    size = FarmSize(devices=2, builds=2, models=1, dumps=2, iterations=2)
    for name, seed in (("one", 7), ("again", 7), ("other", 8)):
        write(tmp_path / name, size, seed)
    one, again, other = (contents(tmp_path / name) for name in ("one", "again", "other"))
    assert one == again
    dumps = {name for name in one.keys() & other.keys() if name.endswith(".etdp")}
    assert dumps
    assert all(one[name] != other[name] for name in dumps)


def test_progress_counts_up_to_all_dumps(tmp_path):
    seen: list[FarmProgress] = []
    writer = FarmWriter(plan_farm(FarmSize(2, 3, 1, 4, 2), 1))
    summary = writer.write(tmp_path, seen.append)
    assert [each.done_files for each in seen] == sorted(each.done_files for each in seen)
    assert seen[-1].done_files == seen[-1].total_files
    assert seen[-1].n_events == summary.events


def test_the_estimate_is_what_is_written_but_for_what_gets_lost(farm):
    _, summary, _ = farm
    estimate = FarmWriter(plan_farm(SMALL, SEED)).estimate()
    assert estimate.dumps == summary.dumps + len(summary.missing_dumps)
    assert estimate.events == pytest.approx(summary.events, rel=0.03)
    assert estimate.byte_count == pytest.approx(summary.byte_count, rel=0.03)


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SinkError, match="not empty; wanted a new or empty folder"):
        write(tmp_path, FarmSize(1, 1, 1, 1, 1))
    assert contents(tmp_path) == {"mine.txt": b"mine"}


def test_the_same_farm_may_be_written_again_and_another_may_not(tmp_path):
    size = FarmSize(1, 1, 1, 1, 1)
    write(tmp_path, size)
    before = contents(tmp_path)
    write(tmp_path, size)
    assert contents(tmp_path) == before
    for other in ((size, 1), (FarmSize(1, 1, 1, 1, 2), 0)):
        with pytest.raises(SinkError, match="not empty"):
            write(tmp_path, *other)
    assert contents(tmp_path) == before


def test_a_farm_larger_than_the_disk_is_refused(tmp_path):
    with pytest.raises(SinkError, match="MB free, wanted"):
        write(tmp_path, FarmSize(1000, 1000, 1, 10**6, 1))
    assert contents(tmp_path) == {}


def test_a_path_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match="File exists"):
        write(tmp_path / "file", FarmSize(1, 1, 1, 1, 1))
