"""Parts that all forms of a report share: alerts by next step, facts, verdict, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from tracehouse.queries.report.change import Kind, kind_of, kind_of_verdict
from tracehouse.queries.report.content import Group, Member, TallyRow, is_measure, member_name
from tracehouse.queries.report.figures import (
    MAX_TEXT,
    and_more,
    build_text,
    cost_text,
    count_text,
    distinct_names,
    name_text,
    place_text,
    share_text,
)
from tracehouse.queries.report.parts import Row, choose_notes
from tracehouse.queries.report.verdicts import State, Verdict
from tracehouse.warehouse.alignment.programs import DELEGATED, KERNEL
from tracehouse.warehouse.regressions.changes import SeriesVerdict

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Missing, Report, Sensitivity
    from tracehouse.queries.report.parts import Budget, Note
    from tracehouse.queries.report.verdicts import Tone

SIGNS = {"regression": "▲", "improvement": "▼"}
_MOST_EDITS = 3  # edits in the card of an alert
CARD_SHARE = 0.01  # share of the method's time; cheaper alerts are shown in one line
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


class Outline(NamedTuple):
    """The groups of a report by next step, each part in the report's order."""

    failures: list[Group]
    environment: list[Group]
    suspects: list[Group]
    small: list[Group]
    improvements: list[Group]
    settled: list[Group]


class Section(NamedTuple):
    """Alerts with the same next step."""

    title: str
    groups: list[Group]
    note: str


def sections(report: Report) -> list[Section]:
    """The alerts of a report by next step."""
    parts = sort_groups(report.groups)
    return [
        Section("Act on these", parts.failures, "dearest first"),
        Section(
            "Look at these",
            [*parts.environment, *parts.suspects, *parts.small],
            "new, or not of the code alone",
        ),
        Section("Also known", [*parts.improvements, *parts.settled], "nothing to do now"),
    ]


def is_card(group: Group) -> bool:
    """Whether a group costs enough to be shown in full, or has an unknown cost."""
    share = group.headline.method_share
    return share is None or abs(share) >= CARD_SHARE


def sort_groups(groups: Sequence[Group]) -> Outline:
    """Sort groups by next step.

    Failures are confirmed regressions, except `environment`: those with another environment.
    Suspects are new; small ones are certain, but to look at and not to act on; settled ones
    are acknowledged, accepted, muted or fixed.
    """
    parts = Outline([], [], [], [], [], [])
    for group in groups:
        if group.state.is_settled:
            parts.settled.append(group)
        elif group.direction == "improvement":
            parts.improvements.append(group)
        elif group.state == State.NEW:
            parts.suspects.append(group)
        elif group.is_small:
            parts.small.append(group)
        else:
            (parts.environment if group.is_of_environment else parts.failures).append(group)
    return parts


def find_verdict(
    parts: Outline,
    sensitivity: Sequence[Sensitivity],
    missing: Sequence[Missing],
    budgets: Sequence[Budget] = (),
) -> Verdict:
    """The verdict of a report: the worst of its groups, otherwise its sensitivity."""
    judged = [row for row in sensitivity if row.judged_count]
    found = {
        Verdict.REGRESSIONS: parts.failures,
        Verdict.OVER_BUDGET: any(row.is_broken for row in budgets),
        Verdict.OTHER_ENVIRONMENT: parts.environment,
        Verdict.INCOMPLETE: any(row.is_expected for row in missing),
        Verdict.SUSPECTS: parts.suspects or parts.small,
        Verdict.BLIND: any(row.is_blind for row in judged),
        Verdict.KNOWN: (judged or is_all_muted(sensitivity)) and list_known(parts.settled),
        Verdict.CLEAR: judged,
        Verdict.NOT_ENOUGH_DATA: True,
    }
    return next(verdict for verdict in Verdict if found[verdict])


def is_all_muted(sensitivity: Sequence[Sensitivity]) -> bool:
    """Whether all operators of a head are muted."""
    return bool(sensitivity) and all(row.is_muted for row in sensitivity)


def verdict_text(report: Report) -> str:
    """The first line of a report: a sentence that says what got slower."""
    return name_text(report.summary, MAX_TEXT)


def list_known(groups: Sequence[Group]) -> list[Group]:
    """Regressions that are still there, and that somebody has decided about."""
    return [
        group for group in groups if group.direction == "regression" and group.state != State.FIXED
    ]


def _members(members: Sequence[Member]) -> str:
    measures = sum(is_measure(member) for member in members)
    counts = ((len(members) - measures, "operator"), (measures, "measure"))
    texts = [count_text(count, noun) for count, noun in counts if count]
    return " and ".join(texts or [count_text(0, "operator")])


def standing_text(group: Group) -> str:
    """How sure an alert is: 'confirmed by 2 builds'."""
    if group.state == State.NEW:
        return "not confirmed yet"
    builds = [point.build for point in group.members[0].history if point.dump_count]
    since = builds[builds.index(group.first_bad) :] if group.first_bad in builds else []
    is_confirmed = group.state == State.CONFIRMED and len(since) > 1
    return f"confirmed by {count_text(len(since), 'build')}" if is_confirmed else ""


