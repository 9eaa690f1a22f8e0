"""Authorization: each route needs a token with a certain scope, which may be for some pools."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from glob import escape
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from tracehouse.cli.serve.access.tokens import Tokens, TokenScope
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.schemas.attributes import compose
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.recording import current_user

ALL_POOLS_ONLY = "covers all device pools, but the token is limited to some"
_ANY = "SELECT device_id FROM devices LIMIT 1"
_EVERY = "*"  # glob

Scope = TokenScope
COOKIE = "tracehouse"  # has the token of the page's login
MAKE_ONE = "tracehouse token create NAME --scope admin"
_SAFE = {"GET", "HEAD", "OPTIONS"}
_PORT = re.compile(r":\d*$")
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="tracehouse"'}
# A proxy adds these headers; clients behind it are on other machines.
_PROXY_HEADERS = (
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
)  # fmt: skip
# All headers by which a client is identified.
CLIENT_HEADERS = (
    *("authorization", "cookie", "host", "origin", "sec-fetch-site", "sec-fetch-mode"),
    *_PROXY_HEADERS,
)


def need_all_pools(bearer: Bearer, what: str) -> None:
    """Check that a client is not limited to some pools.

    Raises:
        Problem: 403 if the client is limited.
    """
    if bearer.pools is not None:
        raise Problem(403, "pool", f"{what} {ALL_POOLS_ONLY}")


def check_pool(bearer: Bearer, pool: str | None) -> None:
    """Check that a client may send dumps of a device pool.

    Raises:
        Problem: 403 if the client may not.
    """
    if bearer.pools is not None and pool not in bearer.pools:
        detail = f"device.pool: found {pool!r}, wanted {', '.join(sorted(bearer.pools))}"
        raise Problem(403, "pool", detail)


def pool_of(manifest: str) -> str | None:
    """The device pool in a manifest, given as canonical JSON."""
    return Manifest.model_validate_json(manifest).device.pool


def choose_pools(pools: Collection[str], named: Sequence[str]) -> Sequence[str]:
    """The pools of a query by a client that is limited to some: those it names, else all it sees.

    The client's reader shows no others. Named pools tell a query that its answer is about pools.

    Raises:
        Problem: 403 if the client names another pool.
    """
    names, given = ", ".join(sorted(pools)), list(map(compose, named))
    if not set(pools).issuperset(given):
        raise Problem(403, "pool", f"pool: the token is limited to {names}")
    return list(map(escape, given)) or [_EVERY]


def check_data(reader: Store, pools: Collection[str]) -> None:
    """Check that there are dumps of the device pools that a reader is limited to.

    Raises:
        Problem: 404 if there are none.
    """
    if not reader.sql(_ANY).num_rows:
        names = ", ".join(sorted(pools))
        detail = f"no dumps yet of the pools that the token may see: {names}"
        raise Problem(404, "no_data", detail)


class Unauthorized(Problem):
    """A request without a valid token."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(401, reason, detail, headers=_CHALLENGE)


class Bearer(NamedTuple):
    """A client.

    Attributes:
        name: Name of the token, for the audit log; empty if no token is needed.
        scopes: What the client may do.
        pools: Device pools that the client is limited to; None for all.
    """

    name: str
    scopes: frozenset[Scope]
    pools: frozenset[str] | None = None


ANYONE = Bearer("", frozenset(Scope))


