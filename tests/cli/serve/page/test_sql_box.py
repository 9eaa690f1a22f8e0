"""The box for SQL."""

from __future__ import annotations

from html import unescape

import pytest
from starlette.testclient import TestClient

from cli.serve.page.sql_box import MOST_ROWS, RECIPES
from tests.support.service import await_snapshot, service_of
from warehouse.errors import StoreError


@pytest.fixture(autouse=True, scope="module")
def _snapshot(site: TestClient) -> None:
    """There is a snapshot to ask."""
    await_snapshot(site)


def test_an_empty_box_offers_recipes(site: TestClient) -> None:
    text = site.get("/sql").text
    assert all(name in text for name, _ in RECIPES)
    assert "Answer" not in text


@pytest.mark.parametrize(("name", "statement"), RECIPES, ids=[name for name, _ in RECIPES])
def test_every_recipe_answers(site: TestClient, name: str, statement: str) -> None:
    answer = site.get("/sql", params={"sql": statement})
    assert answer.status_code == 200, name
    assert "from the snapshot of" in answer.text
    assert statement in unescape(answer.text)


def test_no_recipe_mixes_the_times_of_models() -> None:
    timed = [statement for _, statement in RECIPES if "p50_ns" in statement]
    assert timed
    assert all("model" in statement.partition("FROM")[0] for statement in timed)


def test_rows_are_text_and_numbers_stand_right(site: TestClient) -> None:
    text = site.get("/sql", params={"sql": "SELECT '<b>' AS a, 7 AS b, NULL AS c"}).text
    assert '<td>&lt;b&gt;</td><td class="n">7</td>' in text
    assert "1 row, from" in text


def test_long_answers_are_cut_and_say_so(site: TestClient) -> None:
    assert MOST_ROWS == 500
    text = site.get("/sql", params={"sql": "SELECT * FROM range(503)"}).text
    assert "3 more rows" in text
    assert text.count("<tr>") == MOST_ROWS + 1


@pytest.mark.parametrize(
    ("statement", "told"),
    [("SELEC 1", "syntax error"), ("DROP TABLE dumps", "wanted a SELECT"),
     ("SELECT * FROM read_text('/etc/passwd')", "read_text")],
)  # fmt: skip
def test_an_invalid_statement_is_told_beside_the_box(
    site: TestClient, statement: str, told: str
) -> None:
    answer = site.get("/sql", params={"sql": statement})
    assert answer.status_code == 400
    assert told in unescape(answer.text)
    assert statement in unescape(answer.text)


def test_a_snapshot_that_cannot_be_read_is_told_beside_the_box(
    site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("s", "no snapshot yet")

    monkeypatch.setattr(service_of(site).sandbox, "answer", fail)
    answer = site.get("/sql", params={"sql": "SELECT 1"})
    assert answer.status_code == 503
    assert "no snapshot yet" in answer.text