def place_title(group: Group) -> str:
    """Where an alert is: 'conv on pixel8 and 2 more devices'."""
    first, line = group.members[0], group.headline
    model = and_more(name_text(first.model), line.model_count, "program")
    device = place_text(first.device, "", None, first.pool)
    return f"{model} on {and_more(device, line.device_count, 'device')}"


def operators_text(group: Group) -> str:
    """The operators of an alert, the dearest first, and the backend."""
    apart = distinct_names([member_name(member) for member in group.members])
    names = list(dict.fromkeys(map(str, apart)))
    shown = ", ".join(names[:_MOST_EDITS])
    more = f" and {len(names) - _MOST_EDITS:,} more" if len(names) > _MOST_EDITS else ""
    backend = group.members[0].backend
    return f"{shown}{more}{f' · {name_text(backend)}' if backend else ''}"


def range_text(group: Group) -> str:
    """The builds between which a group's cause lies."""
    since = f"since {build_text(group.first_bad)}"
    if group.last_good is None:
        return since
    return f"{since}, last good {build_text(group.last_good)}"


def tone_of(group: Group) -> Tone:
    """The colour of a group: an improvement is good until a decision."""
    is_gain = group.direction == "improvement" and group.state.tone != "soft"
    return "good" if is_gain else group.state.tone


def line_text(group: Group) -> str:
    """A group in a line: title, cost, state and builds."""
    line = group.headline
    cost = "" if line.cost_ns is None else f", {cost_text(line.cost_ns)} per run"
    return f"{SIGNS[group.direction]} {line.title}{cost} ({state_text(group)})"


def state_text(group: Group) -> str:
    """The state of a group and its builds."""
    return f"{group.state.label}, {range_text(group)}"


def facts(group: Group, report: Report) -> list[tuple[str, str]]:
    """Further facts of a group: pairs of a label and a text."""
    line = group.headline
    found = [
        ("Of the method's time", share_text(line.method_share)),
        ("Of the whole change", share_text(line.total_share)),
        ("Operators gained or lost", _edits_text(group)),
        ("Seen on", _breadth(group)),
        ("May be", next((m.may_be for m in (*group.members, *group.explains) if m.may_be), None)),
        ("Commits", _commits_text(group, report)),
        ("Owner", group.owner),
        ("Next step", next_step(group, report)),
        ("Decided because", group.reason),
        ("Fixed in", group.fixed_in and build_text(group.fixed_in)),
        *(
            (f"Note on {name_text(note.build)}", note.signed_text)
            for note in notes_on(group, report)
        ),
        ("Alert", group.id),
    ]
    return [(label, text) for label, text in found if text is not None]


def _edits_text(group: Group) -> str | None:
    """The costliest operators that a method gained or lost, with their costs."""
    texts = [
        f"{edit.text}{'' if edit.cost_ns is None else f' ({cost_text(edit.cost_ns)})'}"
        for edit in group.edits
    ]
    more = len(texts) - _MOST_EDITS
    if more > 0:
        texts[_MOST_EDITS:] = [f"{more:,} more"]
    return ", ".join(texts) or None


def notes_on(group: Group, report: Report) -> list[Note]:
    """The notes on points of a group's series."""
    return choose_notes(report.point_notes, map(vars, (*group.members, *group.explains)))


def next_step(group: Group, report: Report) -> str | None:
    """The next step for a group; None if nothing is to be done."""
    if group.direction == "improvement" or group.state.is_settled:
        return None
    if report.kind == "compare":
        return "find the cause with the report's commands"  # there is nothing to accept
    if group.state == State.NEW:
        dumps = count_text(group.dumps_needed, "more dump")
        return f"record {dumps} of the head in another session: they confirm it or clear it"
    decide = f"tracehouse accept {group.id} --reason WHY"
    if group.is_of_environment:
        return f"record {group.last_good} again in the environment of the head; or {decide}"
    has_bisect = any(command.startswith("git bisect") for command in group.commands)
    find = "bisect it with the report's commands" if has_bisect else "look at what changed"
    return f"{find}, and fix it; or {decide}"


def commits_url(group: Group, report: Report) -> str:
    """The address of the commits between which the cause lies; empty if it is unknown."""
    commits = _commits(group, report)
    if commits is None or report.repo_url is None:
        return ""
    good, bad = (quote(commit, safe="") for commit in commits)
    return report.repo_url.replace("{base}", good).replace("{head}", bad)


def _commits(group: Group, report: Report) -> tuple[str, str] | None:
    """The source revisions between which the cause lies, if both are known."""
    good, bad = (report.commits.get(build or "") for build in (group.last_good, group.first_bad))
    return None if good is None or bad is None else (good, bad)


def _commits_text(group: Group, report: Report) -> str | None:
    commits = _commits(group, report)
    return None if commits is None else "..".join(map(build_text, commits))


def _breadth(group: Group) -> str | None:
    line = group.headline
    if line.device_count == line.model_count == len(group.members) == 1:
        return None  # which the title says
    counts = ((line.device_count, "device"), (line.model_count, "program"))
    return ", ".join([*(count_text(*pair) for pair in counts), _members(group.members)])


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
