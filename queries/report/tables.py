"""The tables of a report: changes, and others as texts; the same rows in all of its forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tracehouse.queries.drawing.axis import duration_unit, round_ticks
from tracehouse.queries.report.figures import (
    MAX_TEXT,
    NONE,
    change_text,
    cost_text,
    count_text,
    delta_text,
    distinct_names,
    duration_text,
    exact_text,
    measure_text,
    name_text,
    number_text,
    operator_text,
    place_text,
    scaled_text,
    short_name,
    signed_text,
)

if TYPE_CHECKING:
    from tracehouse.queries.report.change import Change
    from tracehouse.queries.report.content import RefusedFile, Report
    from tracehouse.queries.report.parts import Breakdown, ChangePart, ExactChange

_MOST_PARTS = 8
_DIGITS = 2  # decimals of a cost in a sum
_LEAST_COST = 0.5  # the least cost in a column, in its unit
_MOST_COST = 99_999.9
_COST_UNITS = ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
_MARGIN = 0.1  # share of the scale of intervals, on either side
_LEAST_SPAN = 0.02  # length of that scale, as a change
_MOST_SCALE = 1e6  # on either side
_MOST = 1e6  # from there on, powers of ten
_Row = TypeVar("_Row")


class Listing(NamedTuple):
    """A table: its title, explanation and rows; right-aligned columns are numbers."""

    title: str
    note: str
    columns: tuple[str, ...]
    numbers: frozenset[int]
    rows: list[tuple[str, ...]]
    is_folded: bool = False


def changes(report: Report) -> list[Listing]:
    """Changes other than times: operators, exact measures, environment, whole runs."""
    shifts = [row for row in report.run_shifts if row.is_notable]
    calm = number_text(len(report.run_shifts) - len(shifts))
    return [
        make_listing(
            "New, removed and moved operators",
            "One of the builds lacks the operator, or its time moved to others at no cost.",
            ("Change", "Where", "Operator", "Cost per run>", "Detail"),
            report.operator_changes,
            lambda row: (
                row.change.words,
                row.where,
                operator_text(row.event_name, row.delegate_id, row.ordinal, row.run),
                cost_text(row.cost_ns),
                name_text(row.detail, MAX_TEXT),
            ),
        ),
        make_listing(
            "Exact measures",
            "These measures have no noise: any difference is a change.",
            ("Where", "Measure", "Base>", "Head>", "Change>"),
            _same_on_devices(report.exact_changes),
            lambda pair: (
                pair[0],
                name_text(pair[1].measure),
                exact_text(pair[1].base),
                exact_text(pair[1].head),
                ("+" if pair[1].head > pair[1].base else "")
                + exact_text(pair[1].head - pair[1].base),
            ),
        ),
        make_listing(
            "Budgets",
            "The limits of tracehouse.toml, and the values of the head.",
            ("Where", "Measure", "Head>", "Limit>", "Broken"),
            report.budgets,
            lambda row: (
                row.where,
                name_text(row.measure),
                measure_text(row.value, row.unit),
                f"{row.bound} {measure_text(row.limit, row.unit)}",
                "yes" if row.is_broken else "",
            ),
        ),
        make_listing(
            "Environment",
            "Changes around the code, from the previous build to the head.",
            ("Where", "Attribute", "Base", "Head"),
            report.quality.environment,
            lambda row: (row.where, *map(name_text, (row.attribute, row.base, row.head))),
        ),
        make_listing(
            "Whole runs",
            f"All operators moved together: the state of the device. {calm} more within limits.",
            ("Where", "Shift>", "Limit>"),
            shifts,
            lambda row: (
                row.where,
                f"{_tenths(100 * row.shift, sign='+')} %",
                _percent(100 * row.limit),
            ),
        ),
        make_listing(
            "Framework tax",
            "Share of a method's time that is neither kernel nor delegate.",
            ("Where", "Base>", "Head>", "Points>"),
            report.framework_tax,
            lambda row: (
                row.where,
                _percent(row.base_percent),
                _percent(row.head_percent),
                _points(row.base_percent, row.head_percent),
            ),
            is_folded=True,
        ),
    ]


def _same_on_devices(rows: Sequence[ExactChange]) -> list[tuple[str, ExactChange]]:
    """Each change of a measure once, with the devices that have it alike."""
    found: dict[tuple[object, ...], list[ExactChange]] = {}
    for row in rows:
        found.setdefault((row.model, row.backend, row.measure, row.base, row.head), []).append(row)
    return [
        (
            own[0].where
            if len(own) == 1
            else f"{place_text(None, own[0].model, own[0].backend).removeprefix(f'{NONE} · ')} "
            f"on {count_text(len(own), 'device')}",
            own[0],
        )
        for own in found.values()
    ]


def _same_reasons(rows: Sequence[RefusedFile]) -> list[list[RefusedFile]]:
    """Refused files, those with one reason together."""
    found: dict[tuple[str, str], list[RefusedFile]] = {}
    for row in rows:
        found.setdefault((row.reason, row.detail), []).append(row)
    return list(found.values())


def list_sums(breakdowns: Sequence[Breakdown]) -> list[Listing]:
    """What the change of each method consists of; all but the first are folded."""
    return [_make_sum(one, is_folded=number > 0) for number, one in enumerate(breakdowns)]


def _make_sum(one: Breakdown, *, is_folded: bool) -> Listing:
    """The costliest parts, the other operators, what is outside of operators, and the total."""
    named = list(zip(map(_part_text, one.parts, part_names(one.parts)), one.parts, strict=True))
    operators = [part for part in named if part[1].event_name is not None]
    others = [part for part in named if part[1].event_name is None]
    more = [part for _, part in operators[_MOST_PARTS:]]
    rows = [_part_row(*part) for part in operators[:_MOST_PARTS]]
    if more:
        base, head = (sum(getattr(p, s) or 0.0 for p in more) for s in ("base_ns", "head_ns"))
        cost = sum(part.cost_ns for part in more)
        rows.append((count_text(len(more), "more operator"), base, head, cost))
    rows += [_part_row(*part) for part in others]
    rows.append((name_text(one.run), one.base_ns, one.head_ns, one.cost_ns))
    size, unit = duration_unit(abs(one.cost_ns))
    costs = _added_up([cost / size for *_, cost in rows])
    return Listing(
        f"Parts of the change of {name_text(one.run)}, {one.where}",
        "They add up to the change of the run. Irregular runs are interruptions that no operator "
        "typically has.",
        ("Part", "Base", "Head", f"Cost per run, {unit}"),
        frozenset({1, 2, 3}),
        [
            (text, duration_text(base), duration_text(head), signed_text(cost))
            for (text, base, head, _), cost in zip(rows, costs, strict=True)
        ],
        is_folded,
    )


def _part_row(text: str, part: ChangePart) -> tuple[str, float | None, float | None, float]:
    return text, part.base_ns, part.head_ns, part.cost_ns


def _part_text(part: ChangePart, name: str) -> str:
    is_edit = part.kind in ("new operator", "removed operator")
    return f"{part.kind}: {name}" if is_edit else name


def _added_up(costs: Sequence[float]) -> list[float]:
    """Costs to a hundredth, whose parts add up to the last; the largest part takes the rounding."""
    *parts, total = (round(cost, _DIGITS) for cost in costs)
    largest = max(range(len(parts)), key=lambda place: abs(parts[place]))
    parts[largest] = round(total - sum(parts) + parts[largest], _DIGITS)
    return [*parts, total]


def part_names(parts: Sequence[ChangePart]) -> list[str]:
    """The names of a method's parts for people, which tell them apart."""
    own = [
        short_name(part.event_name, part.delegate_id, part.ordinal or 0)
        for part in parts
        if part.event_name is not None
    ]
    names = iter(distinct_names(own))
    return [
        part.kind if part.event_name is None else _part_name(part, str(next(names)))
        for part in parts
    ]


