"""How much may be made of an input. Pure.

A few bytes can stand for many: a text that every row repeats, a list that many events share. What
is made of an input is therefore charged before it is made, in bytes as it is written out, and what
would take more than so many bytes per byte of the input is refused.
"""

from __future__ import annotations


class AllowanceError(ValueError):
    """More would be made of an input than may be."""


class Allowance:
    """What may still be made."""

    def __init__(self, most: int, wanted: str) -> None:
        """Begin with `most`; `wanted` completes a sentence on what takes more: "of its rows"."""
        self.most = most
        self.taken = 0
        self._wanted = wanted

    def grant(self, amount: int) -> None:
        """Let more be taken."""
        self.most += amount

    def take(self, amount: int) -> None:
        """Charge this much.

        Raises:
            AllowanceError: It is more than there is left.
        """
        if amount > self.most - self.taken:
            raise AllowanceError(f"would take more than {self.most:,} {self._wanted}")
        self.taken += amount
