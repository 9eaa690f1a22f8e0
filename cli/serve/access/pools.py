"""Device pools that a token is limited to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from glob import escape

from cli.serve.access.authorization import Bearer
from cli.serve.http.problems import Problem
from ingest.manifest.models import Manifest
from ingest.schemas.attributes import compose
from warehouse.errors import ParameterError
from warehouse.store import Warehouse

OF_ALL = "covers all device pools, but the token is limited to some"
_POOLS = "SELECT DISTINCT pool FROM devices WHERE pool IS NOT NULL"


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


def allowed_pools(reader: Warehouse, pools: Collection[str], given: Sequence[str]) -> list[str]:
    """Globs that match exactly the names of the pools that a query is limited to.

    The query names the pools `given`; without any, all of the client's that have devices.

    Raises:
        Problem: 403 if the query names other pools; 404 if the pools have no devices.
    """
    names, given = ", ".join(sorted(pools)), list(map(compose, given))
    if not set(pools).issuperset(given):
        raise Problem(403, "pool", f"pool: the token is limited to {names}")
    known = set(reader.sql(_POOLS)["pool"].to_pylist())
    wanted = sorted(known.intersection(given or pools))
    if not wanted:
        detail = f"no dumps yet of the pools that the token may see: {names}"
        raise Problem(404, "no_data", detail)
    return list(map(escape, wanted))


@contextmanager
def hiding_names(pools: Collection[str] | None) -> Iterator[None]:
    """Keep the names in other pools out of errors, for clients that are limited to some pools.

    Raises:
        Problem: 400 if a name is unknown.
        ParameterError: The same, for clients without a limit; it lists the known names.
    """
    try:
        yield
    except ParameterError as error:
        if pools is None:
            raise
        detail = str(error).partition("; ")[0]
        raise Problem(400, "refused", detail) from error
