from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tracehouse import Warehouse
from tracehouse.cli.serve.access.tokens import Tokens, TokenScope


def test_a_secret_is_printed_alone_and_once(run: Run, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "store")
    made = run("token", "create", "lab", "--scope", "ingest", "--scope", "read", *store)
    assert (made.code, made.error) == (
        0,
        "note: the secret is shown only once; send it as 'Authorization: Bearer SECRET'",
    )
    token = Tokens(tmp_path / "store").find(made.text.rstrip("\n"))
    assert token is not None
    assert token.scopes == (TokenScope.INGEST, TokenScope.READ)
    listed = run("token", "list", *store, "--format", "json").text
    assert made.text.strip() not in listed
    assert "sha256" not in listed
    (row,) = json.loads(listed)
    assert (row["name"], row["scopes"]) == ("lab", ["ingest", "read"])
    assert (row["pools"], row["expires_at"]) == (None, None)


def test_a_revoked_token_is_gone_and_both_are_on_record(run: Run, tmp_path: Path) -> None:
    store = ("--store", tmp_path)
    run("token", "create", "lab", "--scope", "read", "--pool", "lab", "--expires", "3", *store)
    assert run("token", "revoke", "lab", *store).error == "note: the token 'lab' is revoked"
    assert run("token", "list", *store, "--format", "csv").text.count("\n") == 1
    entries = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(entry["action"], entry["what"]) for entry in entries] == [
        ("token_created", "lab"),
        ("token_revoked", "lab"),
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--scope", "all"), "wanted one of ingest, read, sql, triage, upkeep, admin"),
        (("--scope", "sql", "--pool", "lab"), "--pool: sql: wanted ingest or read"),
        (("--scope", "read", "--expires", "0"), "'--expires'"),
        ((), "Missing option '--scope'"),
    ],
)
def test_an_impossible_token_is_a_usage_error(
    run: Run, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    outcome = run("token", "create", "lab", *args, "--store", tmp_path)
    assert outcome.code == 2
    assert said in outcome.err
    assert not list(tmp_path.iterdir())


def test_creating_an_existing_or_revoking_an_unknown_token_is_an_error(
    run: Run, tmp_path: Path
) -> None:
    create = ("token", "create", "lab", "--scope", "read", "--store", tmp_path)
    run(*create)
    assert run(*create).code == 1
    outcome = run("token", "revoke", "other", "--store", tmp_path)
    assert (outcome.code, "has no token 'other'" in outcome.error) == (1, True)


def test_tokens_may_be_made_before_the_store(run: Run, tmp_path: Path) -> None:
    run("token", "create", "lab", "--scope", "read", "--store", tmp_path / "store")
    outcome = run("status", "--store", tmp_path / "store")
    assert (outcome.code, "no store here" in outcome.err) == (1, True)
    with Warehouse.open(tmp_path / "store", create=True) as warehouse:
        assert warehouse.sql("SELECT count(*) AS n FROM dumps")["n"].to_pylist() == [0]
    assert Tokens(tmp_path / "store").are_needed


def test_a_store_without_tokens_lists_none(run: Run, tmp_path: Path) -> None:
    outcome = run("token", "list", "--store", tmp_path, "--format", "json")
    assert (outcome.code, json.loads(outcome.text)) == (0, [])


@pytest.mark.parametrize(
    "args", [("list",), ("create", "lab", "--scope", "read"), ("revoke", "lab")], ids=lambda a: a[0]
)
def test_a_store_path_that_cannot_be_read_is_an_error(
    run: Run, tmp_path: Path, args: tuple[str, ...]
) -> None:
    outcome = run("token", *args, "--store", tmp_path / ("n" * 300))
    assert (outcome.code, outcome.out) == (1, b"")
    assert ": File name too long" in outcome.error
