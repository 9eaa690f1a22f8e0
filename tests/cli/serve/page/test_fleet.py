"""The overview of the fleet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.pages import links, table_rows
from tests.support.service import service_of, serving
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token


def test_each_device_says_how_far_behind_it_is(site: TestClient) -> None:
    text = site.get("/").text
    assert re.search(r">tablet</a>.*?b10 \(1 build behind\)", text, re.DOTALL)
    assert re.search(r">phone</a>.*?>b11<", text, re.DOTALL)
    assert "<b>1</b> <span>device without the newest build</span>" in text


def test_squares_tell_which_builds_a_device_has_seen(site: TestClient) -> None:
    text = site.get("/", params={"device": "tablet"}).text
    assert "recorded in 11 of 11 builds" in text
    both = site.get("/").text
    assert "recorded in 11 of 12 builds" in both
    assert "b11: 0 of 1 model" in both


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as client:
        for path in (
            "/",
            "/latency",
            "/operators",
            "/compare",
            "/regressions",
            "/dumps",
            "/errors",
        ):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert 'class="empty"' in answer.text, path


def test_pools_stand_above_devices_with_problems(wide_site: TestClient) -> None:
    rows = table_rows(wide_site.get("/").text)
    assert [row[:3] for row in rows[:2]] == [["pool-0", "6", "1"], ["pool-1", "6", "0"]]
    assert rows[0][-1] == "34"
    assert [row[0] for row in rows[2:]] == ["device-12"]
    assert rows[2][1:3] == ["silent for 1 build", "b2 (1 build behind)"]


def test_pools_whose_devices_are_well_stand_alone(wide_site: TestClient) -> None:
    rows = table_rows(wide_site.get("/", params={"device": ["device-1", "device-2"]}).text)
    assert [row[:3] for row in rows] == [["pool-0", "1", "0"], ["pool-1", "1", "0"]]


def test_squares_of_a_pool_count_its_devices(wide_site: TestClient) -> None:
    text = wide_site.get("/").text
    assert "b3: 5 of 6 devices" in text
    assert "b2: 6 of 6 devices" in text
    assert "b3: 0 of 2 models" in text


def test_a_pool_leads_to_its_devices(wide_site: TestClient) -> None:
    text = wide_site.get("/?sort=device").text
    assert links(text)["pool-1"] == "/?sort=device&pool=pool-1"
    rows = table_rows(wide_site.get("/?pool=pool-1&sort=device").text)
    assert [row[0] for row in rows] == [f"device-{n}" for n in range(1, 12, 2)]


def test_a_fleet_of_many_devices_has_pages(
    wide_site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tracehouse.cli.serve.page.listing.sort_page.__kwdefaults__", {"part": "", "size": 5}
    )
    text = wide_site.get("/?pool=pool-0&sort=device&page=2").text
    assert "6 to 6 of 6" in text
    assert [row[0] for row in table_rows(text)] == ["device-12"]
    assert "b3: 0 of 2 models" in text


def test_many_devices_without_a_problem_are_folded_until_somebody_sorts_them(
    wide_site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = create_token(service_of(wide_site).store, "t", scopes=[Scope.READ], pools=["pool-1"])
    wide_site.headers["Authorization"] = f"Bearer {secret}"
    folded = '<details class="listing"><summary><h2>Devices: none of 6 has a problem</h2>'
    assert folded not in wide_site.get("/").text
    monkeypatch.setattr("tracehouse.cli.serve.page.fleet._FEW", 5)
    text = wide_site.get("/").text
    assert folded in text
    assert len(table_rows(text)) == 6
    assert folded not in wide_site.get("/?sort=device").text


def test_a_device_says_what_is_wrong_with_it(sick_site: TestClient) -> None:
    text = sick_site.get("/").text
    rows = table_rows(text)
    assert [row[:3] for row in rows[:2]] == [["pool-1", "4", "2"], ["pool-0", "3", "0"]]
    assert rows[2][:2] == ["device-1", "6 (50 %) refused, 20 % in its pool; 44 °C, its pool 31 °C"]
    assert [row[0] for row in rows[3:]] == ["never"]
    assert "dumps a day from 6 to 6" in text
    assert "temperature from 44 °C to 44 °C" in text


def test_a_token_sees_the_health_of_its_pool_alone(sick_site: TestClient) -> None:
    secret = create_token(service_of(sick_site).store, "t", scopes=[Scope.READ], pools=["pool-0"])
    sick_site.headers["Authorization"] = f"Bearer {secret}"
    text = sick_site.get("/").text
    assert [row[0] for row in table_rows(text)] == ["device-2", "device-4", "device-6"]
    assert "device-1" not in text
    for query in ("device_health", "device_days"):
        rows = sick_site.get(f"/v1/queries/{query}").json()
        assert {row["pool"] for row in rows} == {"pool-0"}


def test_a_farm_without_temperatures_has_no_column_of_them(wide_site: TestClient) -> None:
    assert "Temperature" not in wide_site.get("/").text
