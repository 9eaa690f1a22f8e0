"""Rows of the statement fleet_values for the devices of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.fleet_rows import fleet_row
from tests.support.histories import night


def rows(
    levels: Sequence[float | None],
    *,
    device: int = 0,
    pool: str | None = "phones",
    dumps: int = 10,
    noise: float = 0.01,
    **fields: Any,
) -> list[dict[str, Any]]:
    """Nights of an operator on a device, each at its level; of every device another noise."""
    last = len(levels) - 1
    return [
        fleet_row(
            f"b{number}",
            last - number,
            sorted(night(device * 997 + number, level, dumps=dumps, noise=noise)),
            device=f"device-{device:02}",
            pool=pool,
            **fields,
        )
        for number, level in enumerate(levels)
        if level is not None
    ]
