"""Who may what: bearer tokens with scopes, which each route asks for."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from starlette.requests import HTTPConnection


class Scope(StrEnum):
    """What a token lets its bearer do."""

    INGEST = "ingest"
    READ = "read"
    SQL = "sql"
    ADMIN = "admin"


class Bearer(NamedTuple):
    """Who asks.

    Attributes:
        name: The token's name, for the audit log; empty where no token is needed.
        scopes: What they may do.
        pools: Device pools that they are limited to; None for all.
    """

    name: str
    scopes: frozenset[Scope]
    pools: frozenset[str] | None = None


ANYBODY = Bearer("", frozenset(Scope))


class Access:
    """Tells who asks; without tokens, anybody who reaches the service may do everything."""

    def __init__(self, store: Path) -> None:
        """Read the tokens of a store."""
        self._store = store

    def need(self, request: HTTPConnection, scope: Scope) -> Bearer:
        """Who asks, if they may do that.

        Raises:
            Problem: 401 without a token that is known, 403 if it lacks the scope.
        """
        return ANYBODY
