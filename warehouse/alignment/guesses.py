"""Operators of which nobody can tell which one is new or gone, as they are alike. Pure.

Names and neighbours say that an operator was inserted among its like, and times which of them it
probably is: an alignment pairs the others so that their times change least. But where another
pairing is likely, too, only the sum over all of them is certain.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import isnan, log
from typing import NamedTuple

from tracehouse.warehouse.alignment.alignment import FLOOR_NS, MOST_RATIO


class Aligned(NamedTuple):
    """An operator of a program that is aligned with another one.

    Attributes:
        key: The same for operators of both programs that are paired.
        like: What operators have in common that only order and time tell apart: kind, name without
            numbers, module.
        ns: Its time; NaN if unknown.
    """

    key: Hashable
    like: Hashable
    ns: float


class Guess(NamedTuple):
    """Like operators next to each other, of which one program has more than the other.

    Attributes:
        base: Their keys in the base, in order.
        head: Their keys in the head.
    """

    base: tuple[Hashable, ...]
    head: tuple[Hashable, ...]


def find_guesses(base: Sequence[Aligned], head: Sequence[Aligned]) -> list[Guess]:
    """The operators of two programs, in their order, whose pairing is a guess."""
    of_base, of_head = ({one.key: one for one in own} for own in (base, head))
    found = []
    for keys in _grow(head, of_base):
        found.append(Guess(tuple(key for key in keys if key in of_base), keys))
    for keys in _grow(base, of_head):
        found.append(Guess(keys, tuple(key for key in keys if key in of_head)))
    return found


def _grow(
    own: Sequence[Aligned], partners: Mapping[Hashable, Aligned]
) -> list[tuple[Hashable, ...]]:
    """Stretches of like operators around those without a partner that may have another one's."""
    alone = [place for place, one in enumerate(own) if one.key not in partners]
    stretches: list[range] = []
    for place in alone:
        if stretches and place in stretches[-1]:
            continue
        stop = _reach(own, partners, place, 1)
        start = _reach(own, partners, place, -1)
        if stretches and stretches[-1].stop > start:
            start = stretches.pop().start
        stretches.append(range(start, stop + 1))
    keys = [tuple(own[place].key for place in stretch) for stretch in stretches]
    return [each for each in keys if any(key in partners for key in each)]


def _reach(
    own: Sequence[Aligned], partners: Mapping[Hashable, Aligned], place: int, step: int
) -> int:
    """How far the partners of the operators after or before a place may be moved towards it."""
    alone = 1  # operators without a partner on the way: so far each pair may move
    while 0 <= place + step < len(own) and own[place + step].like == own[place].like:
        partner = partners.get(own[place + step].key)
        if partner is None:
            alone += 1
        else:
            nearer = (own[place - step * back] for back in range(alone))
            if not any(_is_likely(partner.ns, one.ns) for one in nearer):
                break
        place += step
    return place


def _is_likely(was: float, now: float) -> bool:
    """Whether an operator may have changed so much: by less than a factor of two."""
    if isnan(was) or isnan(now):
        return True
    return abs(log((now + FLOOR_NS) / (was + FLOOR_NS))) < MOST_RATIO
