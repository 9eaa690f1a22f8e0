"""Device pools that a token is limited to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from glob import escape

from tracehouse.cli.serve.access.authorization import Bearer
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.schemas.attributes import compose
from tracehouse.warehouse.store import Store

OF_ALL = "covers all device pools, but the token is limited to some"
_ANY = "SELECT device_id FROM devices LIMIT 1"
_EVERY = "*"  # glob


def need_all_pools(bearer: Bearer, what: str) -> None:
    """Check that a client is not limited to some pools.

    Raises:
        Problem: 403 if the client is limited.
    """
    if bearer.pools is not None:
        raise Problem(403, "pool", f"{what} {OF_ALL}")


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