class Access:
    """Identifies clients; without tokens, every user of this machine has every right.

    Attributes:
        key: Secret of the store's owner, who has every right, for commands on this machine.
    """

    def __init__(self, store: Path) -> None:
        """Read the tokens of a store.

        Raises:
            StoreError: The tokens cannot be read.
        """
        self._store, self._tokens = store, Tokens(store)
        self.key = secrets.token_urlsafe(32)

    def check_start(self, host: str) -> None:
        """Check that a service may listen on an address.

        Raises:
            StoreError: Other machines reach the address, and there are no tokens.
        """
        if not (self._tokens.are_needed or is_loopback(host)):
            raise StoreError(
                str(self._store),
                f"a service on {host} is open to other machines, and there are no tokens; make "
                f"one with '{MAKE_ONE} --store {self._store}', or listen on 127.0.0.1",
            )

    def need(self, request: HTTPConnection, *scopes: Scope) -> Bearer:
        """The client, if it has one of the scopes; also stored in the request's state as `bearer`.

        Raises:
            Unauthorized: 401 without a valid token.
            Problem: 403 without such a scope, or if the request is from a page of another site.
            StoreError: The tokens cannot be read.
        """
        bearer = request.state.bearer = self.identify(request)
        if bearer.scopes.isdisjoint(scopes):
            has = ", ".join(sorted(bearer.scopes))
            problem = f"the token '{bearer.name}' has no scope {' or '.join(scopes)}, only {has}"
            raise Problem(403, "no_scope", problem)
        return bearer

    def identify(self, request: HTTPConnection) -> Bearer:
        """The client of a request; see `need`.

        Raises:
            Unauthorized: 401 without a valid token.
            Problem: 403 if the request is from a page of another site.
            StoreError: The tokens cannot be read.
        """
        self._tokens.refresh()
        if not self._tokens.are_needed:
            _check_local(request.headers)
            check_origin(request, is_cookie=False)
            return ANYONE
        secret = _bearer_secret(request.headers)
        if secret is None and (secret := cookie_secret(request.headers)) is not None:
            check_origin(request, is_cookie=True)
        if secret is None:
            raise Unauthorized("no_token", "send a token: 'Authorization: Bearer SECRET'")
        return self.bearer_of(secret)

    def bearer_of(self, secret: str) -> Bearer:
        """The client that has a secret.

        Raises:
            Unauthorized: The secret is unknown, or its token was revoked or has expired.
            StoreError: The tokens cannot be read.
        """
        self._tokens.refresh()
        if hmac.compare_digest(secret.encode("utf-8", "surrogateescape"), self.key.encode()):
            return Bearer(current_user(), frozenset(Scope))
        token = self._tokens.find(secret)
        if token is None:
            raise Unauthorized("unknown_token", "there is no such token, or it was revoked")
        if token.is_expired(datetime.now(UTC)):
            raise Unauthorized("expired_token", f"the token '{token.name}' has expired")
        scopes = frozenset(Scope if Scope.ADMIN in token.scopes else token.scopes)
        pools = None if token.pools is None else frozenset(token.pools)
        return Bearer(token.name, scopes, pools)


def is_loopback(host: str) -> bool:
    """Whether an address or a name is of this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "farm")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _bearer_secret(headers: Mapping[str, str]) -> str | None:
    given = headers.get("authorization")
    if given is None:
        return None
    kind, _, secret = given.partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise Unauthorized("no_token", "wanted 'Authorization: Bearer SECRET'")
    return secret.strip()


def cookie_secret(headers: Headers) -> str | None:
    """The secret in the cookie of the page's login; None without one.

    The standard library would take the square of the length to unquote a cookie.
    """
    for header in headers.getlist("cookie"):
        for cookie in header.split(";"):
            name, _, value = cookie.strip().partition("=")
            if name == COOKIE:
                return value
    return None


def _check_local(headers: Mapping[str, str]) -> None:
    # A page whose name resolves to this machine has another host.
    host = _PORT.sub("", headers.get("host", ""))
    if not is_loopback(host) or any(name in headers for name in _PROXY_HEADERS):
        problem = f"without tokens only this machine is served; make a token with '{MAKE_ONE}'"
        raise Problem(403, "not_local", problem)


def check_origin(request: HTTPConnection, *, is_cookie: bool) -> None:
    """Check that the request is not from a page of another site, unless it follows a link.

    Raises:
        Problem: 403 if it is.
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
        problem = "the request comes from a page of another site; send a token instead"
        raise Problem(403, "other_site", problem)