def _part_name(part: ChangePart, name: str) -> str:
    if part.kind != "like operators":
        return name
    counts = f"{part.base_count} → {part.head_count}"
    return f"{name} and the like, {counts}: which is {_edit_text(part)} cannot be told"


def _edit_text(part: ChangePart) -> str:
    return "new" if (part.head_count or 0) > (part.base_count or 0) else "removed"


def evidence(report: Report) -> list[Listing]:
    """The evidence: missing data, steadiness of the devices, refused files."""
    coverage, quality = report.coverage, report.quality
    return [
        make_listing(
            "No data of the head",
            "A missing measurement is not an unchanged one.",
            ("Where", "Last build with data", "Expected"),
            coverage.missing,
            lambda row: (row.where, name_text(row.last_build), "yes" if row.is_expected else ""),
        ),
        make_listing("Too little data", "", ("Wanted",), coverage.too_few, _text_row),
        make_listing(
            "Sensitivity",
            "Smaller changes of an operator would not show.",
            ("Where", "Typical>", "Worst>", "Operator", "Judged>", "Moved with the run>", "Note"),
            sorted(report.sensitivity, key=lambda row: not row.is_blind),
            lambda row: (
                row.where,
                NONE if row.typical is None else change_text(row.typical),
                NONE if row.worst is None else change_text(row.worst),
                name_text(row.worst_operator),
                f"{number_text(row.judged_count)} of {number_text(row.series_count)}",
                number_text(row.explained_count),
                "too much could hide" if row.is_blind else "" if row.judged_count else "not judged",
            ),
            is_folded=not any(row.is_blind for row in report.sensitivity),
        ),
        make_listing(
            "Reference drift",
            "Distance of the reference builds from their usual time: the drift of the device.",
            ("Device", "Reference builds", "Sessions>", "Lowest>", "Highest>", "Last>"),
            report.reference_drift,
            lambda row: (
                name_text(row.device),
                name_text(", ".join(row.references)),
                number_text(len(row.points)),
                *(delta_text(drift) for drift in _ends([each.drift for each in row.points])),
            ),
        ),
        make_listing("Warnings", "", ("Warning",), quality.warnings, _text_row),
        make_listing(
            "Refused dumps",
            "Files that could not be ingested; no verdict includes their numbers.",
            ("Files>", "First", "Reason", "Detail"),
            _same_reasons(report.refused),
            lambda rows: (
                number_text(len(rows)),
                name_text(rows[0].source, 200),
                name_text(rows[0].reason),
                name_text(rows[0].detail, MAX_TEXT),
            ),
        ),
        make_listing(
            "Stability",
            "Steadiness of each model on its device, in the head.",
            ("Where", "Dumps>", "CV>", "IQR>", "p99/p50>", "Max/min>", "Score>", "Note"),
            quality.stability,
            lambda row: (
                row.where,
                number_text(row.dump_count),
                _percent(_times(row.cv)),
                _percent(_times(row.iqr_share)),
                _ratio(row.p99_over_p50),
                _ratio(row.max_over_min),
                NONE if row.score is None else number_text(round(row.score)),
                "" if row.note is None else name_text(row.note, MAX_TEXT),
            ),
            is_folded=True,
        ),
        make_listing(
            "Operators by verdict",
            "What the rule says of each, whatever is decided about it.",
            ("Verdict", "Operators>"),
            sorted(report.verdict_counts.items(), key=lambda pair: (-pair[1], pair[0])),
            lambda pair: (name_text(pair[0].replace("_", " ")), number_text(pair[1])),
            is_folded=True,
        ),
        make_listing(
            "Rules",
            "The thresholds of the verdicts.",
            ("Rule", "Value>"),
            sorted(report.rules.items()),
            lambda pair: (name_text(pair[0]), _rule(pair[1])),
            is_folded=True,
        ),
    ]


