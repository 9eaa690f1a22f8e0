"""First lines: what got slower, in a sentence that can be read aloud; and a group in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tracehouse.queries.report.content import (
    EnvironmentChange,
    Headline,
    Member,
    OperatorChange,
    base_text,
    head_text,
    is_measure,
    member_operator,
)
from tracehouse.queries.report.figures import (
    and_more,
    build_text,
    change_text,
    count_text,
    delta_text,
    name_text,
    place_text,
    times_text,
)
from tracehouse.queries.report.outline import (
    count_operators,
    is_all_muted,
    is_unexplained_call,
    list_known,
    sort_groups,
)
from tracehouse.queries.report.sensitivity import SensitivitySummary
from tracehouse.queries.report.verdicts import State, Verdict
from tracehouse.warehouse.regressions.changes import SeriesVerdict

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Group, Missing, Report
    from tracehouse.queries.report.outline import OperatorTally, Outline
    from tracehouse.queries.report.parts import Budget, Row

_MOST_NAMED = 2
_CONTAINERS = ("method", "delegate_call", "delegate")
_SILENT = {  # what is said of operators that were not judged: of one, and of several
    SeriesVerdict.BELOW_RESOLUTION: ("is too fast to judge", "are too fast to judge"),
    SeriesVerdict.NEEDS_MORE_DUMPS: ("has too few dumps", "have too few dumps"),
    SeriesVerdict.INCONCLUSIVE: ("cannot be told", "cannot be told"),
}
_EDITS = {
    SeriesVerdict.NEW_OP: ("was added", "were added"),
    SeriesVerdict.REMOVED_OP: ("was removed", "were removed"),
    SeriesVerdict.MOVED: ("moved elsewhere", "moved elsewhere"),
    SeriesVerdict.MODE_MIX: ("is at another speed", "are at another speed"),
}
TOO_FAST = SeriesVerdict.BELOW_RESOLUTION.words
_QUIET = (Verdict.KNOWN, Verdict.CLEAR)


def pair_sentence(tally: OperatorTally, rows: Sequence[Row]) -> str:
    """What changed between two builds; `rows` are those of the query `comparison`."""
    found = _changes_of(tally.counts, rows)
    moved = _moved_text(_shifts(rows))
    if found:
        runs = [
            r for r in rows if _is_slower(r) and (r["level"] == "method" or is_unexplained_call(r))
        ]
        is_hidden = runs and not tally.counts[SeriesVerdict.REGRESSION]
        verb = "is" if len(runs) == 1 else "are"
        slower = f"{count_text(len(runs), 'run')} {verb} slower." if is_hidden else ""
        return _join([slower, f"{found}.", moved])
    methods = [row for row in rows if row["level"] == "method" and _is_slower(row)]
    if methods:
        row = methods[0]
        where = place_text(row["device"], row["model"], row["backend"])
        what = f"A run of {where} is slower ({delta_text(row['delta'])}), no operator by itself."
        return _join([what, moved])
    if not tally.total:
        return _join(["There is no operator that both builds have.", moved])
    is_judged = tally.counts[SeriesVerdict.UNCHANGED] or tally.counts.keys() - _SILENT.keys()
    if moved:
        first = "No operator changed by itself" if is_judged else "Cannot tell"
        return f"{first}, but {moved[0].lower()}{moved[1:]}"
    silent = [_silent_text(tally.counts, verdict) for verdict in _SILENT if tally.counts[verdict]]
    first = "Nothing got slower." if is_judged else "Cannot tell whether anything changed."
    return _join([first, *(f"{text}." for text in silent)])


def nightly_sentence(report: Report) -> str:
    """What the report of a build says: its verdict, then all that one must not overlook."""
    parts, seen = sort_groups(report.groups), SensitivitySummary.of(report.sensitivity)
    broken = [row for row in report.budgets if row.is_broken]
    absent = [row for row in report.coverage.missing if row.is_expected]
    hidden = "any size" if seen.typical is None else change_text(seen.typical)
    blind = f"Changes of {hidden} could hide on {seen.share(seen.blind)}."
    known = _known_text(parts, is_alone=report.verdict in _QUIET)
    texts = {
        Verdict.NOT_ENOUGH_DATA: "All operators are muted."
        if is_all_muted(report.sensitivity)
        else _needed_text(report.coverage.too_few),
        Verdict.BLIND: f"Nothing that can be seen got slower. {blind}",
        Verdict.CLEAR: f"Nothing got slower{seen.reach}.",
    }
    said = [
        texts.get(report.verdict, ""),
        _failures_text(parts.failures, report.head),
        _budget_text(broken),
        _environment_text(parts.environment, report.head),
        _absent_text(absent),
        _new_text(parts.suspects),
        f"{count_text(len(parts.small), 'small change')} to look at." if parts.small else "",
        known,
        _muted_text(report, parts),
        blind
        if seen.blind and report.verdict not in (Verdict.BLIND, Verdict.NOT_ENOUGH_DATA)
        else "",
        _fast_text(report),
    ]
    moved = _moved_text(
        [(s.device, s.model, s.backend, s.shift) for s in report.run_shifts if s.is_notable]
    )
    if moved and said[0]:  # whoever reads one line must read this
        said[0] = f"{said[0].removesuffix('.')}, but {moved[0].lower()}{moved[1:]}"
        moved = ""
    return _join([*said, moved])


def split_summary(summary: str) -> tuple[str, str]:
    """The first sentence of a report, and the others.

    >>> split_summary("Nothing got slower. 82 operators are too fast to judge.")
    ('Nothing got slower.', '82 operators are too fast to judge.')
    """
    first, mark, rest = summary.partition(". ")
    return (f"{first}." if mark else summary), rest


def _fast_text(report: Report) -> str:
    """How many operators are too fast to judge."""
    found = [part.size for part in report.tally if part.word == TOO_FAST]
    if not found or report.verdict == Verdict.NOT_ENOUGH_DATA:
        return ""
    return f"{_are(found[0], 'operator')} {TOO_FAST}."


def lead_text(report: Report) -> str:
    """What was compared: builds, the day, and what recorded them."""
    head, coverage = build_text(report.head), report.coverage
    day = f" of {report.recorded_on:%-d %b %Y}" if report.recorded_on else ""
    if not report.base:
        against = "no earlier build"
    elif report.kind == "compare":
        against = build_text(report.base[0])
    else:
        before = count_text(len(report.base), "build") if len(report.base) > 1 else "build"
        against = f"the {before} before it, the last of them {build_text(report.base[0])}"
    counts = ", ".join(
        count_text(count, noun)
        for count, noun in (
            (coverage.device_count, "device"),
            (coverage.model_count, "program"),
            (coverage.dump_count, "dump"),
        )
    )
    return f"Build {head}{day} against {against}: {counts}."


def _changes_of(counts: Counter[SeriesVerdict], rows: Sequence[Row]) -> str:
    """Operators by change: '5 operators are slower, 1 is faster'."""
    slower, faster = counts[SeriesVerdict.REGRESSION], counts[SeriesVerdict.IMPROVEMENT]
    found = [(slower, "is slower", "are slower"), (faster, "is faster", "are faster")]
    found += [(counts[verdict], *words) for verdict, words in _EDITS.items()]
    texts: list[str] = []
    for count, one, several in found:
        if count:
            subject = f"{count:,}" if texts else _operators(count)
            texts.append(f"{subject} {one if count == 1 else several}")
    if slower + faster == 1 and len(texts) == 1:
        (row,) = (r for r in rows if r["level"] == "operator" and _is_timed(r))
        program = " · ".join(name_text(part) for part in (row["model"], row["backend"]) if part)
        texts[0] += f" ({program} on {name_text(row['device'])}, {delta_text(row['delta'])})"
    return ", ".join(texts)


def _is_timed(row: Row) -> bool:
    return str(row["verdict"]) in (SeriesVerdict.REGRESSION, SeriesVerdict.IMPROVEMENT)


def _is_slower(row: Row) -> bool:
    return str(row["verdict"]) == SeriesVerdict.REGRESSION


def _operators(count: int) -> str:
    return count_text(count, "operator")


def _silent_text(counts: Counter[SeriesVerdict], verdict: SeriesVerdict) -> str:
    one, several = _SILENT[verdict]
    return f"{_operators(counts[verdict])} {one if counts[verdict] == 1 else several}"


def _shifts(rows: Iterable[Row]) -> list[tuple[str, str, str | None, float]]:
    """Where all operators of a method moved together."""
    found = {
        (row["device"], row["model"], row["backend"]): row["state_delta"]
        for row in rows
        if row["level"] == "method"
        and row["verdict"] == SeriesVerdict.EXPLAINED_BY_RUN_SHIFT
        and row["state_delta"] is not None
    }
    return [(*place, shift) for place, shift in found.items()]


def _moved_text(shifts: Sequence[tuple[str, str, str | None, float]]) -> str:
    """That whole runs moved: the device, or the whole build."""
    if not shifts:
        return ""
    device, model, backend, shift = max(shifts, key=lambda each: abs(each[3]))
    program = " · ".join(name_text(part) for part in (model, backend) if part)
    more = f" (and {count_text(len(shifts) - 1, 'more model')})" if len(shifts) > 1 else ""
    return (
        f"All operators of {program} on {name_text(device)} moved together, "
        f"{delta_text(shift)}{more}: the device changed, or the whole build."
    )


def _failures_text(groups: Sequence[Group], head: str) -> str:
    return f"{_slower_text(groups, head)} ({_places(groups)})." if groups else ""


def _slower_text(groups: Sequence[Group], head: str) -> str:
    """The subject and what happened: '3 operators are slower and 1 measure is worse'.

    Operators are those that the tally counts, on devices that recorded the head; without any, all.
    """
    members = [member for group in groups for member in group.members]
    measures = sum(map(is_measure, members))
    wholes = sum(member.kind in _CONTAINERS for member in members)
    operators = len(members) - measures - wholes
    counts = (
        (count_operators(members, head) or operators, "operator", "slower"),
        (wholes, "run", "slower"),
        (measures, "measure", "worse"),
    )
    return " and ".join(f"{_are(count, noun)} {how}" for count, noun, how in counts if count)


def _places(groups: Sequence[Group]) -> str:
    """Where the first groups are, and how large their changes."""
    texts = [_place_of(group) for group in groups]
    named = "; ".join(dict.fromkeys(texts[:_MOST_NAMED]))
    more = len(groups) - _MOST_NAMED
    return f"{named}; {count_text(more, 'more alert')}" if more > 0 else named


def _place_of(group: Group) -> str:
    first, line = group.members[0], group.headline
    devices = (
        f"{line.device_count} devices"
        if line.device_count > 1
        else place_text(first.device, "", None, first.pool)
    )
    delta = f", {delta_text(line.delta)}" if line.delta is not None else ""
    return f"{name_text(first.model)} on {devices}{delta}"


def _budget_text(broken: Sequence[Budget]) -> str:
    if not broken:
        return ""
    named = f"{name_text(broken[0].measure)} of {broken[0].where}"
    return f"{_are(len(broken), 'budget')} broken ({_with_others(named, broken)})."


def _environment_text(groups: Sequence[Group], head: str) -> str:
    if not groups:
        return ""
    names = sorted({change.attribute for group in groups for change in group.environment})
    return (
        f"{_slower_text(groups, head)} where the environment changed too ({', '.join(names)}; "
        f"{_places(groups)})."
    )


def _absent_text(absent: Sequence[Missing]) -> str:
    if not absent:
        return ""
    named = _with_others(absent[0].where, absent)
    return f"{_are(len(absent), 'expected recording')} missing ({named})."


def _new_text(groups: Sequence[Group]) -> str:
    if not groups:
        return ""
    return f"{_are(len(groups), 'slowdown')} new and not confirmed yet ({_places(groups)})."


def _known_text(parts: Outline, *, is_alone: bool) -> str:
    """How many regressions are acknowledged, accepted and muted."""
    counts = Counter(group.state for group in list_known(parts.settled))
    texts: list[str] = []
    for state in State:
        if count := counts[state]:
            subject = f"{count:,}" if texts else count_text(count, "regression")
            texts.append(f"{subject} {'is' if count == 1 else 'are'} {state.label}")
    if not texts:
        return ""
    joined = " and ".join(texts)
    return f"{joined}, nothing new." if is_alone else f"{joined} already."


def _muted_text(report: Report, parts: Outline) -> str:
    """How many operators are muted in alerts that have others, which else nothing would say."""
    sizes = [part.size for part in report.tally if part.word == State.MUTED.label]
    is_said = any(group.state == State.MUTED for group in parts.settled)
    return f"{_are(sizes[0], 'operator')} muted." if sizes and not is_said else ""


def _needed_text(too_few: Sequence[str]) -> str:
    """That nothing can be judged yet, and what is needed."""
    more = f"; {count_text(len(too_few) - 1, 'more model')} too" if len(too_few) > 1 else ""
    return f"Not enough data to judge yet{f' ({too_few[0]}{more})' if too_few else ''}."


def _are(count: int, noun: str) -> str:
    """A subject with its verb: '1 budget is', '3 budgets are'."""
    return f"{count_text(count, noun)} {'is' if count == 1 else 'are'}"


def _with_others(first: str, all_: Sequence[object]) -> str:
    return first if len(all_) == 1 else f"{first} and {len(all_) - 1:,} more"


def _join(sentences: Iterable[str]) -> str:
    return " ".join(filter(None, sentences))


def make_headline(
    operators: Sequence[str],
    members: Sequence[Member],
    explains: Sequence[Member],
    environment: Sequence[EnvironmentChange],
    method_ns: float | None,
    edits: Sequence[OperatorChange] = (),
) -> Headline:
    """A group in one line; see `Evidence` for the arguments."""
    costs = [member.cost_ns for member in members if member.cost_ns is not None]
    place = _place(members[0])
    here = [member.cost_ns for member in members if member.cost_ns and _place(member) == place]
    whole = [member.cost_ns for member in explains if member.kind == "method" and member.cost_ns]
    return Headline(
        title=_title(members, explains, environment, edits),
        operator=operators[0],
        operators=list(operators),
        delta=members[0].delta,
        cost_ns=sum(costs) if costs else None,
        device_count=len({member.device for member in members}),
        model_count=len({(member.model, member.backend) for member in members}),
        member_count=len(members),
        total_share=sum(costs) / sum(whole) if costs and whole and sum(whole) else None,
        method_share=sum(here) / method_ns if here and method_ns else None,
    )


def order_rows(members: Sequence[Member], explains: Sequence[Member]) -> list[Member]:
    """All series of a group, place by place: the method, operators by cost, delegate calls."""
    places: dict[tuple[str | None, ...], int] = {}
    for member in members:
        places.setdefault(_place(member), len(places))
    ranked = [(1, member) for member in members]
    ranked += [(0 if member.kind == "method" else 2, member) for member in explains]
    ranked.sort(key=lambda pair: (places.get(_place(pair[1]), len(places)), pair[0]))
    return [member for _, member in ranked]


def _place(member: Member) -> tuple[str | None, ...]:
    return member.device, member.pool, member.model, member.backend, member.run


def _title(
    members: Sequence[Member],
    explains: Sequence[Member],
    environment: Sequence[EnvironmentChange],
    edits: Sequence[OperatorChange],
) -> str:
    first = members[0]
    programs = {(member.model, member.backend) for member in members}
    devices = {member.device for member in members}
    program = " · ".join(name_text(part) for part in (first.model, first.backend) if part)
    device = place_text(first.device, "", None, first.pool)
    ran = and_more(program, len(programs), "program")
    where = f"{ran} on {and_more(device, len(devices), 'device')}"
    operators = len({(m.run, m.event_name, m.delegate_id, m.ordinal, m.model) for m in members})
    methods = [each for each in explains if each.kind == "method"]
    method = next((each for each in methods if _place(each) == _place(first)), None)
    moved = method or first
    times = [_times(moved)] if moved.base_ns is not None or is_measure(moved) else []
    deltas = [] if moved.delta is None else [delta_text(moved.delta)]
    what = [and_more(member_operator(first), operators), *times, *deltas]
    if first.kind in ("method", "delegate_call") and edits:  # what it gained or lost is the cause
        what[0] = and_more(edits[0].text, len(edits))
        method = method or first
    if method:
        what[1] = f"method {what[1]}"
    names = ", ".join(sorted({change.attribute for change in environment}))
    return f"{where}: {', '.join(what)}{f', with another {names}' if names else ''}"


def _times(member: Member) -> str:
    """The values before and after the change."""
    if member.base_ns is None or member.head_ns is None:
        return f"{base_text(member)} → {head_text(member)}"
    return times_text(member.base_ns, member.head_ns)
