"""The content of a report, independent of its form; its JSON is stable and has a schema.

Times are in nanoseconds, changes are shares (0.05 is 5 % slower), numbers are finite, and the order
of lists is reproducible.
"""

from __future__ import annotations

from datetime import date
from statistics import median
from typing import Literal

from pydantic import Field

from tracehouse.queries.report.figures import (
    OperatorName,
    duration_text,
    measure_text,
    operator_text,
    place_text,
    short_name,
)
from tracehouse.queries.report.parts import (
    Breakdown,
    Budget,
    ExactChange,
    ModelPart,
    Note,
    Part,
    TaxRow,
)
from tracehouse.queries.report.verdicts import State, Verdict
from tracehouse.warehouse.regressions.changes import SeriesVerdict

Direction = Literal["regression", "improvement"]

ALL_MUTED = "all operators are muted"


class BuildPoint(Part):
    """One build of a series' history."""

    build: str
    dump_count: int = Field(description="Dumps of the build that count.")
    median_ns: float | None = Field(description="Median of the dumps' values; null without any.")
    median: float | None = Field(
        default=None, description="Median of a measure other than time, in its unit."
    )
    p10: float | None = Field(
        default=None,
        description="10th percentile of the dumps' values, in the unit of the series; null with "
        "fewer than two.",
    )
    p90: float | None = Field(default=None, description="90th percentile of the same values.")
    fast: float | None = Field(
        default=None,
        description="Median of the dumps at the faster of two speeds; null with one, or without "
        "such dumps.",
    )
    slow: float | None = Field(default=None, description="The same at the slower one.")
    slow_count: int | None = Field(
        default=None, description="Dumps at the slower of two speeds; null with one speed."
    )

    @property
    def value(self) -> float | None:
        """The median in the unit of the series."""
        return self.median if self.median_ns is None else self.median_ns


class Member(Part):
    """A series that moved: an operator of a model on a device."""

    device: str | None = Field(
        description="Null if only the devices of a pool together show the change."
    )
    pool: str | None
    model: str
    backend: str | None
    run: str = Field(description="Name of the runs, stable across builds: 'Execute #2'.")
    event_name: str
    delegate_id: str | None
    ordinal: int = Field(
        description="Number among the run's instructions of equal name and id, from 1; 0 for a "
        "measure."
    )
    kind: str = Field(description="Kind of its events, or of the measure: exact has no noise.")
    unit: str = Field(description="Unit of base_values and head_values: ns, ticks, bytes, ...")
    module_path: str | None = Field(
        description="Module that the operator runs, with an ETRecord; otherwise null."
    )
    delta: float | None = Field(description="Null for a measure that was 0.")
    delta_low: float | None = Field(description="Lower end of the 99 % interval.")
    delta_high: float | None
    p_adjusted: float | None
    base_ns: float | None = Field(
        description="Median of the base's dumps; null for clocks of unknown rate."
    )
    head_ns: float | None = Field(description="base_ns * (1 + delta), without modes and states.")
    cost_ns: float | None = Field(description="Cost of the change per run: head minus base.")
    base_values: list[float] = Field(
        description="A value per dump of the base; one for all of an exact measure."
    )
    head_values: list[float]
    history: list[BuildPoint] = Field(description="Builds up to the head, oldest first.")
    speeds: tuple[int, int, int, int] | None = Field(
        default=None,
        description="Where processes run it at two speeds: dumps of the base at the slower one, "
        "dumps of the base, and both of the head; times are of one speed.",
    )
    may_be: str | None = Field(
        default=None,
        description="For a delegate call that changed although no operator inside shows it: the "
        "longest operators that could hide half of the change; otherwise null.",
    )
    rule: str = Field(description="The rule and the numbers behind the verdict.")

    @property
    def base(self) -> float | None:
        """Its value in the base, in its unit."""
        return self._level(self.base_ns, self.base_values)

    @property
    def head(self) -> float | None:
        """Its value in the head, in its unit."""
        return self._level(self.head_ns, self.head_values)

    def _level(self, level_ns: float | None, values: list[float]) -> float | None:
        is_other = level_ns is None and self.unit not in ("ns", "ticks")
        return median(values) if is_other and values else level_ns

    @property
    def place(self) -> tuple[str | None, ...]:
        """Device, pool, model and backend."""
        return self.device, self.pool, self.model, self.backend


class EnvironmentChange(ModelPart):
    """A change of the environment between base and head."""

    attribute: str = Field(description="E.g. os_version, firmware, governor, threads.")
    base: str
    head: str