def make_listing(
    title: str,
    note: str,
    columns: tuple[str, ...],
    rows: Iterable[_Row],
    cells: Callable[[_Row], tuple[str, ...]],
    *,
    is_folded: bool = False,
) -> Listing:
    """A listing of rows by the cells of each; a column whose name ends in > holds numbers."""
    numbers = frozenset(i for i, name in enumerate(columns) if name.endswith(">"))
    names = tuple(name.removesuffix(">") for name in columns)
    return Listing(title, note, names, numbers, list(map(cells, rows)), is_folded)


def _ends(values: list[float]) -> tuple[float, float, float]:
    return min(values), max(values), values[-1]


def _text_row(text: str) -> tuple[str]:
    return (name_text(text, MAX_TEXT),)


def _rule(rule: str | float | bool | None) -> str:
    if isinstance(rule, bool):
        return "yes" if rule else "no"
    return NONE if rule is None else name_text(str(rule), MAX_TEXT)


def _percent(percent: float | None) -> str:
    return NONE if percent is None else f"{_tenths(percent)} %"


def _points(base: float | None, head: float | None) -> str:
    return NONE if base is None or head is None else _tenths(head - base, sign="+")


def _tenths(number: float, *, sign: str = "") -> str:
    form = ".1f" if abs(number) < _MOST else ".3g"
    return f"{number:{sign}{form}}".replace("-", "−")


