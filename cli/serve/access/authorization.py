"""Who may what: tokens with scopes, which each route asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from starlette.requests import HTTPConnection

from cli.serve.access.tokens import Tokens, TokenScope
from cli.serve.http.problems import Problem
from warehouse.errors import StoreError

Scope = TokenScope  # as routes call it
COOKIE = "tracehouse"  # in which the page's login keeps its token
MAKE_ONE = "tracehouse token create NAME --scope admin"
_SAFE = {"GET", "HEAD", "OPTIONS"}
_PORT = re.compile(r":\d*$")
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="tracehouse"'}
# What a proxy adds: who stands behind one does not reach the service from this machine.
_OF_PROXIES = (
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
)  # fmt: skip


class Unauthorized(Problem):
    """A request without a token that holds."""

    def __init__(self, reason: str, detail: str) -> None:
        """Say what is wrong, and that a token is wanted."""
        super().__init__(HTTPStatus.UNAUTHORIZED, reason, detail, headers=_CHALLENGE)


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
    """Tells who asks; without tokens, anybody on this machine may do everything."""

    def __init__(self, store: Path) -> None:
        """Read the tokens of a store.

        Raises:
            StoreError: They cannot be read.
        """
        self._store, self._tokens = store, Tokens(store)

    def check_start(self, host: str) -> None:
        """Pass if a service may listen on that address.

        Raises:
            StoreError: Others reach it, and there are no tokens.
        """
        if not (self._tokens.are_needed or is_loopback(host)):
            raise StoreError(
                str(self._store),
                f"a service on {host} is open to others, and there are no tokens; make one with "
                f"'{MAKE_ONE} --store {self._store}', or listen on 127.0.0.1",
            )

    def need(self, request: HTTPConnection, *scopes: Scope) -> Bearer:
        """Who asks, if they have one of the scopes; the request's state keeps it as `bearer`.

        Raises:
            Unauthorized: 401 without a token that holds.
            Problem: 403 if it has none of the scopes, or a page of another site asks.
            StoreError: The tokens cannot be read.
        """
        bearer = request.state.bearer = self.identify(request)
        if bearer.scopes.isdisjoint(scopes):
            has = ", ".join(sorted(bearer.scopes))
            problem = f"the token '{bearer.name}' has no scope {' or '.join(scopes)}, only {has}"
            raise Problem(HTTPStatus.FORBIDDEN, "no_scope", problem)
        return bearer

    def identify(self, request: HTTPConnection) -> Bearer:
        """Who asks; see `need`.

        Raises:
            Unauthorized: 401 without a token that holds.
            Problem: 403 if a page of another site asks.
            StoreError: The tokens cannot be read.
        """
        self._tokens.refresh()
        if not self._tokens.are_needed:
            _check_local(request.headers)
            check_origin(request, is_cookie=False)
            return ANYBODY
        secret = _bearer_secret(request.headers)
        if secret is None and (secret := request.cookies.get(COOKIE)) is not None:
            check_origin(request, is_cookie=True)
        if secret is None:
            raise Unauthorized("no_token", "send a token: 'Authorization: Bearer SECRET'")
        return self._bearer_of(secret)

    def bearer_of(self, secret: str) -> Bearer:
        """Who has that secret now.

        Raises:
            Unauthorized: Nobody has, or not any more.
            StoreError: The tokens cannot be read.
        """
        self._tokens.refresh()
        return self._bearer_of(secret)

    def _bearer_of(self, secret: str) -> Bearer:
        token = self._tokens.find(secret)
        if token is None:
            raise Unauthorized("unknown_token", "there is no such token, or it was revoked")
        if token.is_expired(datetime.now(UTC)):
            raise Unauthorized("expired_token", f"the token '{token.name}' has expired")
        scopes = frozenset(Scope if Scope.ADMIN in token.scopes else token.scopes)
        pools = None if token.pools is None else frozenset(token.pools)
        return Bearer(token.name, scopes, pools)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that address, or calls itself by that name.

    >>> [is_loopback(host) for host in ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "farm")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _bearer_secret(headers: Mapping[str, str]) -> str | None:
    """The secret of a header Authorization.

    Raises:
        Unauthorized: It is of another kind.
    """
    given = headers.get("authorization")
    if given is None:
        return None
    kind, _, secret = given.partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise Unauthorized("no_token", "wanted 'Authorization: Bearer SECRET'")
    return secret.strip()


def _check_local(headers: Mapping[str, str]) -> None:
    """Pass if who asks is on this machine, and no page that has its name resolved to it.

    Raises:
        Problem: 403.
    """
    host = _PORT.sub("", headers.get("host", ""))
    if not is_loopback(host) or any(name in headers for name in _OF_PROXIES):
        problem = f"without tokens only this machine is served; make one with '{MAKE_ONE}'"
        raise Problem(HTTPStatus.FORBIDDEN, "not_local", problem)


def check_origin(request: HTTPConnection, *, is_cookie: bool) -> None:
    """Pass unless a page of another site asks, but for a link to follow.

    Raises:
        Problem: 403.
    """
    headers = request.headers
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    is_ours = site in {None, "same-origin", "none"}
    if request.scope.get("method") in _SAFE:
        is_ours = is_ours or headers.get("sec-fetch-mode") == "navigate"
    else:
        host = None if origin is None else origin.partition("://")[2]
        is_ours = is_ours and host in {None, headers.get("host")}
        is_ours = is_ours and not (is_cookie and site is None and origin is None)
    if not is_ours:
        problem = "a page of another site may do nothing here; send a token instead"
        raise Problem(HTTPStatus.FORBIDDEN, "other_site", problem)
