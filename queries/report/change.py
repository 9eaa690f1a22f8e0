"""One change, the same on every surface: operator, place, base and head, change, cost, verdict.

A change is made from a row of the query `comparison` or from a member of an alert. Its forms are
in `terminal` (and plain text), `markdown` (pull requests), `html` (page, report,
notebook) and `change_picture` (a file). Base times 1 + delta is the head, and head less base is
the cost: what is shown beside each other is of one speed and one frame.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Self

from tracehouse.queries.report.content import member_name
from tracehouse.queries.report.figures import (
    OperatorName,
    cost_text,
    delta_text,
    interval_text,
    level_texts,
    name_text,
    place_text,
    short_name,
)
from tracehouse.queries.report.verdicts import State
from tracehouse.warehouse.regressions.changes import SeriesVerdict

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Member
    from tracehouse.queries.report.parts import Row


class Kind(StrEnum):
    """What is said of a change: a class of the sheet, a sign, and the colour of a terminal.

    Attributes:
        glyph: Sign on a terminal.
        style: Style on a terminal.
        mark: Sign in Markdown.
        icon: Path of its icon in a box of 10; empty if it has none.
    """

    glyph: str
    style: str
    mark: str
    icon: str

    SLOWER = "slower", "▲", "red", "🔺", "M5 1 9.5 9h-9z"
    NEW = "new", "+", "yellow", "🟡", "M5 1v8M1 5h8"
    FASTER = "faster", "▼", "green", "🟢", "M5 9 .5 1h9z"
    CHANGED = "changed", "~", "yellow", "🟡", "M1 5h8"
    ACKNOWLEDGED = "acknowledged", "o", "blue", "🔵", "M5 1a4 4 0 1 0 .01 0zM5 4.9v.2"
    FIXED = "fixed", "✓", "blue", "🔵", "M1 5.4 4 8.4 9 2"
    UNCHANGED = "unchanged", " ", "dim", "", ""
    UNSURE = "unsure", "?", "dim", "", ""

    def __new__(cls, name: str, glyph: str, style: str, mark: str, icon: str) -> Self:
        """Create a member from its tuple."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.glyph, member.style, member.mark, member.icon = glyph, style, mark, icon
        return member

    @property
    def is_change(self) -> bool:
        """Whether it is shown, and not folded."""
        return self not in (Kind.UNCHANGED, Kind.UNSURE)

    @property
    def is_drawn(self) -> bool:
        """Whether the icon is a line, not a shape."""
        return bool(self.icon) and not self.icon.endswith("z")


_KINDS = {
    SeriesVerdict.REGRESSION: Kind.SLOWER,
    SeriesVerdict.IMPROVEMENT: Kind.FASTER,
    SeriesVerdict.UNCHANGED: Kind.UNCHANGED,
    **{verdict: Kind.CHANGED for verdict in SeriesVerdict if verdict.detail},
}
_STATES = {
    State.NEW: Kind.NEW,
    State.ACKNOWLEDGED: Kind.ACKNOWLEDGED,
    State.ACCEPTED: Kind.ACKNOWLEDGED,
    State.MUTED: Kind.ACKNOWLEDGED,
    State.FIXED: Kind.FIXED,
}


def kind_of_verdict(verdict: SeriesVerdict) -> Kind:
    """The class of a verdict on two builds."""
    return _KINDS.get(verdict, Kind.UNSURE)


class Speeds(NamedTuple):
    """The dumps at the slower of the two speeds that processes run an operator at."""

    base_slow: int
    base_count: int
    head_slow: int
    head_count: int

    @property
    def tag(self) -> str:
        """The counts in a few words: 'two speeds, slow 5 → 8 of 12'."""
        if self.base_count == self.head_count:
            return f"two speeds, slow {self.base_slow} → {self.head_slow} of {self.head_count}"
        was, now = (
            f"{self.base_slow} of {self.base_count}",
            f"{self.head_slow} of {self.head_count}",
        )
        return f"two speeds, slow {was} → {now}"

    @property
    def speed(self) -> str:
        """The speed that base and head are of: that of most dumps of the base."""
        twice = 2 * self.base_slow - self.base_count
        return "slow" if twice > 0 else "fast" if twice < 0 else "same"

    @property
    def line(self) -> str:
        """The counts in a line, and what base and head are of."""
        counts = self.tag.replace("slow", "slow in", 1).replace("speeds,", "speeds:")
        return f"{counts} dumps; base and head are of the {self.speed} one"

    @property
    def sentence(self) -> str:
        """The counts in sentences."""
        return (
            f"Two speeds: {self.base_slow} of {self.base_count} dumps were slow before, "
            f"{self.head_slow} of {self.head_count} are now. Base and head are both at the "
            f"{self.speed} speed."
        )