class Headline(Part):
    """A group in one line."""

    title: str = Field(
        description="E.g. 'dw / portable on lab: convolution #5 and 2 more, method 9.13 → 9.62 ms'."
    )
    operator: str = Field(description="Operator type, module or delegate with the highest cost.")
    operators: list[str] = Field(description="All that moved, costliest first.")
    delta: float | None = Field(description="Change of the costliest member.")
    cost_ns: float | None = Field(description="Costs of all members per run, added up.")
    device_count: int
    model_count: int
    member_count: int
    total_share: float | None = Field(
        description="Share of the change of whole methods; null if none."
    )
    method_share: float | None = Field(
        description="Cost in the costliest place, as a share of its method's time in the base; "
        "null if unknown."
    )


class OperatorChange(ModelPart):
    """An operator that only one build has, or time that moved elsewhere."""

    change: Literal[
        SeriesVerdict.NEW_OP, SeriesVerdict.REMOVED_OP, SeriesVerdict.MOVED, SeriesVerdict.MODE_MIX
    ]
    run: str = Field(description="Name of the runs, stable across builds: 'Execute #2'.")
    event_name: str
    delegate_id: str | None
    ordinal: int
    cost_ns: float | None
    detail: str
    is_guess: bool = Field(
        default=False, description="Whether it may as well be another one of like operators."
    )

    @property
    def text(self) -> str:
        """The change for people: 'new relu.out #1', or 'one more relu.out'."""
        if not self.is_guess:
            operator = operator_text(self.event_name, self.delegate_id, self.ordinal)
            return f"{self.change.words} {operator}"
        name = short_name(self.event_name, self.delegate_id, self.ordinal).name
        return f"one more {name}" if self.change == SeriesVerdict.NEW_OP else f"one {name} less"


class Group(Part):
    """Series that probably moved for one cause: one alert."""

    id: str = Field(description="Stays the same from night to night.")
    state: State
    direction: Direction
    first_bad: str = Field(description="First build with the change.")
    last_good: str | None = Field(description="Last build before it; the cause is between both.")
    headline: Headline
    members: list[Member] = Field(description="Costliest first.")
    explains: list[Member] = Field(description="Methods and delegate calls that moved with them.")
    edits: list[OperatorChange] = Field(
        default=[],
        description="Operators that its methods and calls gained or lost, costliest first.",
    )
    breakdowns: list[Breakdown] = Field(
        default=[],
        description="What the changes of methods consist of that are members or have one, the "
        "costliest first; of 20 at most.",
    )
    dumps_needed: int = Field(description="More dumps of the head that could confirm; 0 if none.")
    reason: str | None = Field(description="Why it was accepted; null if it was not.")
    owner: str | None = Field(description="From tracehouse.toml.")
    fixed_in: str | None = Field(
        description="First build without the change; null if it is still there."
    )
    environment: list[EnvironmentChange] = Field(
        description="Changes of the environment where the change began, by model."
    )
    is_of_environment: bool = Field(
        default=False,
        description="Whether such a change, other than temperature, may explain every member.",
    )
    is_small: bool = Field(
        default=False,
        description="Whether it is to look at and not to act on: all members are numbers of bytes "
        "that changed by less than the smallest change that counts, or counts of operators.",
    )
    commands: list[str] = Field(description="Commands that show the change again and bisect it.")


class RunShift(ModelPart):
    """The common movement of all operators of a model on a device: the device's state."""

    shift: float
    limit: float
    is_notable: bool = Field(description="Whether the shift exceeds the limit.")


class Missing(ModelPart):
    """A model on a device without dumps of the head, which never counts as unchanged."""

    last_build: str | None = Field(
        description="The last build of the base with dumps of it; null if none."
    )
    is_expected: bool = Field(description="Whether [[expected]] in tracehouse.toml lists it.")


class DriftPoint(Part):
    """A session in which a reference build was recorded."""

    session: str
    recorded_on: date | None
    drift: float = Field(
        description="Slowdown of the reference against its usual time, as a share."
    )


class ReferenceDrift(Part):
    """The changing state of a device, as shown by its reference builds."""

    device: str
    references: list[str] = Field(description="The reference builds.")
    points: list[DriftPoint] = Field(description="A point per session, oldest first.")


class Sensitivity(ModelPart):
    """The smallest change of a model's operators on a device that the report would show."""

    series_count: int = Field(description="Operators that the head has.")
    judged_count: int = Field(description="Operators that could be judged.")
    explained_count: int = Field(
        description="Operators whose change was explained by the shift of the whole run."
    )
    typical: float | None = Field(
        description="The change that could hide in an operator: the median, weighted by time; null "
        "if half of the time was not judged."
    )
    worst: float | None = Field(description="The largest such change; null if none was judged.")
    worst_operator: str | None = Field(description="The operator in which it could hide.")
    is_blind: bool = Field(description="Whether too large a change could hide for a green report.")
    missing: str | None = Field(description="Data needed to judge all operators; null if complete.")

    @property
    def is_muted(self) -> bool:
        """Whether all operators of the model are muted."""
        return self.missing == ALL_MUTED


