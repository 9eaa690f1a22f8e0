"""The groups of a night as alerts: what state each is in, what it costs, what to do about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from shlex import quote

from queries.report.content import EnvironmentChange, Group, Member, State
from queries.report.environment import may_explain
from queries.report.headline import make_headline
from queries.report.measures import as_measure
from queries.report.members import describe_members, list_methods, method_level_ns
from queries.report.night import HeadNight
from warehouse.regressions.groups import ChangeGroup
from warehouse.regressions.level_changes import LevelChange
from warehouse.statistics.sample_sizes import LEAST_DUMPS

# Which query shows a measure of whole dumps.
_QUERIES = {
    "load_time": "cold_start",
    "cold_start": "cold_start",
    "first_token": "token_latency",
    "token_rate": "token_latency",
    "rate": "counter_totals",
    "counter": "counter_totals",
}


Environment = Callable[[HeadNight, LevelChange], list[EnvironmentChange]]


def list_alerts(
    night: HeadNight, commits: Mapping[str, str | None], environment: Environment
) -> list[Group]:
    """The groups that a report tells: open ones, and those that ended or got faster of late.

    Args:
        night: The night.
        commits: Source revision of each build, where known.
        environment: What changed around the code where a series changed.
    """
    lately = len(night.fleet.nights) - night.rules.base_builds
    told = [group for group in night.groups if is_told(group, find_state(night, group), lately)]
    changes = [change for group in told for change in (*group.changes, *group.explains)]
    members = map(as_measure, describe_members(night, changes))
    methods = list_methods(night)
    return [_describe(night, group, members, commits, environment, methods) for group in told]


def order_alerts(alerts: Iterable[Group]) -> list[Group]:
    """Open regressions first, each kind by cost and then id."""
    order = {"confirmed": 0, "new": 1, "acknowledged": 2, "accepted": 3, "fixed": 4}
    return sorted(
        alerts,
        key=lambda alert: (
            alert.direction == "improvement",
            order[alert.state],
            -abs(alert.headline.cost_ns or 0.0),
            alert.id,
        ),
    )


def is_told(group: ChangeGroup, state: State, lately: int) -> bool:
    """Whether a report tells a group: while it is open, and what ended or got faster of late."""
    fixed = [change.fixed for change in group.changes]
    is_over = all(build is not None and build <= lately for build in fixed)
    is_settled = group.direction < 0 or state == "accepted"
    return not is_over and not (is_settled and group.first_bad <= lately)


def find_state(night: HeadNight, group: ChangeGroup) -> State:
    """The state of a group as of a night."""
    if all(change.fixed is not None for change in group.changes):
        return "fixed"
    decision = night.decisions.get(group.id)
    if decision is not None and decision.state == "accepted":
        return "accepted"
    if all(change.confirmed is None for change in group.changes):
        return "new"
    if decision is not None and decision.state == "acknowledged":
        return "acknowledged"
    return "confirmed"


def _describe(
    night: HeadNight,
    group: ChangeGroup,
    described: Iterator[Member],
    commits: Mapping[str, str | None],
    environment: Environment,
    methods: Mapping[tuple[int, str], int],
) -> Group:
    """A group; the next ones of the `described` are its changes, and what it explains."""
    pairs = list(zip(islice(described, len(group.changes)), group.changes, strict=True))
    pairs = _ranked(pairs, night.fleet.operators)
    members = [member for member, _ in pairs]
    operators = list(dict.fromkeys(night.fleet.operators[each.series] for _, each in pairs))
    explains = list(islice(described, len(group.explains)))
    nights, state = night.fleet.nights, find_state(night, group)
    fixed = [change.fixed for change in group.changes if change.fixed is not None]
    decision = night.decisions.get(group.id)
    first = members[0]
    bad, good = nights[group.first_bad].build, nights[group.last_good].build
    around = [environment(night, change) for change in group.changes]
    named = list(dict.fromkeys(change for changes in around for change in changes))
    return Group(
        id=group.id,
        state=state,
        direction="regression" if group.direction > 0 else "improvement",
        first_bad=bad,
        last_good=good,
        headline=make_headline(
            operators, members, explains, named, method_level_ns(night, methods, pairs[0][1])
        ),
        members=members,
        explains=explains,
        dumps_needed=LEAST_DUMPS if state == "new" else 0,
        reason=decision.reason if decision else None,
        owner=night.settings.owner(
            device=first.device or "", model=first.model, event=first.event_name
        ),
        fixed_in=nights[max(fixed)].build if state == "fixed" else None,
        environment=named,
        is_of_environment=all(any(map(may_explain, changes)) for changes in around),
        commands=[
            *compare_commands(first, bad, good),
            *bisect_commands(night.head, group.id, commits.get(bad), commits.get(good)),
        ],
    )


def _ranked(
    pairs: Sequence[tuple[Member, LevelChange]], operators: Sequence[str]
) -> list[tuple[Member, LevelChange]]:
    """Members and their changes by operator type and backend, by what these and they cost."""

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
    """Commands that find the commit of a group; none where a build's commit is not known."""
    if not bad_commit or not good_commit:
        return []
    step = f"./record.sh || exit 125; tracehouse bisect-step {group} --head {quote(head)}"
    return [
        f"git bisect start {quote(bad_commit)} {quote(good_commit)}",
        f"git bisect run sh -c {quote(step)}",
    ]
