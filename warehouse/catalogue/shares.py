"""Shares in user input: 0.05 and 5% are the same; pure."""

from __future__ import annotations

import math


class ShareError(ValueError):
    """A text is not a share, or is ambiguous."""


def parse_share(text: str) -> float:
    """The share in a text, which is a number or in percent.

    Raises:
        ShareError: The text is neither, or is a plain number of 1 or more, which would be 100 % or
            more but is probably meant as percent.

    >>> parse_share("0.05"), parse_share("5%"), parse_share("150 %")
    (0.05, 0.05, 1.5)
    """
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if rest or not math.isfinite(value):
        raise ShareError(f"{text!r}, wanted a share such as 5% or 0.05")
    if not percent and abs(value) >= 1:
        given = number.strip()
        raise ShareError(
            f"{text!r} would be {100 * value:,g} %: write {given}%, or {100 * value:g}% if you "
            "mean that"
        )
    return value
