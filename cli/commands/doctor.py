"""`tracehouse doctor`: versions, confinement, and whether the store can be used."""

from __future__ import annotations

from tracehouse.cli.options import DEFAULT_STORE, StorePath
from tracehouse.cli.output.options import OutputOptions


def doctor(store: StorePath = DEFAULT_STORE, *, options: OutputOptions) -> None:
    """Check versions, optional packages, confinement of child processes, and the store.

    Each line's status is ok, missing (an optional package, a layer that the system does not have,
    or a store not yet created) or wrong. Nothing is changed.
    """
    from tracehouse.cli.health import find_health

    options.write_rows(finding._asdict() for finding in find_health(store))
