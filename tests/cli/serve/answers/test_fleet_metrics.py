from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.support.documents import documented_figures
from tests.support.nightly_farm import ingest_all, nightly_store, record_build
from tests.support.service import service_of, serving
from tests.support.uploads import new_dump, send
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.cli.serve.access.tokens import TokenScope, create_token
from tracehouse.cli.serve.answers import fleet_metrics
from tracehouse.queries.report.nightly import read_night
from tracehouse.queries.report.settings import Settings

PATH = "/metrics/fleet"
Figures = dict[str, dict[frozenset[str], float]]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service of the nightly farm, whose last night is stored."""
    store = Path(shutil.copytree(nightly_store(), tmp_path_factory.mktemp("farm") / "store"))
    with serving(judge(store), settle_seconds=3600) as client:
        yield client


def judge(store: Path) -> Path:
    """Store the last night of a store."""
    with Warehouse.open(store) as warehouse:
        warehouse.keep_night(read_night(warehouse, Settings(), None).packed())
    return store


def figures(client: TestClient, **headers: str) -> Figures:
    """Values of each figure by the values of its labels, which are unique."""
    answer = client.get(PATH, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1")
    found = Figures()
    for family in text_string_to_metric_families(answer.text):
        assert family.name.startswith("tracehouse_fleet_")
        for sample in family.samples:
            known = found.setdefault(sample.name, {})
            labels = frozenset(sample.labels.values())
            assert labels not in known
            known[labels] = sample.value
    return found


def test_times_of_the_newest_builds_are_those_of_the_query(client: TestClient) -> None:
    asked = {"event": "Method::execute", "build": ["b7", "b8", "b9", "b10", "b11"]}
    wanted: dict[frozenset[str], Any] = {}
    for row in client.get("/v1/queries/build_history", params=asked).json():
        place = {row["device"], row["model"], row["backend"] or "", row["run"], row["build"]}
        for quantile in ("50", "90"):
            share = f"0.{quantile[0]}"
            wanted[frozenset({*place, share})] = pytest.approx(row[f"p{quantile}_ns"] / 1e9)
    found = figures(client)
    assert found["tracehouse_fleet_run_seconds"] == wanted
    assert len(wanted) == 2 * 9  # the tablet has no data of the last build
    assert found["tracehouse_fleet_build_position"] == {
        frozenset({f"b{n}"}): n + 1 for n in range(7, 12)
    }
    assert found["tracehouse_fleet_build_devices"][frozenset({"b11"})] == 1
    assert found["tracehouse_fleet_build_dumps"][frozenset({"b10"})] == 16
    assert set(found["tracehouse_fleet_run_dumps"].values()) == {8}
    assert found["tracehouse_fleet_left_out_runs"] == {frozenset(): 0}


def test_every_figure_of_the_fleet_is_documented_and_no_other(client: TestClient) -> None:
    ours = {name.removeprefix("tracehouse_fleet_") for name in figures(client)}
    assert ours == documented_figures(PATH)


def test_open_alerts_are_those_of_the_last_stored_night(client: TestClient) -> None:
    report, found = client.get("/v1/report?format=json").json(), figures(client)
    slower = [
        one["state"]
        for one in report["groups"]
        if one["direction"] == "regression" and not one["is_small"]
    ]
    assert slower
    assert found["tracehouse_fleet_open_alerts"] == {
        frozenset({"confirmed"}): slower.count("confirmed"),
        frozenset({"other_environment"}): 0,
        frozenset({"suspect"}): slower.count("new"),
    }
    assert found["tracehouse_fleet_judged_timestamp_seconds"][frozenset()] > 1.7e9


def test_the_oldest_builds_are_left_out_first_beyond_the_limit(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_metrics, "MOST_RUNS", 3)
    client.app.state.fleet_texts.clear()  # type: ignore[attr-defined]
    found = figures(client)
    client.app.state.fleet_texts.clear()  # type: ignore[attr-defined]
    builds = {label for one in found["tracehouse_fleet_run_dumps"] for label in one}
    assert builds >= {"b11", "b10"}
    assert "b9" not in builds
    assert found["tracehouse_fleet_left_out_runs"] == {frozenset(): 6}


def test_figures_are_computed_again_only_when_the_data_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path, settle_seconds=3600) as client:
        assert figures(client)["tracehouse_fleet_left_out_runs"] == {frozenset(): 0}
        with monkeypatch.context() as patch:
            patch.setattr(fleet_metrics, "generate_latest", pytest.fail)
            assert "tracehouse_fleet_build_dumps" not in figures(client)
        send(client, new_dump())
        until(lambda: "tracehouse_fleet_build_dumps" in figures(client))


@pytest.mark.parametrize(("branch", "builds"), [(None, {"b1", "b2[x]", "b3"}), ("main", {"b1"})])
def test_fleet_metrics_include_builds_of_the_nightly_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branch: str | None, builds: set[str]
) -> None:
    ids = [
        {"id": "b1", "ordinal": 1, "branch": "main"},
        {"id": "b2[x]", "ordinal": 2},
        {"id": "b3", "ordinal": 3, "branch": "other"},
        {"id": "pinned", "ordinal": 4, "branch": "main", "role": "reference"},
        {"id": "try", "ordinal": 5, "branch": "main", "role": "adhoc"},
    ]
    dumps = [dump for build in ids for dump in record_build(1, count=1, build=build)]
    monkeypatch.chdir(tmp_path)
    Path("tracehouse.toml").write_text(f'[report]\nbranch = "{branch}"\n' if branch else "")
    with serving(ingest_all(tmp_path / "s", dumps)) as client:
        found = figures(client)
    for name in ("tracehouse_fleet_build_dumps", "tracehouse_fleet_run_dumps"):
        assert {label for one in found[name] for label in one} & {
            one["id"] for one in ids
        } == builds


def test_a_token_sees_the_figures_of_its_pools_alone(tmp_path: Path) -> None:
    dumps = [
        *record_build(1, device='mine\x1b[2J\n"', pool="lab", count=2),
        *record_build(2, device="theirs", pool="home", count=2),
    ]
    with serving(judge(ingest_all(tmp_path / "s", dumps))) as client:
        store = service_of(client).store
        headers = {
            pool: {"Authorization": f"Bearer {create_token(store, pool, **limits)}"}
            for pool, limits in {
                "lab": {"scopes": [TokenScope.READ], "pools": ["lab"]},
                "all": {"scopes": [TokenScope.READ]},
                "writer": {"scopes": [TokenScope.INGEST]},
            }.items()
        }
        for pool, builds in (("lab", {"b1"}), ("all", {"b1", "b2"}), ("lab", {"b1"})):
            found = figures(client, **headers[pool])["tracehouse_fleet_build_dumps"]
            assert found.keys() == {frozenset({build}) for build in builds}
        assert "tracehouse_fleet_open_alerts" in figures(client, **headers["all"])
        limited = figures(client, **headers["lab"])
        assert "tracehouse_fleet_open_alerts" not in limited
        (place,) = limited["tracehouse_fleet_run_dumps"]
        assert place == {'mine\\x1b[2J\\n"', "net", "", "forward", "b1"}
        assert client.get(PATH, headers=headers["writer"]).status_code == 403
        assert client.get(PATH).status_code == 401
