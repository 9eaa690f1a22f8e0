"""Device pools that a token is limited to: what may be asked with it, and what is told."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from http import HTTPStatus

from cli.serve.access.authorization import Bearer
from cli.serve.http.problems import Problem
from ingest.manifest.models import Manifest
from warehouse.errors import ParameterError
from warehouse.store import Warehouse

OF_ALL = "tells of all device pools, and the token is limited to some"
_POOLS = "SELECT DISTINCT pool FROM devices WHERE pool IS NOT NULL"


def need_all_pools(bearer: Bearer, what: str) -> None:
    """Pass if a bearer is not limited to some pools.

    Raises:
        Problem: 403; they are.
    """
    if bearer.pools is not None:
        raise Problem(HTTPStatus.FORBIDDEN, "pool", f"{what} {OF_ALL}")


def check_pool(bearer: Bearer, pool: str | None) -> None:
    """Pass if somebody may send dumps of a device pool.

    Raises:
        Problem: They may not.
    """
    if bearer.pools is not None and pool not in bearer.pools:
        detail = f"device.pool: found {pool!r}, wanted {', '.join(sorted(bearer.pools))}"
        raise Problem(HTTPStatus.FORBIDDEN, "pool", detail)


def pool_of(manifest: str) -> str | None:
    """The device pool in a manifest, which is canonical JSON."""
    return Manifest.model_validate_json(manifest).device.pool


def pools_to_ask(reader: Warehouse, pools: Collection[str], given: Sequence[str]) -> list[str]:
    """The pools that a question is limited to, as globs of their names alone.

    Args:
        reader: The store.
        pools: Those of the bearer.
        given: Those that the question names; if none, all of theirs that have devices.

    Raises:
        Problem: 403; it names others. Or 404: none of theirs has a device.
    """
    names = ", ".join(sorted(pools))
    if not set(pools).issuperset(given):
        raise Problem(HTTPStatus.FORBIDDEN, "pool", f"pool: the token is limited to {names}")
    there = set(reader.sql(_POOLS)["pool"].to_pylist())
    asked = sorted(there.intersection(given or pools))
    if not asked:
        detail = f"nothing is recorded yet of the pools that the token may see: {names}"
        raise Problem(HTTPStatus.NOT_FOUND, "no_data", detail)
    return list(map(escape, asked))


@contextmanager
def hiding_names(pools: Collection[str] | None) -> Iterator[None]:
    """Let whoever is limited to some pools learn no names of others.

    Raises:
        Problem: 400; a name is none, told without those that there are.
        ParameterError: The same, for whoever is not limited.
    """
    try:
        yield
    except ParameterError as error:
        if pools is None:
            raise
        detail = str(error).partition("; ")[0]
        raise Problem(HTTPStatus.BAD_REQUEST, "refused", detail) from error