def _times(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _ratio(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}" if ratio < _MOST else f"{ratio:.3g}"


class IntervalScale(NamedTuple):
    """The scale of the intervals of a table, as changes; its ticks are round."""

    low: float
    high: float
    ticks: list[float]

    def __call__(self, value: float) -> float:
        """The place of a change, from 0 to 1."""
        return min(1.0, max(0.0, (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)))


class ChangeTable(NamedTuple):
    """Changes of a table, the dearest first; those that are noise are folded.

    Attributes:
        changes: What changed.
        folded: What did not, or cannot be told.
        scale: The scale of all intervals.
        cost_unit: The unit of all costs.
        cost_scale: The nanoseconds in it.
    """

    changes: list[Change]
    folded: list[Change]
    scale: IntervalScale
    cost_unit: str
    cost_scale: float

    @classmethod
    def of(cls, changes: Iterable[Change]) -> ChangeTable:
        """A table of changes in any order, whose operators are told apart by their names."""
        given = list(changes)
        names = distinct_names([change.operator for change in given])
        named = (one._replace(operator=name) for one, name in zip(given, names, strict=True))
        ordered = sorted(named, key=_cheapness)
        shown = [change for change in ordered if change.kind.is_change]
        folded = [change for change in ordered if not change.kind.is_change]
        size, unit = _cost_unit([change.cost_ns for change in shown or folded])
        return cls(shown, folded, _scale(shown or folded), unit, size)

    def cost(self, change: Change) -> str:
        """The cost of a change in the unit of the column, to a tenth: '+277.4'."""
        return scaled_text(change.cost_ns, self.cost_scale)

    @property
    def device(self) -> str:
        """The device that all changes are on; empty if there are several."""
        devices = {change.device for change in (*self.changes, *self.folded)}
        return devices.pop() if len(devices) == 1 else ""

    def where(self, change: Change) -> str:
        """Where a change is, without the device that all are on."""
        return change.program if self.device else change.where

    @property
    def rest(self) -> str:
        """What is folded: '62 more: 37 unchanged, 25 cannot tell'."""
        counts = Counter(change.word for change in self.folded)
        parts = ", ".join(f"{count:,} {word}" for word, count in counts.most_common())
        return f"{len(self.folded):,} more: {parts}" if self.changes and self.folded else parts


def _cheapness(change: Change) -> tuple[bool, float, str, str]:
    cost = change.cost_ns
    return cost is None, -abs(cost or 0.0), change.where, str(change.operator)


def _cost_unit(costs: Sequence[float | None]) -> tuple[float, str]:
    """The largest unit in which the least cost is not 0.0, if the greatest fits its column."""
    sizes = [abs(cost) for cost in costs if cost]
    if not sizes:
        return _COST_UNITS[1]
    fitting = [pair for pair in _COST_UNITS if min(sizes) / pair[0] >= _LEAST_COST]
    chosen = fitting[-1] if fitting else _COST_UNITS[0]
    wide = [pair for pair in _COST_UNITS if max(sizes) / pair[0] <= _MOST_COST]
    return max(chosen, wide[0] if wide else _COST_UNITS[-1])


def _scale(changes: Sequence[Change]) -> IntervalScale:
    """A scale on which all intervals of changes fit, and zero."""
    ends = [0.0]
    for change in changes:
        known = (x for x in (change.delta, change.low, change.high) if x is not None)
        ends += [min(_MOST_SCALE, max(-_MOST_SCALE, each)) for each in known]
    low, high = min(ends), max(ends)
    if changes and not changes[0].kind.is_change:  # noise may be as long as it likes
        deltas = [abs(change.delta) for change in changes if change.delta is not None]
        most = sorted(deltas)[len(deltas) * 9 // 10] if deltas else 0.0
        low, high = max(low, -3 * most), min(high, 3 * most)
    room = max(high - low, _LEAST_SPAN)
    low, high = low - _MARGIN * room, high + _MARGIN * room
    return IntervalScale(low, high, round_ticks(low, high))
