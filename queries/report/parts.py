"""Parts of a report: exact measures, budgets, framework tax, breakdowns of methods, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field

from tracehouse.queries.report.figures import MAX_TEXT, name_text, operator_text, place_text
from tracehouse.warehouse.alignment.alignment import Guess
from tracehouse.warehouse.alignment.programs import CALL, DELEGATED, KERNEL
from tracehouse.warehouse.point import Point
from tracehouse.warehouse.queryable import Queryable

Row = Mapping[str, Any]  # a row of an answer
Kind = Literal[
    "operator",
    "new operator",
    "removed operator",
    "like operators",
    "delegate call",
    "delegates' own",
    "framework",
    "irregular runs",
]
PLACE = ("device", "model", "backend", "run")  # columns that name a method
OPERATOR = ("event_name", "delegate_id", "ordinal")  # columns that name an operator of its runs
_WORK = (KERNEL, DELEGATED, CALL)
_NOTES = "FROM point_notes ORDER BY written_at, note_id"


class Part(BaseModel):
    """A part of a report, with finite numbers and no further fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, row: Row, **others: Any) -> Self:
        """A part from the columns of a row with the names of its fields, and others."""
        own = {name: row[name] for name in cls.model_fields.keys() & row.keys()}
        return cls(**own | others)


class ModelPart(Part):
    """A part about a model on a device."""

    device: str
    model: str
    backend: str | None

    @property
    def where(self) -> str:
        """Device, model and backend for people."""
        return place_text(self.device, self.model, self.backend)


class ExactChange(ModelPart):
    """A measure without noise that changed: any difference is a verdict."""

    measure: str = Field(description="E.g. allocated_bytes, operator_count, dump_bytes.")
    base: float
    head: float


class Budget(ModelPart):
    """The result of a budget in tracehouse.toml for a model on a device."""

    measure: str
    unit: str = Field(description="Unit of value and limit: ns, bytes, /s, ...")
    value: float = Field(description="Value of the head: its median over dumps, or its worst run.")
    limit: float
    bound: Literal["at most", "at least"]
    is_broken: bool


class TaxRow(ModelPart):
    """Share of a method's time that is neither kernel nor delegate."""

    base_percent: float | None
    head_percent: float | None


class ChangePart(Part):
    """A part of a method's change; a nanosecond is in one part."""

    kind: Kind = Field(
        description="Of like operators, which of them is new or removed cannot be told: they are "
        "one part."
    )
    event_name: str | None = Field(
        description="Null unless it is an operator or delegate call; of like operators the first."
    )
    delegate_id: str | None
    ordinal: int | None
    base_count: int | None = Field(
        default=None, description="How many the base has of like operators; null for other parts."
    )
    head_count: int | None = Field(default=None, description="How many the head has.")
    base_ns: float | None = Field(description="Median over dumps; null where there is none.")
    head_ns: float | None
    cost_ns: float = Field(description="Part of the method's change per run.")


class Breakdown(ModelPart):
    """The change of a method on a device, and the parts that add up to it."""

    run: str = Field(description="Name of the runs, stable across builds: 'Execute #2'.")
    base_ns: float
    head_ns: float
    cost_ns: float
    parts: list[ChangePart] = Field(
        description="Operators by cost, then what delegate calls spend outside of their operators, "
        "the framework, and irregular runs: interruptions that no operator typically has."
    )


class Work(NamedTuple):
    """A kernel, delegated operator or delegate call of a method, with its typical times.

    Attributes:
        keys: Its event_name, delegate_id and ordinal.
        base_ns: Its time in the base; None if the base lacks it.
        head_ns: Its time in the head; None if the head lacks it.
        kinds: Its kind in the base and in the head; a kernel may have been delegated.
    """

    keys: Mapping[str, Any]
    base_ns: float | None
    head_ns: float | None
    kinds: tuple[str, str]

    @property
    def key(self) -> tuple[object, ...]:
        """The name of the operator in its runs."""
        return tuple(self.keys[name] for name in OPERATOR)

    @property
    def cost_ns(self) -> float:
        """What it adds to the method's change."""
        return self.time(1) - self.time(0)

    def time(self, side: int) -> float:
        """Its time in the base (0) or the head (1); 0 in a build that lacks it."""
        return (self.base_ns, self.head_ns)[side] or 0.0


def break_down(
    place: Mapping[str, Any],
    method: tuple[float, float],
    works: Iterable[Work],
    framework: tuple[float, float] | None,
    guesses: Iterable[Guess] = (),
) -> Breakdown:
    """The parts of a method's change.

    Args:
        place: device, model, backend and run of the method.
        method: Its times in base and head.
        works: All its kernels, delegated operators and delegate calls.
        framework: Typical time of base and head outside of kernels and delegate calls; None if
            unknown.
        guesses: Like operators of which one is new or removed, but which is a guess.
    """
    works = [work for work in works if work.kinds[1] in _WORK]
    parts = sorted(_list_parts(works, guesses), key=lambda part: -abs(part.cost_ns))
    parts += _delegates_own(works)
    if framework is not None:
        base, head = framework
        parts.append(_part("framework", base_ns=base, head_ns=head, cost_ns=head - base))
    cost = method[1] - method[0]
    rest = cost - sum(part.cost_ns for part in parts)
    parts.append(_part("irregular runs", cost_ns=rest))
    own = {name: place[name] for name in PLACE}
    return Breakdown(**own, base_ns=method[0], head_ns=method[1], cost_ns=cost, parts=parts)


