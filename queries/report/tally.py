"""Counts of operators by what is said of them, which add up to all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tracehouse.queries.report.change import Kind, kind_of, kind_of_verdict
from tracehouse.queries.report.content import Group, Member, TallyRow
from tracehouse.queries.report.figures import count_text
from tracehouse.queries.report.parts import Row
from tracehouse.queries.report.verdicts import State
from tracehouse.warehouse.alignment.programs import DELEGATED, KERNEL
from tracehouse.warehouse.regressions.changes import SeriesVerdict

_METHOD = ("device", "model", "backend", "run")
TALLIED = ("level", *_METHOD, "base_count", "head_count", "verdict")  # columns that count
_Word = tuple[Kind, str]
_SERIES = ("device", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
OPERATORS = (KERNEL, DELEGATED)  # kinds
MUTED = (Kind.ACKNOWLEDGED, State.MUTED.label)
_FEW = (Kind.UNSURE, "too few dumps")
_UNJUDGED = {  # what is said of operators by a verdict of the night
    "below_resolution": (Kind.UNSURE, SeriesVerdict.BELOW_RESOLUTION.words),
    "explained_by_run_shift": (Kind.UNSURE, SeriesVerdict.EXPLAINED_BY_RUN_SHIFT.words),
    "needs_more_builds": _FEW,
    "needs_more_dumps": _FEW,
    "no_data": _FEW,
}
_OF_BOTH = ("new_op", "removed_op")  # verdicts that only methods of both builds have


class Tally(NamedTuple):
    """The one count of a page: parts that add up to all; what is zero is left out."""

    noun: str
    parts: Sequence[TallyRow]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(part.size for part in self.parts)

    @property
    def text(self) -> str:
        """The counts in words: '68 operators: 5 slower, 1 faster, 62 unchanged'."""
        parts = ", ".join(f"{part.size:,} {part.word}" for part in self.parts)
        return f"{count_text(self.total, self.noun)}{f': {parts}' if parts else ''}"

    @property
    def bar(self) -> str:
        """The counts as a bar, in the tones of the sheet."""
        from tracehouse.queries.drawing.bars import draw_stack

        return draw_stack([(part.kind, part.size) for part in self.parts], self.text)


class OperatorTally(NamedTuple):
    """Operators of methods that both builds have, by verdict; and the others.

    Attributes:
        counts: The number of operators with each verdict.
        methods: The number of methods that became slower or faster.
        only_base: Operators of methods that only the base has.
        only_head: Operators of methods that only the head has.
    """

    counts: Counter[SeriesVerdict]
    methods: Counter[SeriesVerdict]
    only_base: int
    only_head: int

    @property
    def total(self) -> int:
        """The number of operators of methods that both builds have."""
        return self.counts.total()

    @property
    def tally(self) -> Tally:
        """The counts in the order of the verdicts; they add up to `total`."""
        return Tally(
            "operator",
            [
                TallyRow(
                    kind=kind_of_verdict(verdict).value,
                    word=verdict.words,
                    size=self.counts[verdict],
                )
                for verdict in SeriesVerdict
                if self.counts[verdict]
            ],
        )


def tally_night(
    counts: Mapping[str, int], groups: Iterable[Group], head: str, *, muted: int = 0
) -> list[TallyRow]:
    """The operators of a head by what is said of them; `counts` are those by verdict of its night.

    An operator in an alert counts there, in the first kind that applies; alerts that are fixed do
    not count. `muted` ones are in no alert. All that is left is unchanged.
    """
    words = _words_of_members(groups, head)
    sizes = Counter(words.values())
    sizes[MUTED] += muted
    for verdict, (kind, word) in _UNJUDGED.items():
        if counts.get(verdict):
            sizes[kind, word] += counts[verdict]
    left = sum(counts.values()) - sizes.total()
    for (kind, word), size in list(sizes.items()):  # a member may be of a night that says nothing
        if left < 0 and not kind.is_change:
            taken = min(size, -left)
            sizes[kind, word] -= taken
            left += taken
    if left > 0:
        sizes[Kind.UNCHANGED, Kind.UNCHANGED.value] += left
    order = list(Kind)
    ranked = sorted(sizes.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    return [TallyRow(kind=kind.value, word=word, size=n) for (kind, word), n in ranked if n]


def _words_of_members(groups: Iterable[Group], head: str) -> dict[tuple[object, ...], _Word]:
    """What alerts say of each operator that the head has."""
    found: dict[tuple[object, ...], _Word] = {}
    order = list(Kind)
    for group in groups:
        kind, word = kind_of(group)
        for member in group.members if kind != Kind.FIXED else ():
            key = _key(member)
            if _is_operator(member, head) and (
                key not in found or order.index(kind) < order.index(found[key][0])
            ):
                found[key] = kind, "new, not confirmed yet" if kind == Kind.NEW else word
    return found


def count_operators(members: Iterable[Member], head: str) -> int:
    """How many operators of a head these members are, counted as `tally_night` does."""
    return len({_key(member) for member in members if _is_operator(member, head)})


def _key(member: Member) -> tuple[object, ...]:
    return tuple(getattr(member, name) for name in _SERIES)


def _is_operator(member: Member, head: str) -> bool:
    """Whether a member is an operator on a device that recorded the head."""
    is_there = any(point.build == head and point.dump_count for point in member.history)
    return member.kind in OPERATORS and member.device is not None and is_there


def tally_operators(rows: Iterable[Row]) -> OperatorTally:
    """The operators of rows of the query `comparison`, counted once, whatever their level says."""
    rows = list(rows)
    shared = shared_operators(rows)
    counts = Counter(SeriesVerdict(row["verdict"]) for row in shared)
    methods = Counter(SeriesVerdict(row["verdict"]) for row in rows if row["level"] == "method")
    sides = _sides(rows)
    others = [sides[_method_of(row)] for row in rows if row["level"] == "operator"]
    only_base, only_head = (others.count(side) for side in ([True, False], [False, True]))
    return OperatorTally(counts, methods, only_base, only_head)


def shared_operators(rows: Iterable[Row]) -> list[Row]:
    """The operators of methods that both builds have, or of neither: these are counted."""
    rows = list(rows)
    sides = _sides(rows)
    own = [row for row in rows if row["level"] == "operator"]
    return [row for row in own if len(set(sides[_method_of(row)])) == 1]


def _sides(rows: Iterable[Row]) -> dict[tuple[object, ...], list[bool]]:
    """Whether base and head have each method; without values, both have too few dumps."""
    sides: dict[tuple[object, ...], list[bool]] = {}
    for row in rows:
        if row["level"] in ("method", "delegate", "operator"):
            has = sides.setdefault(_method_of(row), [False, False])
            is_of_both = row["verdict"] in _OF_BOTH
            has[0] |= bool(row["base_count"]) or is_of_both
            has[1] |= bool(row["head_count"]) or is_of_both
    return sides


def _method_of(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _METHOD)


def is_unexplained_call(row: Row) -> bool:
    """Whether a row is a changed delegate call without an operator inside that explains it."""
    is_changed = row["verdict"] in ("regression", "improvement")
    return is_changed and row["level"] == "delegate" and row["explained_by"] is None
