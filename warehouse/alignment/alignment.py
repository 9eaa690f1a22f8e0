"""The alignment of two programs: which operator of one is which of the other.

It is a global alignment with affine gaps (Gotoh), as biologists align two proteins. Pairs score by
their names without numbers; what is unlike is never paired. Times only break ties: all of them
together weigh less than half a point. Delegate calls whose operators are known are not items of the
sequence: they are paired by the operators inside, most first, so that an operator may leave a
delegate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import isnan, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.warehouse.alignment.programs import CALL, DELEGATED, KERNEL, Operator, Program

Floats = NDArray[np.float64]

_SAME, _SAME_FAMILY, _ELSEWHERE, _NUMBERED = 10, 7, 5, 5
_SAME_OTHER, _SAME_CALL = 2, 1
_MODULE = 4  # more for the same module, less for another one
_GAP = 2
_FORBIDDEN = -1e6
_TIES = 0.45  # of a point, for all operators together
FLOOR_NS, MOST_RATIO = 1000.0, float(np.log(2.0))  # of times that are compared


def align(
    base: Program, head: Program, times: tuple[Sequence[float], Sequence[float]] | None = None
) -> dict[int, int]:
    """Operators of one program by those of another that they became, all by their indices.

    Args:
        base: The earlier program.
        head: The later one.
        times: The time of each operator of both, in one unit, about ns, if known.
    """
    if base.shape == head.shape:
        return {n: n for n in range(len(base.operators))}
    of_base, of_head = _items(base), _items(head)
    scores = _score(base, of_base, head, of_head)
    ties = _break_ties(times, of_base, of_head) if times else 0.0
    pairs = {
        of_base[row]: of_head[column]
        for row, column in _align_items(scores + ties)
        if scores[row, column] > _FORBIDDEN / 2
    }
    calls = _pair_calls(base, head, pairs)
    return pairs | calls | _pair_moved(base, head, pairs | calls)


def _items(program: Program) -> list[int]:
    """The operators that are aligned in sequence."""
    return [n for n in range(len(program.operators)) if n not in program.contents]


def _score(base: Program, of_base: list[int], head: Program, of_head: list[int]) -> Floats:
    """The score of each pair, computed once for pairs that are alike."""

    def number(program: Program, items: list[int]) -> tuple[list[Operator], list[int]]:
        known: dict[Operator, int] = {}
        kinds: list[Operator] = []
        rows = []
        for item in items:
            operator = program.operators[item]._replace(call=-1)
            if operator not in known:
                known[operator] = len(kinds)
                kinds.append(operator)
            rows.append(known[operator])
        return kinds, rows

    kinds, rows = number(base, of_base)
    others, columns = number(head, of_head)
    scores = np.array([[_score_pair(one, other) for other in others] for one in kinds], float)
    scores = scores.reshape(len(kinds), len(others))
    return scores[np.ix_(rows, columns)]


def _score_pair(one: Operator, other: Operator) -> float:
    kinds = {one.kind, other.kind}
    is_same = one.kind == other.kind and one.name == other.name
    if not kinds <= {KERNEL, DELEGATED}:
        if one.kind == other.kind == CALL:
            return _SAME_CALL
        return _SAME_OTHER if is_same else _FORBIDDEN
    if is_same:
        # An id without a name says nothing: numbers are given anew.
        score = _NUMBERED if one.kind == DELEGATED and one.name.isdigit() else _SAME
    elif one.kind == other.kind == DELEGATED and one.name.isdigit() and other.name.isdigit():
        score = _NUMBERED
    elif one.family == other.family:
        score = _SAME_FAMILY if one.kind == other.kind else _ELSEWHERE
    else:
        return _FORBIDDEN
    if one.module is None or other.module is None:
        return score
    return score + (_MODULE if one.module == other.module else -_MODULE)


def _break_ties(
    times: tuple[Sequence[float], Sequence[float]], of_base: list[int], of_head: list[int]
) -> Floats:
    """Less for times that are farther apart, up to a factor of two; unknown times say nothing."""
    base, head = (
        np.log(np.array(own, float)[items] + FLOOR_NS)
        for own, items in zip(times, (of_base, of_head), strict=True)
    )
    apart = np.minimum(np.abs(base[:, None] - head), MOST_RATIO) / MOST_RATIO
    weight = _TIES / (min(len(of_base), len(of_head)) + 1)
    ties: Floats = -np.nan_to_num(apart) * weight
    return ties


def _align_items(scores: Floats) -> list[tuple[int, int]]:
    """The pairs of the best alignment, whose scores are computed a row at a time.

    `best[k]` ends in a pair (0), in an item of the base alone (1), or of the head alone (2). The
    last is a running maximum, because a gap costs the same however long it is.
    """
    height, width = scores.shape
    best = np.full((3, height + 1, width + 1), -1e9)
    best[0, 0, 0] = 0.0
    best[2, 0, 1:] = -_GAP
    for row in range(1, height + 1):
        paired, left, right = best[:, row - 1]
        best[0, row, 1:] = np.maximum(np.maximum(paired, left), right)[:-1] + scores[row - 1]
        best[1, row] = np.maximum(np.maximum(paired, right) - _GAP, left)
        opened = np.maximum(best[0, row], best[1, row])
        best[2, row, 1:] = np.maximum.accumulate(opened)[:-1] - _GAP
    pairs = []
    row, column = height, width
    state = int(np.argmax(best[:, row, column]))
    while row or column:
        if state == 0:
            row, column = row - 1, column - 1
            pairs.append((row, column))
            state = int(np.argmax(best[:, row, column]))
            continue
        value = best[state, row, column]
        row, column = (row - 1, column) if state == 1 else (row, column - 1)
        before = best[:, row, column]
        state = next(
            k for k in (state, 0, 3 - state) if before[k] - (k != state) * _GAP >= value - 1e-9
        )
    return pairs[::-1]


def _pair_calls(base: Program, head: Program, pairs: dict[int, int]) -> dict[int, int]:
    """Delegate calls by the aligned operators inside: most first, each call once."""
    votes = Counter(
        (base.operators[one].call, head.operators[other].call) for one, other in pairs.items()
    )
    found: dict[int, int] = {}
    taken: set[int] = set()
    for (one, other), _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])):
        if min(one, other) >= 0 and one not in found and other not in taken:
            found[one] = other
            taken.add(other)
    return found


def _pair_moved(base: Program, head: Program, pairs: dict[int, int]) -> dict[int, int]:
    """Operators that are left over, of a kind, name and module that both have left once."""

    def single(program: Program, taken: set[int]) -> dict[Hashable, int]:
        own = [
            (each._replace(call=-1), n)
            for n, each in enumerate(program.operators)
            if n not in taken and each.kind in (KERNEL, DELEGATED)
        ]
        counts = Counter(key for key, _ in own)
        return {key: n for key, n in own if counts[key] == 1}

    left, right = single(base, set(pairs)), single(head, set(pairs.values()))
    return {n: right[key] for key, n in left.items() if key in right}


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
