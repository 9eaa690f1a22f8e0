from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.service import serving
from tests.support.softplus import softplus_explanation, softplus_group, softplus_store
from tracehouse.queries.explain.forms import render


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    store = shutil.copytree(softplus_store(), tmp_path_factory.mktemp("softplus") / "s")
    with serving(store) as client:
        client.get("/v1/report")  # the service judges the night and stores it
        yield client


@pytest.mark.parametrize("form", ["html", "json"])
def test_the_explanation_is_that_of_the_command_line(client: TestClient, form: str) -> None:
    address = "/v1/explain", {"group": softplus_group(), "format": form}
    answer = client.get(address[0], params=address[1])
    assert answer.text == render(softplus_explanation(), form)  # type: ignore[arg-type]
    known = {"If-None-Match": answer.headers["etag"]}
    assert client.get(address[0], params=address[1], headers=known).status_code == 304


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/v1/explain", "group=ID"),
        ("/v1/explain?group=abc", "has no group 'abc'"),
        ("/v1/explain?group=abc&head=b99", "is not in the store"),
        ("/v1/explain?groups=abc", "no such parameter 'groups'"),
        ("/v1/explain?group=abc&format=pdf", "format=pdf"),
    ],
)
def test_a_question_without_an_answer_is_a_problem_that_says_why(
    client: TestClient, address: str, words: str
) -> None:
    answer = client.get(address)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == 400
    assert words in answer.json()["detail"]
