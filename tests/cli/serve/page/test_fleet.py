"""The overview of the fleet."""

from __future__ import annotations

import re
from html import unescape
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
        for path in ("/history", "/explore/operator_hotspots", "/compare", "/regressions",
                     "/dumps", "/timelines", "/explore/ingest_errors"):  # fmt: skip
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert 'class="empty"' in answer.text, path


def test_the_first_view_of_an_empty_store_has_commands_for_its_address(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as client:
        text = unescape(client.get("/").text)
        commands = re.findall(r'<code tabindex="0">(.*?)</code>', text, re.DOTALL)
    address = str(client.base_url)
    upload = f"tracehouse upload run.etdp --url {address} \\\n"
    assert any(one.startswith(upload) for one in commands)
    assert any(one.endswith(f"{address}/v1/dumps") for one in commands)
    assert "tracehouse demo" in commands


@pytest.fixture
def large_site(wide_site: TestClient, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A service whose twelve devices count as many."""
    monkeypatch.setattr("tracehouse.cli.serve.page.fleet.FEW", 5)
    return wide_site


def test_few_devices_stand_in_one_table_though_of_several_pools(wide_site: TestClient) -> None:
    rows = table_rows(wide_site.get("/").text)
    assert len(rows) == 12
    assert rows[0][:3] == ["device-12", "silent for 1 build", "b2 (1 build behind)"]
    assert "Pools" not in wide_site.get("/").text


def test_devices_with_problems_stand_above_the_pools_of_a_large_fleet(
    large_site: TestClient,
) -> None:
    rows = table_rows(large_site.get("/").text)
    assert rows[0][:3] == ["device-12", "silent for 1 build", "b2 (1 build behind)"]
    assert [row[:3] for row in rows[1:]] == [["pool-0", "6", "1"], ["pool-1", "6", "0"]]
    assert rows[1][-1] == "34"


def test_zeros_are_no_links(wide_site: TestClient) -> None:
    text = wide_site.get("/").text
    assert table_rows(text)[0][-1] == "0"
    assert ">0</a>" not in text


def test_squares_of_a_pool_count_its_devices(large_site: TestClient) -> None:
    text = large_site.get("/").text
    assert "b3: 5 of 6 devices" in text
    assert "b2: 6 of 6 devices" in text
    assert "b3: 0 of 2 models" in text


def test_a_pool_leads_to_its_devices(large_site: TestClient) -> None:
    text = large_site.get("/?sort=device").text
    assert links(text)["pool-1"] == "/?sort=device&pool=pool-1"
    rows = table_rows(large_site.get("/?pool=pool-1&sort=device").text)
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


def test_a_device_says_what_is_wrong_with_it(sick_site: TestClient) -> None:
    text = sick_site.get("/").text
    rows = table_rows(text)
    problems = "6 (50 %) refused, 20 % in its pool; 44 °C, its pool 31 °C"
    assert rows[0][:2] == ["device-1", problems]
    assert rows[1][:2] == ["never", "3 (100 %) refused, 25 % in its pool"]
    assert {row[1] for row in rows[2:]} == {""}
    assert links(text)[problems] == "/explore/device_days?device=device-1&pool=pool-1"
    assert table_rows(sick_site.get(links(text)[problems]).text)


def test_a_token_sees_the_health_of_its_pool_alone(sick_site: TestClient) -> None:
    secret = create_token(service_of(sick_site).store, "t", scopes=[Scope.READ], pools=["pool-0"])
    sick_site.headers["Authorization"] = f"Bearer {secret}"
    text = sick_site.get("/").text
    assert [row[0] for row in table_rows(text)] == ["device-2", "device-4", "device-6"]
    assert "device-1" not in text
    for query in ("device_health", "device_days"):
        rows = sick_site.get(f"/v1/queries/{query}").json()
        assert {row["pool"] for row in rows} == {"pool-0"}