class Change(NamedTuple):
    """A change of an operator, a run or a measure.

    Attributes:
        operator: Its one short name; `operator.full` is for titles and files.
        program: Model and backend.
        device: The device or pool; empty for a row of all devices.
        kind: Its class.
        word: The verdict in words: 'slower', 'too fast to judge', ...
        base: Its value in the base; None if unknown.
        head: The base's value after the change.
        unit: Unit of both: ns, bytes, ...
        delta: The change as a share; None if unknown.
        low: Lower end of its 99 % interval.
        high: Upper end.
        cost_ns: Head less base, per run; None for what is no time.
        zone: The smallest change that these dumps could show.
        speeds: The dumps at the slower of two speeds; None if there is one.
        href: Where the name leads; empty if nowhere.
        note: A few more words, such as 'confirmed by 2 builds'.
    """

    operator: OperatorName
    program: str
    device: str
    kind: Kind
    word: str
    base: float | None
    head: float | None
    unit: str
    delta: float | None
    low: float | None
    high: float | None
    cost_ns: float | None
    zone: float | None = None
    speeds: Speeds | None = None
    href: str = ""
    note: str = ""

    @property
    def where(self) -> str:
        """Program and device: 'conv · portable on pixel8'."""
        return f"{self.program} on {self.device}" if self.device else self.program

    @property
    def levels(self) -> tuple[str, str, str]:
        """Base, head, and the unit that both have."""
        return level_texts(self.base, self.head, self.unit)

    @property
    def percent(self) -> str:
        """The change: '+4.1 %'."""
        return delta_text(self.delta)

    @property
    def between(self) -> str:
        """The interval of the change: '+2.9 % to +7.6 %'."""
        return interval_text(self.low, self.high)

    @property
    def sentence(self) -> str:
        """The change in a sentence."""
        base, head, unit = self.levels
        is_timed = self.kind.is_change and self.delta is not None
        size = delta_text(abs(self.delta or 0.0)).lstrip("+")
        how = "slower" if (self.delta or 0.0) > 0 else "faster"
        what = f"{size} {how}" if is_timed and self.unit == "ns" else self.word
        cost = "" if self.cost_ns is None else f", {cost_text(self.cost_ns)} per run"
        times = f" ({base} → {head} {unit}{cost})" if is_timed else ""
        return f"{self.operator} in {self.where} is {what}{times}"


def change_of_row(row: Row, *, href: str = "") -> Change:
    """The change of a row of the query `comparison` or `regression_deltas`."""
    verdict = SeriesVerdict(row["verdict"])
    level = row.get("level") or "operator"
    name = short_name(
        row["event_name"] or "", row["delegate_id"], row["ordinal"], row["run"] or "", level
    )
    kind = kind_of_verdict(verdict)
    is_known = verdict not in (SeriesVerdict.NEW_OP, SeriesVerdict.REMOVED_OP)
    delta = row["delta"] if is_known else None
    base, head = row["base_ns"], row["head_ns"]
    return Change(
        operator=name,
        program=_join(row["model"], row["backend"]),
        device=_device(row["device"], row["pool"]),
        kind=kind,
        word=verdict.words,
        base=base,
        head=head,
        unit="ns",
        delta=delta,
        low=row["delta_low"] if is_known else None,
        high=row["delta_high"] if is_known else None,
        cost_ns=_cost(row, verdict),
        zone=_zone(kind, row["minimum_detectable"], row["delta_low"], row["delta_high"]),
        speeds=_speeds(row),
        href=href,
    )


def change_of_member(member: Member, group: Group, *, href: str = "") -> Change:
    """The change of a member of an alert."""
    kind, word = kind_of(group)
    if group.direction == "improvement" and member.ordinal == 0:
        word = "better" if kind == Kind.FASTER else word
    elif group.direction == "regression" and member.ordinal == 0 and kind == Kind.SLOWER:
        word = "slower" if member.unit == "ns" else "worse"
    is_time = member.base_ns is not None
    return Change(
        operator=member_name(member),
        program=_join(member.model, member.backend),
        device=_device(member.device, member.pool),
        kind=kind,
        word=word,
        base=member.base,
        head=member.head,
        unit="ns" if is_time else member.unit,
        delta=member.delta,
        low=member.delta_low,
        high=member.delta_high,
        cost_ns=member.cost_ns,
        zone=_zone(kind, _half(member.delta_low, member.delta_high), *_ends(member)),
        speeds=Speeds(*member.speeds) if member.speeds else None,
        href=href,
    )


def _ends(member: Member) -> tuple[float | None, float | None]:
    return member.delta_low, member.delta_high


def _half(low: float | None, high: float | None) -> float | None:
    """Half of an interval: the smallest change that it could tell from none."""
    if low is None or high is None:
        return None
    is_share = -1 < low <= high
    return math.sqrt((1 + high) / (1 + low)) - 1 if is_share else abs(high / 2 - low / 2)


def change_of_group(group: Group) -> Change:
    """The change that stands for an alert: that of its dearest member."""
    return change_of_member(group.members[0], group)


def kind_of(group: Group) -> tuple[Kind, str]:
    """The class of an alert, and its word."""
    if group.state in _STATES and not (
        group.direction == "improvement" and group.state == State.NEW
    ):
        return _STATES[group.state], group.state.label
    if group.direction == "improvement":
        return Kind.FASTER, "faster"
    return Kind.SLOWER, "slower"


def _join(*parts: str | None) -> str:
    return " · ".join(name_text(part) for part in parts if part)


def _device(device: str | None, pool: str | None) -> str:
    """A device, or the pool whose devices together show a change."""
    return "" if device is None and pool is None else place_text(device, "", None, pool)


def _cost(row: Row, verdict: SeriesVerdict) -> float | None:
    if verdict == SeriesVerdict.NEW_OP:
        return row["head_ns"]  # type: ignore[no-any-return]
    base, head = row["base_ns"], row["head_ns"]
    if verdict == SeriesVerdict.REMOVED_OP:
        return None if base is None else -base
    return None if None in (base, head, row["delta"]) else head - base


def _zone(
    kind: Kind, detectable: float | None, low: float | None, high: float | None
) -> float | None:
    """The changes that do not show; none of them is as large as a change that did."""
    if detectable is None or not kind.is_change or None in (low, high):
        return detectable
    return min(detectable, abs(low or 0.0), abs(high or 0.0))


def _speeds(row: Row) -> Speeds | None:
    was, now = row.get("base_slow"), row.get("head_slow")
    if was is None or now is None:
        return None
    return Speeds(was, row["base_count"], now, row["head_count"])
