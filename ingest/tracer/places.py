"""Where an event belongs: chain and instruction, as dumps store them. Pure."""

from __future__ import annotations

from operator import index
from typing import NamedTuple, SupportsIndex

from ingest.errors import UnwritableError


def whole(what: str, number: SupportsIndex, low: int, stop: int) -> int:
    """A number that goes into a field.

    Raises:
        UnwritableError: It is not whole, under `low`, or not under `stop`.
    """
    try:
        integer = index(number)
    except TypeError:
        integer = stop
    if not low <= integer < stop:
        raise UnwritableError(f"{what}: {number!r}, wanted a whole number from {low} to {stop - 1}")
    return integer


class InstructionPlace(NamedTuple):
    """Which instruction an event belongs to; the defaults are those outside instructions."""

    chain: int = -1
    instruction: int = 0

    @classmethod
    def of(cls, chain: int, instruction: int) -> InstructionPlace:
        """The place as dumps store it: handles are unsigned in the runtime, signed in a dump.

        Raises:
            UnwritableError: A number is out of range.
        """
        handle = whole("instruction", instruction, -(2**31), 2**32)
        signed = handle - 2**32 if handle >= 2**31 else handle
        return cls(whole("chain", chain, -(2**31), 2**31), signed)

    @property
    def handle(self) -> int:
        """The instruction as the runtime has it, without sign."""
        return self.instruction % 2**32
