from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.nightly_farm import ingest_all, nightly_store, record_build
from tests.support.pages import links, table_rows
from tests.support.service import service_of, serving
from tracehouse import Warehouse
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.cli.serve.page.tonight import describe_since, night_parts
from tracehouse.queries.report import nightly as nightly_module
from tracehouse.queries.report.nightly import last_night, read_night
from tracehouse.queries.report.settings import Settings, SettingsError


def test_each_device_says_how_far_behind_it_is(site: TestClient) -> None:
    text = site.get("/").text
    rows = {row[0]: row for row in table_rows(text)}
    assert rows["tablet"][1:4] == ["silent", "b10", "1"]
    assert rows["phone"][1:4] == ["–", "b11", "0"]
    assert "<b>1</b> <span>device without the newest build</span>" in text


def test_squares_tell_which_builds_a_device_has_seen(site: TestClient) -> None:
    text = site.get("/", params={"device": "tablet"}).text
    assert "recorded in 11 of 11 builds" in text
    both = site.get("/").text
    assert "recorded in 11 of 12 builds" in both
    assert "b11: 0 of 1 program" in both


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as client:
        for path in ("/explore/build_history", "/explore/operator_hotspots", "/compare",
                     "/regressions", "/dumps", "/timelines", "/explore/ingest_errors"):  # fmt: skip
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
    monkeypatch.setattr("tracehouse.cli.serve.page.tonight.FEW", 5)
    return wide_site


def test_few_devices_all_stand_in_a_table(wide_site: TestClient) -> None:
    rows = table_rows(wide_site.get("/").text)
    assert len(rows) == 12
    assert rows[0][:4] == ["device-12", "silent", "b2", "1"]


def test_a_large_fleet_shows_only_devices_with_problems(large_site: TestClient) -> None:
    text = large_site.get("/?pool=pool-*").text
    assert [row[0] for row in table_rows(text)] == ["device-12"]
    assert links(text)["All 12 devices"] == "/explore/device_health?pool=pool-%2A"
    assert "b3: 0 of 2 programs" in text