def order_breakdowns(found: Iterable[Breakdown]) -> list[Breakdown]:
    """Breakdowns by cost, the largest first."""
    return sorted(found, key=lambda one: (-abs(one.cost_ns), one.where, one.run))


def _list_parts(works: Sequence[Work], guesses: Iterable[Guess]) -> Iterable[ChangePart]:
    """The operators; like ones are one part if which of them is new or removed is a guess."""
    is_inside_known = any(DELEGATED in work.kinds for work in works)
    operators = [work for work in works if not (is_inside_known and CALL in work.kinds)]
    for guess in guesses:
        keys = list(dict.fromkeys([*guess.head, *guess.base]))
        own = [work for work in operators if work.key in keys]
        operators = [work for work in operators if work.key not in keys]
        yield _like_operators(sorted(own, key=lambda work: keys.index(work.key)))
    for work in operators:
        kind: Kind = "delegate call" if CALL in work.kinds else "operator"
        if kind == "operator" and work.base_ns is None:
            kind = "new operator"
        elif kind == "operator" and work.head_ns is None:
            kind = "removed operator"
        yield ChangePart(
            kind=kind,
            **{name: work.keys[name] for name in OPERATOR},
            base_ns=work.base_ns,
            head_ns=work.head_ns,
            cost_ns=work.cost_ns,
        )


def _like_operators(works: Sequence[Work]) -> ChangePart:
    base, head = (
        [time for work in works if (time := getattr(work, side)) is not None]
        for side in ("base_ns", "head_ns")
    )
    return ChangePart(
        kind="like operators",
        **{name: works[0].keys[name] for name in OPERATOR},
        base_count=len(base),
        head_count=len(head),
        base_ns=sum(base),
        head_ns=sum(head),
        cost_ns=sum(work.cost_ns for work in works),
    )


def _delegates_own(works: Sequence[Work]) -> list[ChangePart]:
    """The time of delegate calls outside of their operators, if these are known."""
    kinds = {kind for work in works for kind in work.kinds}
    if not {CALL, DELEGATED} <= kinds:
        return []
    base, head = (
        sum(work.time(side) for work in works if work.kinds[side] == CALL)
        - sum(work.time(side) for work in works if work.kinds[side] == DELEGATED)
        for side in (0, 1)
    )
    return [_part("delegates' own", base_ns=base, head_ns=head, cost_ns=head - base)]


def _part(
    kind: Kind, *, cost_ns: float, base_ns: float | None = None, head_ns: float | None = None
) -> ChangePart:
    return ChangePart(
        kind=kind,
        event_name=None,
        delegate_id=None,
        ordinal=None,
        base_ns=base_ns,
        head_ns=head_ns,
        cost_ns=cost_ns,
    )


class Note(Part):
    """A note on the points of a build with some names; a name that is null is any."""

    note_id: str = Field(description="A service opens the chart at /notes/NOTE_ID.")
    text: str
    written_by: str
    written_at: datetime
    build: str
    device: str | None
    pool: str | None
    model: str | None
    backend: str | None
    event_name: str | None
    delegate_id: str | None
    ordinal: int | None

    def is_on(self, series: Mapping[str, Any]) -> bool:
        """Whether the note is on a point of a series or a row, by the names that the series has."""
        own = {name: getattr(self, name) for name in Point._fields}
        return all(value in (None, series.get(name, value)) for name, value in own.items())

    @property
    def where(self) -> str:
        """The subject of the note, without the build."""
        parts = [self.model or "all models", self.backend]
        place = place_text(self.device, "", None, self.pool) if self.device or self.pool else ""
        names = [place or "all devices", *(name_text(part) for part in parts if part)]
        if self.event_name is not None:
            names.append(operator_text(self.event_name, self.delegate_id, self.ordinal or 0))
        return " · ".join(names)

    @property
    def signed_text(self) -> str:
        """The text with the author and the day."""
        text, user = name_text(self.text, MAX_TEXT), name_text(self.written_by)
        return f"{text} ({user}, {self.written_at:%Y-%m-%d})"

    @property
    def href(self) -> str:
        """The address of the note on a service."""
        return f"/notes/{self.note_id}"


def choose_notes(notes: Iterable[Note], series: Iterable[Mapping[str, Any]]) -> list[Note]:
    """The notes on a point of any of some series, or of any row."""
    listed = list(series)
    return [note for note in notes if any(map(note.is_on, listed))]


def read_notes(store: Queryable) -> list[Note]:
    """All notes of a store, the oldest first."""
    return [Note(**row) for row in store.sql(_NOTES).to_pylist()]
