"""The box for SQL."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from tests.support.documents import ROOT
from tests.support.pages import links
from tests.support.service import await_snapshot, service_of
from tracehouse.cli.serve.page.sql_box import ROWS, read_recipes
from tracehouse.warehouse.errors import StoreError


@pytest.fixture(autouse=True, scope="module")
def _snapshot(site: TestClient) -> None:
    """There is a snapshot to ask."""
    await_snapshot(site)


def test_an_empty_box_offers_the_recipes_of_the_documents(site: TestClient) -> None:
    text = (ROOT / "docs" / "sql-recipes.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert [title for title, _ in read_recipes()] == titles
    page = site.get("/sql").text
    assert set(titles) <= links(page).keys()
    assert "Answer" not in page


@pytest.mark.parametrize("title", [title for title, _ in read_recipes()])
def test_every_recipe_answers_for_the_names_of_the_store(site: TestClient, title: str) -> None:
    href = links(site.get("/sql").text)[title]
    assert "lab-x86" not in href
    answer = site.get(href)
    assert answer.status_code == 200, title
    assert "from the snapshot of" in answer.text


def test_views_with_names_stand_before_all_else(site: TestClient) -> None:
    text = site.get("/sql").text
    views, _, internals = text[text.index("<h2>Views") :].partition("more tables and views")
    assert "<summary>named_dumps</summary>" in views
    assert "<summary>dropped_events</summary>" not in views
    assert "<summary>dropped_events</summary>" in internals


def test_fractions_are_rounded(site: TestClient) -> None:
    assert ">21.86</td>" in site.get("/sql?sql=SELECT 21.858708333333333::DOUBLE AS a").text


def test_rows_are_text_and_numbers_stand_right(site: TestClient) -> None:
    text = site.get("/sql", params={"sql": "SELECT '<b>' AS a, 7 AS b, NULL AS c"}).text
    assert '<td>&lt;b&gt;</td><td class="n">7</td>' in text
    assert "1 row, from" in text


def test_long_answers_have_pages(site: TestClient) -> None:
    statement = {"sql": "SELECT range AS n FROM range(503)"}
    first, last = (site.get("/sql", params={**statement, "page": page}).text for page in "13")
    assert "503 rows, from" in first
    assert f"1 to {ROWS} of 503" in first
    assert first.count('<td class="n"') == ROWS
    assert ">402<" in last
    assert last.count('<td class="n"') == 103


@pytest.mark.parametrize(
    ("statement", "told"),
    [("SELEC 1", "syntax error"), ("DROP TABLE dumps", "wanted a SELECT"),
     ("SELECT * FROM read_text('/etc/passwd')", "read_text")],
)  # fmt: skip
def test_an_invalid_statement_is_reported_beside_the_sql_box(
    site: TestClient, statement: str, told: str
) -> None:
    answer = site.get("/sql", params={"sql": statement})
    assert answer.status_code == 400
    assert told in unescape(answer.text)
    assert statement in unescape(answer.text)


def test_an_unreadable_snapshot_is_reported_beside_the_sql_box(
    site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreError("s", "no snapshot yet")

    monkeypatch.setattr(service_of(site).sandbox, "answer", fail)
    answer = site.get("/sql", params={"sql": "SELECT 1"})
    assert answer.status_code == 503
    assert "no snapshot yet" in answer.text


def test_tables_and_columns_stand_beside_the_box(site: TestClient) -> None:
    text = site.get("/sql").text
    assert "<summary>named_dumps</summary>" in text
    assert "<code>captured_at</code> TIMESTAMP WITH TIME ZONE" in text


def test_an_answer_is_drawn_and_can_be_drawn_otherwise(site: TestClient) -> None:
    statement = "SELECT build, count(*) AS dumps, 2 AS two FROM named_dumps GROUP BY ALL ORDER BY 1"
    first = site.get("/sql", params={"sql": statement})
    assert "two over 12 builds: two from 2 to 2" in first.text
    other = site.get(links(first.text)["Plot dumps"]).text
    assert "dumps over 12 builds: dumps from 16 to 16" in other
    file = site.get(links(other)["svg"])
    assert file.headers["content-type"] == "image/svg+xml"
    assert "<title>dumps</title>" in file.text
    assert site.get("/sql", params={"sql": statement, "y": "build"}).status_code == 400
    assert site.get("/sql", params={"sql": "SELECT 'a' AS b", "format": "svg"}).status_code == 404


@pytest.mark.parametrize(("form", "start"), [("csv", b"a,b\n1,x\n"), ("json", b'[\n{"a": 1, "b"')])
def test_all_rows_are_downloaded(site: TestClient, form: str, start: bytes) -> None:
    page = site.get("/sql", params={"sql": "SELECT 1 AS a, 'x' AS b FROM range(300)"}).text
    answer = site.get(links(page)[form])
    assert answer.content.startswith(start)
    assert answer.headers["content-disposition"] == f'attachment; filename="answer.{form}"'
    assert answer.content.count(b"\n") >= 300


def test_stop_keeps_the_statement_and_does_not_run_it(site: TestClient) -> None:
    answer = site.get("/sql", params={"sql": "SELECT count(*) FROM range(1000000000)", "stop": "1"})
    assert answer.status_code == 200
    assert "SELECT count(*) FROM range(1000000000)" in answer.text
    assert "from the snapshot" not in answer.text
