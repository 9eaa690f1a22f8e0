"""The explanation of an alert, from what a store knows of its two builds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tracehouse.queries.explain.content import (
    Explanation,
    FrameKind,
    OperatorOrigin,
    Place,
    ProgramChange,
    Programs,
    RunTimes,
    TimeFrame,
)
from tracehouse.queries.explain.facts import list_divergences, list_facts
from tracehouse.queries.explain.findings import list_findings
from tracehouse.queries.explain.operators import (
    SIDES,
    EventKey,
    EventOrigin,
    Operator,
    OperatorKey,
    PlaceOperators,
    RunOperators,
    RunOrigins,
    Sides,
    read_operators,
    read_origins,
)
from tracehouse.queries.explain.programs import compare_stored
from tracehouse.queries.explain.stored_programs import Program, read_programs
from tracehouse.queries.report.content import Group, Member, Report, is_measure
from tracehouse.queries.report.figures import name_text
from tracehouse.queries.report.night import find_group, list_builds
from tracehouse.queries.report.parts import Breakdown, ChangePart
from tracehouse.queries.report.tables import part_names
from tracehouse.warehouse.queryable import Queryable

MOST_PLACES = 4

_MOST_RUNS = 3  # shown of a place
_OWN_COMMAND = "tracehouse explain "  # what the reader has just run
_Events = Mapping[EventKey, EventOrigin]
Origins = Mapping[str, RunOrigins]  # by side
_Step = tuple[FrameKind, str]


def list_places(store: Queryable, group: Group) -> tuple[list[Place], int]:
    """The costliest place of each model of an alert, and the number of all its places."""
    order = {build: number for number, build in enumerate(list_builds(store))}
    found: dict[tuple[str, str | None], Place] = {}
    seen = set()
    for member in (*group.members, *group.explains):
        seen.add((member.device, member.pool, member.model, member.backend))
        key = member.model, member.backend
        place = None if key in found else _place(member, group.first_bad, order)
        if place is not None:
            found[key] = place
    return list(found.values())[:MOST_PLACES], len(seen)


def members_at(group: Group, place: Place) -> list[Member]:
    """The members of an alert at a place: costliest first, then what they explain."""
    return [
        member
        for member in (*group.members, *group.explains)
        if (member.device, member.model, member.backend)
        == (place.device, place.model, place.backend)
        and (place.device is not None or member.pool == place.pool)
    ]


def _place(member: Member, first_bad: str, order: Mapping[str, int]) -> Place | None:
    """The place of a member, with the builds around the change that were recorded there."""
    builds = [point.build for point in member.history if point.dump_count and point.build in order]
    before = [build for build in builds if order[build] < order[first_bad]]
    since = [build for build in builds if order[build] >= order[first_bad]]
    if not before or not since:
        return None
    return Place(
        device=member.device,
        pool=member.pool if member.device is None else None,
        model=member.model,
        backend=member.backend,
        base=max(before, key=order.__getitem__),
        head=min(since, key=order.__getitem__),
    )


def explain_group(
    store: Queryable, report: Report, group_id: str, *, files: Sequence[ProgramChange] | None = None
) -> Explanation:
    """What differs between the two builds of an alert.

    `files` are the differences of two files with the programs of the costliest place.

    Raises:
        OptionError: The report has no such alert.
    """
    group = find_group(report.groups, group_id, report.head, "explain")
    places, place_count = list_places(store, group)
    recorded = read_operators(store, places)
    etrecords = {id_ for own in recorded for id_ in own.etrecords.values()}
    events = read_origins(store, etrecords) if etrecords else {}
    times, programs = [], []
    for place, own in zip(places, recorded, strict=True):
        methods = _methods_at(group, place)
        known = read_programs(store, *map(own.etrecords.get, SIDES)) if own.etrecords else {}
        origins = {run: _origins(own, sides, known, events) for run, sides in own.runs.items()}
        times += [_run_times(place, one, own, origins, group) for one in methods]
        runs = [one.run for one in methods] or _chosen_runs(own, members_at(group, place))
        located = {run: origins[run] for run in runs if run in origins}
        programs.append(_programs(place, own, known, located, group))
    facts, divergences = list_facts(store, places), list_divergences(store, places)
    commands = [command for command in group.commands if not command.startswith(_OWN_COMMAND)]
    if files is not None:
        programs[:1] = [_with_files(one, files) for one in programs[:1]]
    return Explanation(
        as_of=report.head,
        group=group,
        findings=list_findings(group, times, programs, facts, divergences),
        place_count=place_count,
        times=times,
        programs=programs,
        facts=facts,
        divergences=divergences,
        commands=[*commands, *(one.command for one in divergences)],
    )


def _methods_at(group: Group, place: Place) -> list[Breakdown]:
    """The methods at a place, whose parts the alert has; the costliest first."""
    where = place.device, place.model, place.backend
    found = [one for one in group.breakdowns if (one.device, one.model, one.backend) == where]
    return found[:_MOST_RUNS]


def _chosen_runs(own: PlaceOperators, members: Sequence[Member]) -> list[str]:
    """The runs that the members are of; those with most operators if they are of none."""
    named = list(dict.fromkeys(member.run for member in members if member.run in own.runs))

    def size(run: str) -> int:
        return max(map(len, own.runs[run].values()))

    return (named or sorted(own.runs, key=size, reverse=True)[:1])[:_MOST_RUNS]


def _origins(
    own: PlaceOperators, sides: Sides, known: Mapping[int, Program], events: _Events
) -> dict[str, RunOrigins]:
    """What the operators of a run are in the programs, by side; without unknown programs."""
    programs = {side: known.get(own.etrecords.get(side, -1)) for side in sides}
    return {
        side: RunOrigins(sides[side], program, events)
        for side, program in programs.items()
        if program is not None and any(program.nodes.values())
    }


def _run_times(
    place: Place,
    method: Breakdown,
    own: PlaceOperators,
    origins: Mapping[str, Mapping[str, RunOrigins]],
    group: Group,
) -> RunTimes:
    named = {_key(member) for member in members_at(group, place) if member.run == method.run}
    sides = own.runs.get(method.run, {})
    frame = method_frame(method, sides, origins.get(method.run, {}), named)
    return RunTimes(place=place, breakdown=method, frame=frame)


def _key(member: Member) -> OperatorKey:
    return OperatorKey(member.event_name, member.delegate_id, member.ordinal)


def _programs(
    place: Place,
    own: PlaceOperators,
    known: Mapping[int, Program],
    origins: Mapping[str, Mapping[str, RunOrigins]],
    group: Group,
) -> Programs:
    pair = [known.get(own.etrecords.get(side, -1)) for side in SIDES]
    base, head = (program.sha256 if program else None for program in pair)
    changes: list[ProgramChange] = []
    for by_side in origins.values():
        was, now = pair
        if was and now and was != now and len(by_side) == len(SIDES):
            changes += compare_stored(was, now, by_side["base"], by_side["head"])
    return Programs(
        place=place,
        base_etrecord=base,
        head_etrecord=head,
        missing=list(_missing(place, own, pair)),
        changes=list(dict.fromkeys(changes)),
        operators=[
            _operator_origin(member, origins[member.run])
            for member in members_at(group, place)
            if not is_measure(member) and member.kind != "method" and origins.get(member.run)
        ],
    )


def _missing(
    place: Place, own: PlaceOperators, programs: Sequence[Program | None]
) -> Iterator[str]:
    """The reasons why the programs cannot be compared."""
    for side, build, program in zip(SIDES, (place.base, place.head), programs, strict=True):
        if side not in own.etrecords:
            yield f"no dump of {name_text(build)} has an ETRecord"
        elif program is None or not any(program.nodes.values()):
            yield f"the ETRecord of {name_text(build)} has no edge dialect program"


def _operator_origin(member: Member, origins: Mapping[str, RunOrigins]) -> OperatorOrigin:
    key = _key(member)
    base, head = (origins[side].find(key) if side in origins else None for side in SIDES)
    is_same = base is not None and head is not None
    if base is not None and head is not None:
        is_same = (base.nodes, base.where) == (head.nodes, head.where)
    return OperatorOrigin(name=str(key), delta=member.delta, base=base, head=head, is_same=is_same)


def _with_files(programs: Programs, files: Sequence[ProgramChange]) -> Programs:
    changes = [*programs.changes, *files]
    return programs.model_copy(update={"changes": changes, "missing": []})


@dataclass
class _Node:
    """A frame while its parts are added: its leaves, and the modules and calls in it."""

    leaves: list[TimeFrame] = field(default_factory=list)
    parts: dict[_Step, _Node] = field(default_factory=dict)


def method_frame(
    breakdown: Breakdown, sides: Sides, origins: Origins, members: Collection[OperatorKey]
) -> TimeFrame:
    """The time of a method in both builds as a tree: modules, delegate calls, operators.

    The leaves are the parts of the method's change, with the numbers that its alert has. An
    operator is below the modules that contain all of its nodes, or, without modules, below the
    delegate call around it. Origins are what operators are in the programs, and members those that
    an alert names.
    """
    root, classes = _Node(), _Classes()
    for part, name in zip(breakdown.parts, part_names(breakdown.parts), strict=True):
        node, key = root, _part_key(part)
        if key is not None:
            classes.add(key, origins)
            for step in _around(key, sides, origins):
                node = node.parts.setdefault(step, _Node())
        node.leaves.append(
            TimeFrame(
                name=name,
                kind="rest" if key is None else "operator",
                base=part.base_ns,
                head=part.head_ns,
                change=part.cost_ns,
                is_member=key in members,
                parts=[],
            )
        )
    return TimeFrame(
        name=breakdown.run,
        kind="run",
        base=breakdown.base_ns,
        head=breakdown.head_ns,
        change=breakdown.cost_ns,
        is_member=False,
        parts=_frames(root, classes),
    )


class _Classes:
    """The classes of modules in base and head."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, str]] = defaultdict(dict)

    def add(self, key: OperatorKey, origins: Origins) -> None:
        for side, own in origins.items():
            for path, type_ in own.modules(key):
                self._found[path][side] = type_.rpartition(".")[2]

    def name(self, step: _Step) -> str:
        """The name of a module with its class, of which there may be two; or of a call."""
        found = self._found[step[1]] if step[0] == "module" else {}
        types = " → ".join(dict.fromkeys(found[side] for side in SIDES if found.get(side)))
        return f"{step[1]} ({types})" if types else step[1]


