"""Amounts as people write them in settings: 10 ms, 20 MB, 30 /s, 80 %."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import NamedTuple

_UNITS: dict[str, tuple[str, float]] = {
    "ns": ("ns", 1.0),
    "us": ("ns", 1e3),
    "µs": ("ns", 1e3),
    "ms": ("ns", 1e6),
    "s": ("ns", 1e9),
    "B": ("bytes", 1.0),
    "bytes": ("bytes", 1.0),
    "KB": ("bytes", 1e3),
    "MB": ("bytes", 1e6),
    "GB": ("bytes", 1e9),
    "KiB": ("bytes", 2.0**10),
    "MiB": ("bytes", 2.0**20),
    "GiB": ("bytes", 2.0**30),
    "%": ("share", 0.01),
    "/s": ("/s", 1.0),
}
_WRITTEN = re.compile(r"\s*([0-9_.,eE+-]+?)\s*([^\d\s.,+-][^\d]*)?\s*")


def in_base_unit(value: float, unit: str) -> tuple[float, str]:
    """A value in ns, bytes, a share or /s if its unit is of such a kind; otherwise unchanged.

    >>> in_base_unit(2, "mb"), in_base_unit(3, "mJ")
    ((2000000.0, 'bytes'), (3.0, 'mJ'))
    >>> in_base_unit(57, "%")
    (0.57, 'share')
    """
    known, factor = _UNITS.get(unit) or _UNITS.get(unit.upper()) or (unit, 1.0)
    return float(Decimal(repr(float(value))) * Decimal(repr(factor))), known


class Amount(NamedTuple):
    """A value and its unit: ns, bytes, share, /s or another; None for a plain number."""

    value: float
    unit: str | None


def parse_amount(value: object) -> Amount:
    """An amount as settings state it, a number or a text.

    >>> parse_amount("2.5 ms"), parse_amount("80 mJ")
    (Amount(value=2500000.0, unit='ns'), Amount(value=80.0, unit='mJ'))
    >>> parse_amount("20 MiB"), parse_amount(12)
    (Amount(value=20971520.0, unit='bytes'), Amount(value=12.0, unit=None))

    Raises:
        ValueError: The value is not an amount.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        number, unit = float(value), None
    else:
        written = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
        try:
            number = float(written[1].replace(",", "")) if written else math.nan
        except ValueError:
            number = math.nan
        unit = written[2].strip() if written and written[2] else None
    if not math.isfinite(number):
        raise ValueError("wanted a number with its unit, e.g. '10 ms', '20 MB', '30 /s' or '80 %'")
    return Amount(number, None) if unit is None else Amount(*in_base_unit(number, unit))