class Coverage(Part):
    """The recordings of the head."""

    device_count: int
    model_count: int
    dump_count: int
    series_count: int = Field(description="Operators of models on devices in the head.")
    judged_count: int = Field(description="Operators that could be judged.")
    missing: list[Missing]
    too_few: list[str] = Field(
        description="Data needed to judge a model: 'DEVICE MODEL BACKEND: N dumps, M wanted'."
    )


class Stability(ModelPart):
    """The steadiness of a model on a device, in the head."""

    dump_count: int
    cv: float | None = Field(description="Spread over mean of the dumps' medians.")
    iqr_share: float | None
    p99_over_p50: float | None
    max_over_min: float | None
    score: float | None = Field(description="0 to 100, as in ExecuTorch's benchmark tooling.")
    note: str | None = Field(description="E.g. that its noise hides changes; null if none.")


class Quality(Part):
    """The quality of the data."""

    stability: list[Stability]
    environment: list[EnvironmentChange]
    warnings: list[str]


class RefusedFile(Part):
    """A refused file that is not resolved."""

    source: str
    reason: str
    detail: str


class TallyRow(Part):
    """How many operators are of a kind."""

    kind: str = Field(description="Class of the page's sheet: slower, new, unchanged, ...")
    word: str = Field(description="What is said of them: 'slower', 'too fast to judge', ...")
    size: int


class Report(Part):
    """A report; see the attributes."""

    kind: Literal["nightly", "compare"]
    head: str
    base: list[str] = Field(
        description="Builds that the head is compared with, newest first; in a nightly report, "
        "those before its open regressions began."
    )
    recorded_on: date | None = Field(description="Day of the head's last recording, if known.")
    commits: dict[str, str] = Field(description="Source revisions of the named builds, if known.")
    repo_url: str | None = Field(
        description="Address that compares two commits, {base} and {head}; from tracehouse.toml."
    )
    verdict: Verdict
    summary: str = Field(description="The first line: what got slower, in a sentence or more.")
    tally: list[TallyRow] = Field(
        description="Operators of the head by what is said of them; the sizes add up to "
        "coverage.series_count."
    )
    notes: list[str] = Field(description="Notes to read first; shown in every form.")
    point_notes: list[Note] = Field(
        description="Notes that people wrote on points of the groups' series; in nightly reports."
    )
    groups: list[Group] = Field(description="Open regressions first, by cost; then the others.")
    run_shifts: list[RunShift]
    operator_changes: list[OperatorChange]
    exact_changes: list[ExactChange]
    budgets: list[Budget] = Field(
        description="Results of [[budgets]] in tracehouse.toml, broken ones first."
    )
    framework_tax: list[TaxRow]
    coverage: Coverage
    sensitivity: list[Sensitivity] = Field(
        description="The smallest change that the report would show, by model and device."
    )
    reference_drift: list[ReferenceDrift] = Field(description="Of devices with reference builds.")
    quality: Quality
    refused: list[RefusedFile]
    verdict_counts: dict[str, int] = Field(
        description="Operators of the head by verdict; of two builds, methods and delegate calls "
        "as well."
    )
    rules: dict[str, str | int | float | bool | None] = Field(
        description="The thresholds of the report."
    )


def value_text(member: Member, value: float) -> str:
    """A value of one of the member's dumps, in their unit."""
    return measure_text(value, member.unit)


def base_text(member: Member) -> str:
    """A member's value in the base."""
    return _level_text(member, member.base_ns, member.base_values)


def head_text(member: Member) -> str:
    """A member's value in the head."""
    return _level_text(member, member.head_ns, member.head_values)


def _level_text(member: Member, level_ns: float | None, values: list[float]) -> str:
    if level_ns is not None or not values or member.unit in ("ns", "ticks"):
        return duration_text(level_ns)
    return measure_text(median(values), member.unit)


def member_place(member: Member) -> str:
    """The place of a member: its device, or the pool of its devices."""
    return place_text(member.device, member.model, member.backend, member.pool)


def is_measure(member: Member) -> bool:
    """Whether a member is a measure, such as load_time, not an operator."""
    return member.ordinal == 0


def member_name(member: Member) -> OperatorName:
    """The name of a member, in its parts."""
    return short_name(member.event_name, member.delegate_id, member.ordinal, member.run)


def member_operator(member: Member) -> str:
    """The operator or measure of a member."""
    return str(member_name(member))
