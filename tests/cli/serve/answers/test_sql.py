"""Ad-hoc SQL over HTTP: what is asked and how, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.cross_section import cross_section
from tests.support.service import await_snapshot, service_of, serving
from tracehouse.warehouse.opening.snapshots import find_snapshots

SQL = "/v1/sql"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a service on an empty store, of which there is a snapshot."""
    store = tmp_path_factory.mktemp("served") / "store"
    with serving(store, sql_seconds=5, answer_rows=1000, answer_bytes=1 << 16) as client:
        await_snapshot(client)
        yield client


@pytest.mark.smoke
def test_a_statement_is_json_with_parameters_or_plain_text(client: TestClient) -> None:
    named = client.post(SQL, json={"sql": "SELECT CAST($a AS INT) + 1 AS n", "params": {"a": "4"}})
    assert (named.status_code, named.json()) == (200, [{"n": 5}])
    listed = client.post(SQL, json={"sql": "SELECT ? || ? AS t", "params": ["a", "ü"]})
    assert listed.json() == [{"t": "aü"}]
    plain = client.post(SQL, content="SELECT 'é' AS t", headers={"Content-Type": "text/plain"})
    assert plain.json() == [{"t": "é"}]


def test_the_answer_says_which_snapshot_it_is_of_and_is_not_kept(client: TestClient) -> None:
    answer = client.post(SQL, json={"sql": "SELECT count(*) AS n FROM named_dumps"})
    taken_at = find_snapshots(service_of(client).store)[-1].taken_at
    assert answer.headers["tracehouse-snapshot"] == f"{taken_at:%Y-%m-%dT%H:%M:%S}Z"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == [{"n": 0}]


def test_the_answer_format_follows_the_accept_header(client: TestClient) -> None:
    answer = client.post(SQL, json={"sql": "SELECT 1 AS a"}, headers={"Accept": "text/csv"})
    assert answer.content == b"a\n1\n"


@pytest.mark.parametrize(
    ("content", "kind", "status", "reason"),
    cross_section([
        (b'{"sql": "SELECT 1"', "application/json", 400, "body"),
        (b"[" * 50_000, "application/json", 400, "body"),
        (b"[1]", "application/json", 400, "body"),
        (b'{"sql": 5}', "application/json", 400, "body"),
        (b'{"sql": "SELECT 1", "sqls": 1}', "application/json", 400, "body"),
        (b'{"sql": "SELECT 1", "params": {"a": {"b": 1}}}', "application/json", 400, "body"),
        (b'{"sql": "SELECT \\ud800"}', "application/json", 400, "body"),
        (b"SELECT '\xff'", "text/plain", 400, "body"),
        (b"SELECT 1", "application/x-sql", 415, "media_type"),
        (b"SELECT 1", "", 415, "media_type"),
        (b"SELECT 1; SELECT 2", "text/plain", 400, "statement"),
        (b"SELECT no", "text/plain", 400, "statement"),
        (b"", "text/plain", 400, "statement"),
        (b"SELECT 1 -- " + b"x" * (16 << 10), "text/plain", 413, "statement_too_long"),
        (b"SELECT 1 -- " + b"x" * (64 << 10), "text/plain", 413, "statement_too_long"),
        (b"SELECT * FROM range(1001)", "text/plain", 413, "answer_too_long"),
        (b"SELECT repeat('x', 70000) AS x", "text/plain", 413, "answer_too_long"),
        (b'{"sql": "SELECT $a", "params": {"a": 1' + b"0" * 40 + b"}}", "application/json", 400,
         "statement"),
    ], 3),
    ids=str,
)  # fmt: skip
def test_a_malformed_statement_is_a_problem(
    client: TestClient, content: bytes, kind: str, status: int, reason: str
) -> None:
    answer = client.post(SQL, content=content, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["reason"]) == (status, reason), answer.text


def test_a_refused_statement_that_reads_files_names_the_command_that_allows_it(
    client: TestClient,
) -> None:
    answer = client.post(SQL, json={"sql": "SELECT * FROM read_csv('goals.csv')"})
    assert answer.json()["detail"].endswith(
        "only 'tracehouse sql --allow-files' on a local store reads files"
    )


def test_a_statement_with_the_most_allowed_rows_is_answered(client: TestClient) -> None:
    answer = client.post(SQL, json={"sql": "SELECT * FROM range(1000)"})
    assert len(answer.json()) == 1000
