"""A limit on how much output an input may produce. Pure.

A few bytes can expand to many: a text that every row repeats, a list that many events share. Output
is therefore charged, in bytes, before it is created, and refused beyond a limit that depends on the
size of the input.
"""

from __future__ import annotations


class AllowanceError(ValueError):
    """An input would produce too much output."""


class Allowance:
    """How much output may still be produced."""

    def __init__(self, most: int, wanted: str) -> None:
        """Allow `most`; `wanted` completes the error message, for example "bytes of rows"."""
        self.most = most
        self.taken = 0
        self._wanted = wanted

    def grant(self, amount: int) -> None:
        """Raise the limit."""
        self.most += amount

    def take(self, amount: int) -> None:
        """Charge an amount.

        Raises:
            AllowanceError: The amount exceeds what is left.
        """
        if amount > self.most - self.taken:
            raise AllowanceError(f"would take more than {self.most:,} {self._wanted}")
        self.taken += amount
