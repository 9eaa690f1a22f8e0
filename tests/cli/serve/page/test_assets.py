from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.documents import ROOT
from tracehouse.cli.serve.page.assets import SCRIPTS

UPLOT = ROOT / "cli" / "serve" / "page" / "static" / "uplot"


def test_uplot_is_the_published_one() -> None:
    listed = (UPLOT / "ORIGIN").read_text().splitlines()[1:]
    sums = {name: digest for digest, name in (line.split() for line in listed)}
    found = {path.name: _digest(path) for path in UPLOT.iterdir() if path.name != "ORIGIN"}
    assert found == sums


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_are_served_to_the_pages_that_need_them(site: TestClient, path: str) -> None:
    answer = site.get(path)
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = "/sql" if path == "/sql.js" else "/history"
    assert f'<script src="{path}" defer></script>' in site.get(page).text
    scripts = re.findall('<script src="(.*?)" defer', site.get("/dumps").text)
    assert scripts == ["/page.js", "/changes.js"]


def test_the_mark_is_an_image_of_the_site(site: TestClient) -> None:
    answer = site.get("/mark.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert '<link rel="icon" href="/mark.svg"' in site.get("/dumps").text


def test_no_page_may_run_what_it_contains(site: TestClient) -> None:
    policy = site.get("/history").headers["content-security-policy"]
    assert re.search(r"script-src 'self';", policy)
    assert "unsafe" not in policy


def test_the_style_sheet_has_the_colours_of_lines_and_uplot_s_own(site: TestClient) -> None:
    text = site.get("/style.css").text
    assert ".c7 { --line: light-dark(" in text
    assert ".u-over" in text


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