def test_a_fleet_of_many_devices_has_pages(
    wide_site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.cli.serve.page.answer_table.ROWS", 5)
    text = wide_site.get("/?pool=pool-0&sort=device&page=2").text
    assert "6 to 6 of 6" in text
    assert [row[0] for row in table_rows(text)] == ["device-12"]
    assert "b3: 0 of 2 programs" in text


def test_a_device_says_what_is_wrong_with_it(sick_site: TestClient) -> None:
    text = sick_site.get("/").text
    rows = table_rows(text)
    assert rows[0][:2] == ["device-1", "refused, hot"]
    assert rows[1][:2] == ["never", "refused"]
    assert {row[1] for row in rows[2:]} == {"–"}
    assert links(text)["refused, hot"] == "/explore/device_days?device=device-1"
    assert table_rows(sick_site.get(links(text)["refused, hot"]).text)


def test_a_token_sees_the_health_of_its_pool_alone(sick_site: TestClient) -> None:
    secret = create_token(service_of(sick_site).store, "t", scopes=[Scope.READ], pools=["pool-0"])
    sick_site.headers["Authorization"] = f"Bearer {secret}"
    text = sick_site.get("/").text
    assert [row[0] for row in table_rows(text)] == ["device-2", "device-4", "device-6"]
    assert "device-1" not in text
    for query in ("device_health", "device_days"):
        rows = sick_site.get(f"/v1/queries/{query}").json()
        assert {row["pool"] for row in rows} == {"pool-0"}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the nightly farm whose last night is stored."""
    store = Path(shutil.copytree(nightly_store(), tmp_path_factory.mktemp("judged") / "s"))
    with Warehouse.open(store) as warehouse:
        warehouse.keep_night(read_night(warehouse, Settings(), None).packed())
    return store


@pytest.fixture(scope="module")
def client(judged: Path) -> Iterator[TestClient]:
    with serving(judged) as client:
        yield client


def test_the_page_shows_the_verdict_then_alerts_then_the_fleet(client: TestClient) -> None:
    text = client.get("/").text
    parts = ("<h1>", "<h2>Act on these", "<h2>Fleet</h2>", "<h2>Devices")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert re.search(r"<h1>\d operators? (is|are) slower .*</h1>", text)
    assert "Nothing has arrived since." in text


def test_an_alert_has_a_sparkline_with_its_mark_and_its_command(client: TestClient) -> None:
    text = client.get("/").text
    alert = text[text.index("<article") : text.index("<h2>Fleet")]
    assert 'class="spark"' in alert
    commands = [unescape(one) for one in re.findall(r"<code tabindex=\"0\">(.*?)</code>", alert)]
    assert len(commands) > 1
    assert all(one.startswith("tracehouse ") or "git bisect" in one for one in commands)
    assert all("\\n" not in one for one in commands)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("History", "convolution #1"),
        ("Details", 'class="strip"'),
        ("Timelines", "Both are on the same time axis."),
        ("Why", "convolution"),
    ],
)
def test_an_alert_leads_to_its_details(client: TestClient, name: str, words: str) -> None:
    text = client.get("/").text
    href = re.search(rf'href="([^"]*)" aria-label="{name} of', text)
    assert href
    answer = client.get(unescape(href[1]))
    assert answer.status_code == 200
    assert words in answer.text


def test_a_filtered_fleet_has_no_night(client: TestClient) -> None:
    text = client.get("/?device=phone").text
    assert "<h1>Fleet</h1>" in text
    assert "Act on these" not in text


def test_a_night_that_is_not_judged_is_not_judged_by_the_view(
    wide_site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightly_module, "nightly_report", pytest.fail)
    text = wide_site.get("/").text
    assert "<h1>No build is judged yet</h1>" in text
    assert links(text)["Judge it now"] == "/regressions"


def test_an_empty_store_has_no_night(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as client:
        assert "<h1>No dumps yet</h1>" in client.get("/").text


class _Nights:
    settings = Settings()


@pytest.mark.parametrize("build", [11, 12])
def test_the_page_says_that_newer_dumps_arrived(judged: Path, tmp_path: Path, build: int) -> None:
    store = shutil.copytree(judged, tmp_path / "s")
    ingest_all(store, record_build(build, device="another"))
    with Warehouse.open(store, read_only=True) as warehouse:
        parts = night_parts(PageRequest(store=warehouse, nights=_Nights()))  # type: ignore[arg-type]
    assert parts["night"].head == "b11"
    said = {
        11: "8 dumps have arrived since and are not judged yet.",
        12: "8 dumps have arrived since, and the night of b12 is not judged yet.",
    }
    assert parts["since"] == said[build]


def test_the_page_says_why_a_night_is_outdated_even_without_new_dumps(judged: Path) -> None:
    with Warehouse.open(judged, read_only=True) as warehouse:
        night = last_night(warehouse, Settings())
        assert night is not None
        for key, text in (
            (night.key, ""),
            (night.key._replace(build="b12"), "The night of b12 is not judged yet."),
            (night.key._replace(settings=""), "The settings have changed since."),
            (
                night.key._replace(inputs=""),
                "Dumps, decisions or refusals have changed since and are not judged yet.",
            ),
        ):
            assert describe_since(warehouse, key, night) == text


class _BrokenNights:
    @property
    def settings(self) -> Settings:
        raise SettingsError("tracehouse.toml: report.brunch: no such field")


def test_invalid_settings_are_reported_beside_the_night(judged: Path) -> None:
    with Warehouse.open(judged, read_only=True) as warehouse:
        parts = night_parts(PageRequest(store=warehouse, nights=_BrokenNights()))  # type: ignore[arg-type]
    assert parts["night"].head == "b11"
    assert parts["since"] == "tracehouse.toml: report.brunch: no such field"


def test_an_acknowledged_alert_is_known_and_nothing_is_green(tmp_path: Path, judged: Path) -> None:
    store = shutil.copytree(judged, tmp_path / "s")
    with Warehouse.open(store) as warehouse:
        night = last_night(warehouse, Settings())
        assert night is not None
        groups = [group.id for group in night.report.groups if group.direction == "regression"]
        for group in groups:
            warehouse.decide(group, state="acknowledged", reason="known")
        warehouse.keep_night(read_night(warehouse, Settings(), None).packed())
    with serving(store) as client:
        text = client.get("/").text
    assert "Nothing got slower" not in text
    assert 'class="chip acknowledged"' in text
    assert 'class="chip slower"' not in text
