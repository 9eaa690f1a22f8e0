from __future__ import annotations

import json
import os
import stat
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tracehouse.cli.errors import UsageError
from tracehouse.cli.serve.access.tokens import (
    FILE_NAME,
    PREFIX,
    Tokens,
    TokenScope,
    create_token,
    read_tokens,
    revoke_token,
)
from tracehouse.warehouse.errors import StoreError


def test_a_secret_finds_its_token_and_is_not_kept(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "lab", scopes=[TokenScope.INGEST], pools=["lab"])
    assert secret.startswith(PREFIX)
    assert len(secret) >= len(PREFIX) + 43
    found = Tokens(tmp_path).find(secret)
    assert found is not None
    assert (found.name, found.scopes, found.pools) == ("lab", (TokenScope.INGEST,), ("lab",))
    kept = (tmp_path / FILE_NAME).read_text()
    assert secret not in kept
    assert secret.removeprefix(PREFIX) not in kept


def test_wrong_secrets_find_no_token(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "lab", scopes=[TokenScope.READ])
    tokens = Tokens(tmp_path)
    for other in ("", PREFIX, secret[:-1], f"{secret}x", secret.upper(), "\udcff\x00"):
        assert tokens.find(other) is None


def test_the_file_is_its_owner_s_and_so_is_a_store_that_it_begins(tmp_path: Path) -> None:
    store = tmp_path / "new" / "store"
    before = os.umask(0)
    try:
        create_token(store, "lab", scopes=[TokenScope.READ])
    finally:
        os.umask(before)
    assert stat.S_IMODE((store / FILE_NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE(store.stat().st_mode) == 0o700


def test_a_change_by_others_holds_after_the_next_refresh(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    assert not tokens.are_needed
    secret = create_token(tmp_path, "lab", scopes=[TokenScope.READ])
    tokens.refresh()
    assert tokens.are_needed
    assert tokens.find(secret)
    revoke_token(tmp_path, "lab")
    tokens.refresh()
    assert tokens.find(secret) is None


@pytest.mark.parametrize("is_deleted", [False, True])
def test_tokens_stay_needed_when_the_last_is_gone(tmp_path: Path, is_deleted: bool) -> None:
    create_token(tmp_path, "lab", scopes=[TokenScope.READ])
    tokens = Tokens(tmp_path)
    if is_deleted:
        (tmp_path / FILE_NAME).unlink()
    else:
        revoke_token(tmp_path, "lab")
    tokens.refresh()
    assert tokens.are_needed
    assert Tokens(tmp_path).are_needed != is_deleted


def test_a_damaged_token_file_refuses_all_tokens_until_it_is_restored(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "lab", scopes=[TokenScope.READ])
    tokens, whole = Tokens(tmp_path), (tmp_path / FILE_NAME).read_bytes()
    for damaged in (whole[:-9], b"", b"{}", whole.replace(b'"read"', b'"all"')):
        (tmp_path / FILE_NAME).write_bytes(damaged)
        for _ in range(2):
            with pytest.raises(StoreError, match="is invalid; restore the file"):
                tokens.refresh()
            assert tokens.are_needed
            assert tokens.find(secret) is None
        with pytest.raises(StoreError, match=FILE_NAME):
            create_token(tmp_path, "other", scopes=[TokenScope.READ])
    (tmp_path / FILE_NAME).write_bytes(whole)
    tokens.refresh()
    assert tokens.find(secret)


def test_a_name_is_given_once_and_revoked_once(tmp_path: Path) -> None:
    create_token(tmp_path, "lab", scopes=[TokenScope.READ])
    with pytest.raises(StoreError, match="has a token 'lab'; revoke it first"):
        create_token(tmp_path, "lab", scopes=[TokenScope.READ])
    revoke_token(tmp_path, "lab")
    with pytest.raises(StoreError, match="has no token 'lab'; 'tracehouse token list' lists"):
        revoke_token(tmp_path, "lab")
    assert read_tokens(tmp_path) == []


@pytest.mark.parametrize("scope", ["sql", "triage", "upkeep", "admin"])
def test_a_token_limited_to_pools_cannot_have_a_scope_that_sees_all(
    tmp_path: Path, scope: str
) -> None:
    scopes = [TokenScope.READ, TokenScope(scope)]
    with pytest.raises(UsageError, match=f"--pool: {scope}: wanted ingest or read"):
        create_token(tmp_path, "lab", scopes=scopes, pools=["lab"])


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 65, "a\n"])
def test_a_name_that_would_not_stand_in_a_log_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="name: wanted 1 to 64 of"):
        create_token(tmp_path, name, scopes=[TokenScope.READ])


def test_a_token_expires_at_the_stated_time(tmp_path: Path) -> None:
    create_token(tmp_path, "lab", scopes=[TokenScope.READ], expires_days=3)
    create_token(tmp_path, "ever", scopes=[TokenScope.READ])
    lab, ever = read_tokens(tmp_path)
    now = datetime.now(UTC)
    assert not lab.is_expired(now + timedelta(days=2, hours=23))
    assert lab.is_expired(now + timedelta(days=3))
    assert not ever.is_expired(now + timedelta(days=36500))


def test_tokens_made_at_once_are_all_kept(tmp_path: Path) -> None:
    def make(number: int) -> str:
        return create_token(tmp_path, f"t{number}", scopes=[TokenScope.READ])

    with ThreadPoolExecutor(4) as threads:
        secrets = list(threads.map(make, range(12)))
    tokens = Tokens(tmp_path)
    assert [token and token.name for token in map(tokens.find, secrets)] == [
        f"t{number}" for number in range(12)
    ]


def test_a_file_left_behind_by_a_kill_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "tokens.new").write_text("{")
    create_token(tmp_path, "lab", scopes=[TokenScope.READ])
    assert json.loads((tmp_path / FILE_NAME).read_text())["tokens"][0]["name"] == "lab"


def test_pools_of_a_token_are_spelt_as_in_stores_and_not_blank(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Büro") for form in ("NFC", "NFD"))
    create_token(tmp_path, "lab", scopes=[TokenScope.READ], pools=[decomposed])
    assert [token.pools for token in read_tokens(tmp_path)] == [(composed,)]
    with pytest.raises(UsageError, match="--pool: is empty"):
        create_token(tmp_path, "any", scopes=[TokenScope.READ], pools=[" "])
