"""Tokens of a store, which give access to its service; stored in a file of its folder.

A secret is 256 random bits, so the file has its plain SHA-256: a slow password hash would not
protect it better, and would delay every request.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from tracehouse.cli.errors import UsageError
from tracehouse.ingest.durable import lock, replacing
from tracehouse.ingest.schemas.attributes import compose
from tracehouse.warehouse.engine.store_file import make_folder
from tracehouse.warehouse.errors import StoreError, write_errors

FILE_NAME = "tokens.json"
PREFIX = "tracehouse_"  # scanners of public code recognise secrets by it
_LOCK_NAME = "tokens.lock"
_CHECK = "check the path and its permissions"
_MODE = 0o600  # both files
_NAME = r"^[A-Za-z0-9._-]{1,64}$"


class TokenScope(StrEnum):
    """A permission of a token's bearer."""

    INGEST = "ingest"
    READ = "read"
    SQL = "sql"
    TRIAGE = "triage"
    UPKEEP = "upkeep"
    ADMIN = "admin"


class Token(BaseModel):
    """One token, without its secret.

    Attributes:
        name: Name in lists and in the audit log.
        sha256: SHA-256 of the secret.
        scopes: What the bearer may do; admin is everything.
        pools: Device pools that the bearer is limited to; None for all.
        created_at: When the token was made.
        expires_at: When the token expires; None for never.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=_NAME)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: Annotated[tuple[TokenScope, ...], Field(min_length=1)]
    pools: tuple[str, ...] | None
    created_at: AwareDatetime
    expires_at: AwareDatetime | None

    def is_expired(self, now: datetime) -> bool:
        """Whether the token has expired."""
        return self.expires_at is not None and now >= self.expires_at


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tokens: list[Token]


class Tokens:
    """The tokens of a store; changes by other processes apply from the next request on.

    Attributes:
        are_needed: Whether the store has or had any tokens. Revoking the last token does not open
            the service; to open it, delete the file and restart the service.
    """

    def __init__(self, store: Path) -> None:
        """Read the tokens of a store.

        Raises:
            StoreError: The tokens cannot be read.
        """
        self._file = store / FILE_NAME
        self._seen: tuple[int, ...] | None = None
        self._tokens: Sequence[Token] = ()
        self.are_needed = False
        self.refresh()

    def refresh(self) -> None:
        """Read the tokens again if they have changed.

        Raises:
            StoreError: The tokens cannot be read; access is denied until they can.
        """
        try:
            found = self._file.stat()
        except FileNotFoundError:
            self._seen, self._tokens = None, ()
            return
        except OSError as error:
            raise StoreError(
                str(self._file), f"cannot be read: {error.strerror}; {_CHECK}"
            ) from error
        seen = found.st_ino, found.st_mtime_ns, found.st_size
        if seen != self._seen:
            self._seen, self._tokens, self.are_needed = None, (), True
            self._tokens = read_tokens(self._file.parent)
            self._seen = seen

    def find(self, secret: str) -> Token | None:
        """The token of a secret, even if it has expired; None if it is unknown."""
        digest = _digest(secret)
        found = None
        for token in self._tokens:  # all of them, so that the time reveals nothing
            if hmac.compare_digest(token.sha256, digest):
                found = token
        return found


def read_tokens(store: Path) -> Sequence[Token]:
    """The tokens of a store, in the order in which they were made.

    Raises:
        StoreError: The tokens cannot be read.
    """
    file = store / FILE_NAME
    try:
        return _File.model_validate_json(file.read_bytes()).tokens
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(str(file), f"cannot be read: {error.strerror}; {_CHECK}") from error
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"])) or "JSON"
        problem = f"{place} is invalid; restore the file, or delete it and make new tokens"
        raise StoreError(str(file), problem) from error


def create_token(
    store: Path,
    name: str,
    *,
    scopes: Sequence[TokenScope],
    pools: Sequence[str] = (),
    expires_days: int | None = None,
) -> str:
    """Make a token and return its secret, which is stored nowhere; a missing store is created.

    Raises:
        UsageError: The name is invalid, a pool is empty, or a scope cannot be limited to pools.
        StoreError: The name is taken, or the tokens cannot be written.
    """
    if pools and (wide := set(scopes) - {TokenScope.INGEST, TokenScope.READ}):
        names = ", ".join(sorted(wide))
        raise UsageError(f"--pool: {names}: wanted ingest or read; other scopes are for all pools")
    if not all(pool.strip() for pool in pools):
        raise UsageError("--pool: is empty: name a pool, or leave the option out")
    secret, now = PREFIX + secrets.token_urlsafe(32), datetime.now(UTC).replace(microsecond=0)
    try:
        made = Token(
            name=name,
            sha256=_digest(secret),
            scopes=tuple(dict.fromkeys(scopes)),
            pools=tuple(dict.fromkeys(map(compose, pools))) or None,
            created_at=now,
            expires_at=None if expires_days is None else now + timedelta(days=expires_days),
        )
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        wanted = "at least one" if field == "scopes" else "1 to 64 of A-Z a-z 0-9 . _ -"
        raise UsageError(f"{field}: wanted {wanted}") from error
    make_folder(store, is_shared=False)

    def add(tokens: Sequence[Token]) -> Sequence[Token]:
        if any(token.name == name for token in tokens):
            raise StoreError(str(store), f"has a token '{name}'; revoke it first")
        return [*tokens, made]

    _change(store, add)
    return secret


def revoke_token(store: Path, name: str) -> None:
    """Revoke a token; a running service refuses it from the next request on.

    Raises:
        StoreError: There is no such token, or the tokens cannot be written.
    """

    def remove(tokens: Sequence[Token]) -> Sequence[Token]:
        left = [token for token in tokens if token.name != name]
        if len(left) == len(tokens):
            problem = f"has no token '{name}'; 'tracehouse token list' lists the tokens"
            raise StoreError(str(store), problem)
        return left

    _change(store, remove)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _change(store: Path, change: Callable[[Sequence[Token]], Sequence[Token]]) -> None:
    file = store / FILE_NAME
    with write_errors(str(file)), _lock_tokens(store), replacing(file, _MODE) as unfinished:
        text = _File(tokens=list(change(read_tokens(store)))).model_dump_json(indent=2)
        unfinished.write_text(f"{text}\n", encoding="utf-8")


@contextmanager
def _lock_tokens(store: Path) -> Iterator[None]:
    """Keep other processes from changing the tokens."""
    file = os.open(store / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
    try:
        lock(file)
        yield
    finally:
        os.close(file)
