"""Units of clock ticks and of reported durations, with the Inspector's names. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from fractions import Fraction

from tracehouse.queries.errors import UnconvertibleError
from tracehouse.warehouse.errors import QueryError, suggest


class TimeScale(StrEnum):
    """Unit of a clock's ticks or of reported durations."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


Clock = TimeScale | Fraction  # unit of a tick, or ticks per second

_SLOWEST, _FASTEST = 1e-3, 1e18  # ticks per second
_NS = {TimeScale.NS: 1, TimeScale.US: 10**3, TimeScale.MS: 10**6, TimeScale.S: 10**9}


def target_per_source(source: Clock, target: TimeScale) -> Fraction:
    """Length of a tick of the source in target units.

    Raises:
        UnconvertibleError: Only one of them is cycles.

    >>> target_per_source(TimeScale.NS, TimeScale.MS)
    Fraction(1, 1000000)
    >>> target_per_source(Fraction(24_000_000), TimeScale.US)
    Fraction(1, 24)
    """
    if source == target:
        return Fraction(1)
    if TimeScale.CYCLES in (source, target):
        raise UnconvertibleError(
            f"cannot convert {source} to {target}: cycles have no fixed length, "
            "so give both time scales as cycles or neither"
        )
    if isinstance(source, Fraction):
        return Fraction(_NS[TimeScale.S], _NS[target]) / source
    return Fraction(_NS[source], _NS[target])


def parse_clock(text: str) -> Clock:
    """The runtime's clock.

    Raises:
        QueryError: The text is neither a unit nor a number of ticks per second.
    """
    return _parse_clock(text, "clock", "us or 19200000")


def parse_delegate_clocks(text: str) -> dict[str, Clock]:
    """Clocks by backend; a clock without a backend is under "" and applies to all others.

    Raises:
        QueryError: A clock is neither a unit nor a number of ticks per second.

    >>> parse_delegate_clocks("us,HexagonBackend=19.2e6")
    {'': <TimeScale.US: 'us'>, 'HexagonBackend': Fraction(19200000, 1)}
    """
    clocks = {}
    examples = "us or XnnpackBackend=us or HexagonBackend=19200000"
    for part in text.split(",") if text.strip() else ():
        backend, _, clock = part.rpartition("=")
        clocks[backend.strip()] = _parse_clock(clock, "delegate clock", examples)
    return clocks


def _parse_clock(text: str, what: str, examples: str) -> Clock:
    stripped = text.strip()
    if stripped.lower() in list(TimeScale):
        return TimeScale(stripped.lower())
    try:
        is_rate = _SLOWEST <= float(stripped) <= _FASTEST
    except ValueError:
        is_rate = False
    if not is_rate:
        units = ", ".join(TimeScale)
        raise QueryError(
            f"{what} '{stripped}': wanted {units} or ticks per second, such as {examples}"
        )
    return Fraction(stripped)


def check_backends(stated: Collection[str], found: Iterable[str | None]) -> None:
    """Check that the backends of clocks ("" stands for all others) are those of some events.

    Raises:
        QueryError: No event ran on a clock's backend.
    """
    known = sorted(filter(None, set(found)))
    for backend in sorted({*stated} - {"", *known}):
        others = suggest(backend, known)
        raise QueryError(f"delegate clock of {backend}: no event ran on it{others}")