def _part_key(part: ChangePart) -> OperatorKey | None:
    if part.event_name is None or part.ordinal is None:
        return None
    return OperatorKey(part.event_name, part.delegate_id, part.ordinal)


def _around(key: OperatorKey, sides: Sides, origins: Origins) -> tuple[_Step, ...]:
    """Modules and the call around an operator, where it is since the change, else where it was."""
    for side in reversed(SIDES):
        if key in sides.get(side, {}):
            return _around_in(key, sides[side], origins.get(side))
    return ()


def _around_in(
    key: OperatorKey, run: RunOperators, origins: RunOrigins | None
) -> tuple[_Step, ...]:
    modules = origins.modules(key) if origins else ()
    own, call = run[key], None
    if not modules and own.kind == "delegate_op":
        same = (name for name, one in run.items() if _is_call_of(one, own))
        call = next(same, None)
    if call is None:
        return tuple(("module", path) for path, _ in modules if path)
    backend = origins.backend(call) if origins else None
    name = f"{backend} call #{call.ordinal}" if backend else str(call)
    return (*_around_in(call, run, origins), ("call", name))


def _is_call_of(one: Operator, inside: Operator) -> bool:
    return one.kind == "delegate_call" and one.instruction_id == inside.instruction_id


def _frames(node: _Node, classes: _Classes) -> list[TimeFrame]:
    """What a frame consists of, longest first."""
    found = [*node.leaves]
    for step, own in node.parts.items():
        parts = _frames(own, classes)
        found.append(
            TimeFrame(
                name=classes.name(step),
                kind=step[0],
                base=_sum(part.base for part in parts),
                head=_sum(part.head for part in parts),
                change=sum(part.change for part in parts),
                is_member=False,
                parts=parts,
            )
        )
    return sorted(found, key=lambda part: (-part.longest, part.name))


def _sum(times: Iterable[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return sum(known) if known else None
