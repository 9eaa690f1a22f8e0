"""The overview of the fleet."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from starlette.testclient import TestClient

from cli.serve.page.fleet import age_text
from tests.support.service import serving


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
        for path in ("/", "/latency", "/operators", "/regressions", "/dumps", "/errors"):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert 'class="empty"' in answer.text, path


def test_ages_are_in_the_unit_that_fits() -> None:
    now = datetime.now(UTC)
    ages = [age_text(now - timedelta(seconds=s)) for s in (5, 300, 7200, 86400 * 3)]
    assert ages == ["5 s ago", "5 minutes ago", "2 hours ago", "3 days ago"]
    assert age_text(None) == "–"
