"""The groups of a night as alerts, with state, cost and next step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from tracehouse.queries.report.breakdowns import describe_members, list_methods, method_level_ns
from tracehouse.queries.report.content import EnvironmentChange, Group, Member, OperatorChange
from tracehouse.queries.report.facts import may_explain
from tracehouse.queries.report.figures import delta_text
from tracehouse.queries.report.findings import describe_edit
from tracehouse.queries.report.night import HeadNight
from tracehouse.queries.report.parts import Breakdown
from tracehouse.queries.report.sensitivity import as_measure
from tracehouse.queries.report.sentences import make_headline
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.verdicts import State
from tracehouse.warehouse.alignment.programs import plain_name
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.regressions.changes import ChangeGroup, LevelChange, number_builds
from tracehouse.warehouse.regressions.parts import find_edits
from tracehouse.warehouse.regressions.series_values import CONTAINERS
from tracehouse.warehouse.statistics.two_samples import LEAST_DUMPS

if TYPE_CHECKING:
    from tracehouse.warehouse.queryable import Queryable

# The query that shows a measure of whole dumps.
_QUERIES = {
    "load_time": "cold_start",
    "cold_start": "cold_start",
    "first_token": "token_latency",
    "token_rate": "token_latency",
    "rate": "counter_totals",
    "counter": "counter_totals",
}
Environment = Callable[[HeadNight, LevelChange], list[EnvironmentChange]]
Breakdowns = Callable[[Sequence[LevelChange], Sequence[Member]], list[Breakdown]]
_PLACE = ("device", "model", "backend", "run")
_SERIES = (*_PLACE, "event_name", "delegate_id", "ordinal")


class Evidence(NamedTuple):
    """The evidence of an alert for the changes of a group.

    Attributes:
        operators: Operator types or measures that moved, that of the first member first.
        members: The series that changed, costliest first.
        explains: Methods and delegate calls that moved with them.
        edits: Operators that these, or members that are such, gained or lost.
        breakdowns: What the changes of the methods among them consist of.
        environment: Changes of the environment of each member.
        method_ns: Time in the base of the first member's method, if known.
        event: Name of the first member in patterns of owners.
        commands: Commands that show the group again.
    """

    operators: Sequence[str]
    members: list[Member]
    explains: list[Member]
    edits: list[OperatorChange]
    breakdowns: list[Breakdown]
    environment: list[list[EnvironmentChange]]
    method_ns: float | None
    event: str
    commands: list[str]


def list_alerts(
    night: HeadNight,
    commits: Mapping[str, str | None],
    environment: Environment,
    breakdowns: Breakdowns,
) -> list[Group]:
    """The groups that a report shows: open ones, and recent ends and improvements."""
    lately = last_night_before(
        [recording.build for recording in night.fleet.nights], night.rules.base_builds
    )
    shown = [
        group for group in night.groups if is_reported(group, find_state(night, group), lately)
    ]
    changes = [change for group in shown for change in (*group.changes, *group.explains)]
    members = map(as_measure, describe_members(night, changes))
    methods = list_methods(night)
    return [
        _describe(night, group, members, commits, environment, breakdowns, methods)
        for group in shown
    ]


def order_alerts(alerts: Iterable[Group]) -> list[Group]:
    """Open regressions first, each kind by cost and then id; see `_name_faster_method`, too."""
    order, found = list(State), list(alerts)
    faster = {
        (member.place, member.run): member
        for alert in found
        if alert.direction == "improvement" and alert.state != State.FIXED
        for member in (*alert.members, *alert.explains)
        if member.kind == "method"
    }
    return sorted(
        (_name_faster_method(alert, faster) for alert in found),
        key=lambda alert: (
            alert.direction == "improvement",
            order.index(alert.state),
            -abs(alert.headline.cost_ns or 0.0),
            alert.id,
        ),
    )


def _name_faster_method(
    alert: Group, faster: Mapping[tuple[tuple[str | None, ...], str], Member]
) -> Group:
    """The alert, whose title says so if the method of its slower operator became faster."""
    first, title = alert.members[0], alert.headline.title
    method = faster.get((first.place, first.run))
    if alert.direction == "improvement" or method is None or method.delta is None:
        return alert
    named = f"{title}; the method is faster, {delta_text(method.delta)}"
    headline = alert.headline.model_copy(update={"title": named})
    return alert.model_copy(update={"headline": headline})


def is_reported(group: ChangeGroup, state: State, lately: int) -> bool:
    """Whether a report shows a group: while it is open, and for a while after it ended."""
    fixed = [change.fixed for change in group.changes]
    is_over = all(build is not None and build <= lately for build in fixed)
    is_settled = group.direction < 0 or state in (State.ACCEPTED, State.MUTED)
    return not is_over and not (is_settled and group.first_bad <= lately)


def last_night_before(builds: Sequence[str], count: int) -> int:
    """The last night that is too old for a report of so many builds; -1 without one."""
    number = number_builds(builds)
    return sum(each <= number[-1] + 1 - count for each in number) - 1


def find_state(night: HeadNight, group: ChangeGroup) -> State:
    """The state of a group as of a night."""
    if all(change.fixed is not None for change in group.changes):
        return State.FIXED
    if group.id in night.mute_reasons:
        return State.MUTED
    decision = night.decisions.get(group.id)
    decided = decision.state if decision else ""
    if decided == State.ACCEPTED:
        return State.ACCEPTED
    if all(change.confirmed is None for change in group.changes):
        return State.NEW
    return State.ACKNOWLEDGED if decided == State.ACKNOWLEDGED else State.CONFIRMED


def _describe(  # noqa: PLR0913 - all that an alert is made of
    night: HeadNight,
    group: ChangeGroup,
    described: Iterator[Member],
    commits: Mapping[str, str | None],
    environment: Environment,
    breakdowns: Breakdowns,
    methods: Mapping[tuple[int, str], int],
) -> Group:
    """A group, whose changes and explained changes are next in `described`."""
    pairs = list(zip(islice(described, len(group.changes)), group.changes, strict=True))
    pairs = _rank(pairs, night.fleet.operators)
    members = [member for member, _ in pairs]
    explains = list(islice(described, len(group.explains)))
    changes = [*(change for _, change in pairs), *group.explains]
    operators = list(dict.fromkeys(night.fleet.operators[each.series] for _, each in pairs))
    first, builds = members[0], [recording.build for recording in night.fleet.nights]
    bad, good = builds[group.first_bad], builds[group.last_good]
    evidence = Evidence(
        operators,
        members,
        explains,
        _list_edits(night, group, builds),
        breakdowns(changes, [*members, *explains]),
        [environment(night, change) for change in group.changes],
        method_level_ns(night, methods, pairs[0][1]),
        first.event_name,
        [
            explain_command(night.head, group.id),
            *compare_commands(first, bad, good),
            *bisect_commands(night.head, group.id, commits.get(bad), commits.get(good)),
        ],
    )
    return night_alert(night, group, builds, evidence)


def night_alert(
    night: HeadNight, group: ChangeGroup, builds: Sequence[str], evidence: Evidence
) -> Group:
    """A group of a night as an alert; `builds` are the names of builds by number."""
    state, decision = find_state(night, group), night.decisions.get(group.id)
    fixed = [change.fixed for change in group.changes if change.fixed is not None]
    return make_alert(
        evidence,
        night.settings,
        id=group.id,
        state=state,
        direction="regression" if group.direction > 0 else "improvement",
        first_bad=builds[group.first_bad],
        last_good=builds[group.last_good],
        dumps_needed=LEAST_DUMPS if state == State.NEW else 0,
        reason=night.mute_reasons.get(group.id) or (decision.reason if decision else None),
        fixed_in=builds[max(fixed)] if state == State.FIXED else None,
    )


def _list_edits(
    night: HeadNight, group: ChangeGroup, builds: Sequence[str]
) -> list[OperatorChange]:
    """The operators that the changed methods and delegate calls gained or lost."""
    found: dict[int, OperatorChange] = {}
    for change in (*group.changes, *group.explains):
        if night.fleet.keys["kind"][change.series].as_py() not in CONTAINERS:
            continue
        edits = find_edits(night.fleet, night.cells, change)
        names = builds[edits.good], builds[edits.last]
        for series in edits.series.tolist():
            levels = night.cells.median[series, [edits.good, edits.last]]
            found[series] = describe_edit(night.fleet.name(series), levels, names)
    return list(found.values())


def _cost_as_parts(
    edits: Iterable[OperatorChange], breakdowns: Sequence[Breakdown]
) -> Iterator[OperatorChange]:
    """Operators that were gained or lost, with what they are as parts of the change."""
    costs = {
        (one.where, one.run, part.event_name, part.delegate_id, part.ordinal): part.cost_ns
        for one in breakdowns
        for part in one.parts
        if part.kind != "like operators"
    }
    guesses = {
        (one.where, one.run, plain_name(part.event_name))
        for one in breakdowns
        for part in one.parts
        if part.kind == "like operators" and part.event_name is not None
    }
    for edit in edits:
        key = (edit.where, edit.run, edit.event_name, edit.delegate_id, edit.ordinal)
        is_guess = (edit.where, edit.run, plain_name(edit.event_name)) in guesses
        cost = costs.get(key, edit.cost_ns)
        yield edit.model_copy(update={"cost_ns": cost, "is_guess": is_guess})


def order_edits(edits: Iterable[OperatorChange]) -> list[OperatorChange]:
    """Operators of one build by cost, the largest first."""
    return sorted(edits, key=lambda edit: (-abs(edit.cost_ns or 0.0), edit.where, edit.event_name))


def make_alert(evidence: Evidence, settings: Settings, **others: Any) -> Group:
    """An alert from evidence and settings, with the other fields of a group."""
    members, first = evidence.members, evidence.members[0]
    edits = order_edits(_cost_as_parts(evidence.edits, evidence.breakdowns))
    named = list(dict.fromkeys(chain.from_iterable(evidence.environment)))
    return Group(
        headline=make_headline(
            evidence.operators, members, evidence.explains, named, evidence.method_ns, edits
        ),
        members=members,
        explains=evidence.explains,
        edits=edits,
        breakdowns=evidence.breakdowns,
        owner=settings.owner(device=first.device or "", model=first.model, event=evidence.event),
        environment=named,
        is_of_environment=all(any(map(may_explain, each)) for each in evidence.environment),
        commands=evidence.commands,
        **others,
    )


def _rank(
    pairs: Sequence[tuple[Member, LevelChange]], operators: Sequence[str]
) -> list[tuple[Member, LevelChange]]:
    """Members and their changes by operator type and backend, costliest first."""

    def kind(pair: tuple[Member, LevelChange]) -> tuple[str, str]:
        return operators[pair[1].series], pair[0].backend or ""

    def cost(pair: tuple[Member, LevelChange]) -> float:
        return abs(pair[0].cost_ns or 0.0)

    totals: dict[tuple[str, str], float] = defaultdict(float)
    for pair in sorted(pairs, key=cost):
        totals[kind(pair)] += cost(pair)
    return sorted(
        pairs, key=lambda pair: (-totals[kind(pair)], kind(pair), -cost(pair), _name(pair[0]))
    )


def _name(member: Member) -> tuple[str, ...]:
    place = member.device, member.model, member.backend, member.run
    parts = *place, member.event_name, member.delegate_id
    return (*(part or "" for part in parts), f"{member.ordinal:06}")


def explain_command(head: str, group: str) -> str:
    """The command that says what differs between the two builds of a group."""
    return f"tracehouse explain {group} --head {quote(head)}"


def compare_commands(member: Member, bad: str, good: str) -> list[str]:
    """Commands that show a member again."""
    where = f" --device {quote(member.device)}" if member.device else ""
    model = f" --model {quote(member.model)}"
    event = f" --event {quote(member.event_name)}"
    query = _QUERIES.get(member.kind, f"build_history{event}")
    return [
        f"tracehouse compare {quote(good)} {quote(bad)}{where}{model}",
        f"tracehouse query {query}{where}{model}",
    ]


def bisect_commands(
    head: str, group: str, bad_commit: str | None, good_commit: str | None
) -> list[str]:
    """Commands that find the commit of a group; none if a build's commit is unknown."""
    if not bad_commit or not good_commit:
        return []
    step = f"./record.sh || exit 125; tracehouse bisect-step {group} --head {quote(head)}"
    return [
        f"git bisect start {quote(bad_commit)} {quote(good_commit)}",
        f"git bisect run sh -c {quote(step)}",
    ]


