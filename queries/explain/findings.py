"""What an explanation found, in sentences: the likeliest causes first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from queries.explain.content import (
    Divergence,
    Fact,
    OperatorOrigin,
    ProgramChange,
    Programs,
    RunTimes,
    TimeFrame,
)
from queries.explain.wording import differing
from queries.report.content import Group
from queries.report.figures import (
    cost_text,
    count_text,
    name_text,
    number_text,
    share_text,
)

_NOTABLE = 0.05  # share of the run's change that a frame is named for
_MOST_NAMED = 3
_PARTS = {"operator": "call", "delegate": "delegate", "fusion": "fusion", "constant": "constant"}


def list_findings(
    group: Group,
    times: Sequence[RunTimes],
    programs: Sequence[Programs],
    facts: Sequence[Fact],
    divergences: Sequence[Divergence],
) -> list[str]:
    """What was found, in sentences."""
    found = [
        *(text for one in times for text in _of_times(one)),
        *(text for one in programs for text in _of_programs(one)),
        *_of_facts(facts),
        *(text for one in divergences for text in _of_values(one)),
        *(
            ["The environment explains every member: the code may be innocent."]
            if group.is_of_environment
            else []
        ),
    ]
    return found or ["Nothing differs in what the store knows of both builds."]


def _of_times(times: RunTimes) -> Iterator[str]:
    """The parts that most of the change is in, and those that one build lacks."""
    frame, where = times.frame, f"{times.place.where}, {times.run}"
    if frame.base is None or frame.head is None or not frame.change:
        return
    leaves = sorted(_leaves(frame), key=lambda pair: -abs(pair[1].change))
    named = [one for one in leaves if one[1].change / frame.change >= _NOTABLE][:_MOST_NAMED]
    if named:
        listed = ", ".join(
            f"{_name(one)}{module and f' in {module}'} {_amount(one.change, times.unit)}"
            for module, one in named
        )
        share = share_text(sum(one.change for _, one in named) / frame.change)
        total = _amount(frame.change, times.unit)
        yield f"{where}: {share} of the change of {total} is in {listed}."
    for side, alone in (("base", _alone(frame, "head")), ("head", _alone(frame, "base"))):
        if alone:
            listed = ", ".join(map(_name, alone[:_MOST_NAMED]))
            more = f" and {len(alone) - _MOST_NAMED:,} more" * (len(alone) > _MOST_NAMED)
            yield f"{where}: only the {side} runs {listed}{more}."


def _of_programs(programs: Programs) -> Iterator[str]:
    where = programs.place.where
    yield from (f"{text[0].upper()}{text[1:]}." for text in programs.missing)
    if programs.is_same:
        yield (
            f"{where}: both builds ran the same program: the cause is in the runtime, its kernels "
            "and backends, or the device."
        )
    elif programs.changes:
        counts = Counter(_PARTS.get(one.part, one.part) for one in programs.changes)
        listed = ", ".join(count_text(count, part) for part, count in counts.items())
        yield f"{where}: the programs differ in {listed}."
        yield from (f"{where}: {text}." for text in _of_delegates(programs.changes))
    elif programs.is_same is False:
        yield f"{where}: the programs have the same calls, shapes, delegates and constants."
    for one in programs.operators:
        if not one.is_same and one.base is not None and one.head is not None:
            yield f"{where}: {one.name} {_change(one)}."


def _of_delegates(changes: Sequence[ProgramChange]) -> Iterator[str]:
    """What backends lost and got."""
    for one in changes:
        was, now = (text or "no call" for text in (one.base, one.head))
        if one.part == "delegate":
            yield f"{one.name} has {now}, had {was}"
        elif one.change == "moved":
            places = (text.rpartition(" in ")[2] for text in (now, was))
            yield f"{one.name} runs in {', ran in '.join(places)}"


def _of_facts(facts: Sequence[Fact]) -> Iterator[str]:
    for fact in facts:
        if fact.is_changed:
            yield f"{fact.where}: {fact.subject} {fact.name} was {fact.base}, is {fact.head}."


def _of_values(one: Divergence) -> Iterator[str]:
    if one.verdict == "different":
        same = f"{one.equal_count:,} of {one.compared_count:,} compared values are equal"
        yield f"{one.where}: logged values first differ at {one.operator}; {same}."
    elif one.verdict == "equal":
        yield f"{one.where}: all {one.compared_count:,} logged values are equal bit by bit."


def _leaves(frame: TimeFrame, module: str = "") -> Iterator[tuple[str, TimeFrame]]:
    """The innermost frames, each with the module around it."""
    around = _name(frame) if frame.kind == "module" else module
    if not frame.parts:
        yield around, frame
    for part in frame.parts:
        yield from _leaves(part, around)


def _alone(frame: TimeFrame, lacking: str) -> list[TimeFrame]:
    """The outermost frames that a side lacks, longest first."""
    if (frame.base if lacking == "base" else frame.head) is None:
        return [frame]
    found = [one for part in frame.parts for one in _alone(part, lacking)]
    return sorted(found, key=lambda one: -one.longest)


def _amount(change: float, unit: str) -> str:
    return cost_text(change) if unit == "ns" else f"{number_text(change)} ticks"


def _name(frame: TimeFrame) -> str:
    return name_text(frame.name)


def _change(one: OperatorOrigin) -> str:
    sides = [side for side in (one.base, one.head) if side is not None]
    targets = [[node.partition("(")[0] for node in side.nodes] for side in sides]
    if targets[0] != targets[1]:
        return "runs other calls of the program"
    pairs = zip(*(side.nodes for side in sides), strict=True)
    changed = next((pair for pair in pairs if pair[0] != pair[1]), None)
    if changed is None:
        return f"runs in {sides[1].where}, ran in {sides[0].where}"
    was, now = differing(*changed)
    return f"({targets[0][0]}) has other tensors or arguments: {was} → {now}"
