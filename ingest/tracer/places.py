"""The chain and instruction of an event, as dumps store them. Pure."""

from __future__ import annotations

from operator import index
from typing import NamedTuple, SupportsIndex

from tracehouse.ingest.errors import UnwritableError


def whole(what: str, number: SupportsIndex, low: int, stop: int) -> int:
    """The number as an integer of a field's range.

    Raises:
        UnwritableError: The number is not an integer, below `low`, or not below `stop`.
    """
    try:
        integer = index(number)
    except TypeError:
        integer = stop
    if not low <= integer < stop:
        raise UnwritableError(
            f"{what}: found {number!r}, wanted an integer from {low} to {stop - 1}"
        )
    return integer


class InstructionPlace(NamedTuple):
    """The instruction of an event; the defaults are for events outside of instructions."""

    chain: int = -1
    instruction: int = 0

    @classmethod
    def of(cls, chain: int, instruction: int) -> InstructionPlace:
        """The place as dumps store it: handles are unsigned in the runtime, but signed in a dump.

        Raises:
            UnwritableError: A number is out of range.
        """
        handle = whole("instruction", instruction, -(2**31), 2**32)
        signed = handle - 2**32 if handle >= 2**31 else handle
        return cls(whole("chain", chain, -(2**31), 2**31), signed)

    @property
    def handle(self) -> int:
        """The instruction as in the runtime, unsigned."""
        return self.instruction % 2**32