def is_refilled_call(store: Queryable, group: Group) -> bool:
    """Whether a group is of delegate calls alone that have other operators since the change.

    An operator moved to another call, or back to a kernel: that is no change of the call. The
    method shows what it costs.
    """
    members = [*group.members, *group.explains]
    if any(member.kind != "delegate_call" or member.device is None for member in members):
        return False
    builds = [group.last_good, group.first_bad]
    return all(_has_other_contents(store, member, builds) for member in members)


def _has_other_contents(store: Queryable, call: Member, builds: list[str | None]) -> bool:
    place = {name: getattr(call, name) for name in _PLACE}
    rows = store.sql(read_statement("call_contents"), {**place, "builds": builds}).to_pylist()
    contents: dict[str, set[object]] = {str(build): set() for build in builds}
    for row in rows:
        if (row["call_name"], row["call_ordinal"]) == (call.event_name, call.ordinal):
            contents[row["build"]].add((row["event_name"], row["delegate_id"], row["ordinal"]))
    before, after = contents.values()
    return bool(before) and bool(after) and before != after


def name_hidden_operators(store: Queryable, group: Group, min_change: float) -> Group:
    """The group with candidate operators for calls in which no operator changed.

    The candidates are those that `comparison` names for the last good and the first bad build;
    there are none if these two builds do not show the change by themselves.
    """
    members = [*group.members, *group.explains]
    shown = {_names(member, _PLACE) for member in members if member.kind == "delegate_op"}
    calls = [
        member
        for member in members
        if member.kind == "delegate_call" and member.device and _names(member, _PLACE) not in shown
    ]
    if not calls:
        return group
    found = store.query(
        "comparison",
        base=group.last_good,
        head=group.first_bad,
        min_change=min_change,
        device=sorted({str(call.device) for call in calls}),
        model=sorted({call.model for call in calls}),
    )
    guesses = {
        tuple(row[name] for name in _SERIES): row["may_be"]
        for row in found.to_pylist()
        if row["level"] == "delegate" and row["verdict"] == group.direction
    }

    guessed = [
        member.model_copy(update={"may_be": guesses.get(_names(member, _SERIES))})
        for member in members
    ]
    count = len(group.members)
    return group.model_copy(update={"members": guessed[:count], "explains": guessed[count:]})


def _names(member: Member, columns: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(getattr(member, column) for column in columns)
