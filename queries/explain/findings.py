"""The findings of an explanation, in sentences: the likeliest causes first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tracehouse.queries.explain.content import (
    Divergence,
    Fact,
    OperatorOrigin,
    ProgramChange,
    Programs,
    RunTimes,
    TimeFrame,
)
from tracehouse.queries.explain.programs import diff_calls
from tracehouse.queries.report.content import Group
from tracehouse.queries.report.figures import cost_text, count_text, delta_text, name_text

_HARDLY = 0.01  # change of a run, as a share, below which its parts may be noise
_NOTABLE = 0.05  # share of the run's change that a frame is named for
_REMEDY = (
    "To compare programs, put the ETRecord of each build beside its dumps as NAME.etrecord, and "
    "ingest or upload them again; or name both program files: --base-program OLD.pte "
    "--head-program NEW.pte."
)
_MOST_NAMED = 3
_PARTS = {"operator": "call", "delegate": "delegate", "fusion": "fusion", "constant": "constant"}


def list_findings(
    group: Group,
    times: Sequence[RunTimes],
    programs: Sequence[Programs],
    facts: Sequence[Fact],
    divergences: Sequence[Divergence],
) -> list[str]:
    """The findings, in sentences."""
    found = [
        *(text for one in times for text in _time_texts(one)),
        *(text for one in programs for text in _program_texts(one)),
        *([_REMEDY] if any(one.missing for one in programs) else []),
        *_fact_texts(facts),
        *(text for one in divergences for text in _value_texts(one)),
        *(
            ["The environment explains every member: the code may be innocent."]
            if group.is_of_environment
            else []
        ),
    ]
    return found or ["No place of the alert was recorded both before and since the change."]


def _time_texts(times: RunTimes) -> Iterator[str]:
    """The parts with most of the change, and the parts that one build lacks."""
    frame, where = times.frame, f"{times.place.where}, {name_text(times.breakdown.run)}"
    if not frame.base or not frame.head:
        return
    share = frame.change / frame.base
    leaves = sorted(_leaves(frame), key=lambda pair: (not pair[1].is_member, -abs(pair[1].change)))
    if abs(share) >= _HARDLY:
        leaves.sort(key=lambda pair: -abs(pair[1].change))
        leaves = [one for one in leaves if one[1].change / frame.change >= _NOTABLE]
    listed = ", ".join(
        f"{_name(one)}{module and f' in {module}'} {cost_text(one.change)}"
        for module, one in leaves[:_MOST_NAMED]
    )
    of_which = listed and f", of which {listed}"
    yield f"{where}: {cost_text(frame.change)} per run ({delta_text(share)}){of_which}."
    for side, alone in (("base", _alone(frame, "head")), ("head", _alone(frame, "base"))):
        if alone:
            listed = ", ".join(map(_name, alone[:_MOST_NAMED]))
            more = f" and {len(alone) - _MOST_NAMED:,} more" * (len(alone) > _MOST_NAMED)
            yield f"{where}: only the {side} runs {listed}{more}."


def _program_texts(programs: Programs) -> Iterator[str]:
    where = programs.place.where
    if programs.missing:
        yield f"{where}: {' and '.join(programs.missing)}, so their programs are not compared."
    if programs.is_same:
        yield (
            f"{where}: both builds ran the same program: the cause is in the runtime, its kernels "
            "and backends, or the device."
        )
    elif programs.changes:
        counts = Counter(_PARTS.get(one.part, one.part) for one in programs.changes)
        listed = ", ".join(count_text(count, part) for part, count in counts.items())
        yield f"{where}: the programs differ in {listed}."
        yield from (f"{where}: {text}." for text in _delegate_texts(programs.changes))
        yield from (f"{where}: {text}." for text in _constant_texts(programs.changes))
    elif programs.is_same is False:
        yield f"{where}: the programs agree in calls, shapes, delegates and types of constants."
    for one in programs.operators:
        if not one.is_same and one.base is not None and one.head is not None:
            yield f"{where}: {one.name} {_change(one)}."


def _delegate_texts(changes: Sequence[ProgramChange]) -> Iterator[str]:
    """Calls that delegates gained, lost or moved."""
    for one in changes:
        was, now = (text or "no call" for text in (one.base, one.head))
        if one.part == "delegate":
            yield f"{one.name} has {now}, had {was}"
        elif one.change == "moved":
            places = (text.rpartition(" in ")[2] for text in (now, was))
            yield f"{one.name} runs in {', ran in '.join(places)}"


def _constant_texts(changes: Sequence[ProgramChange]) -> Iterator[str]:
    """The constants of program files that have other values but the same size."""
    for what in ("constants", "named data"):
        own = [one for one in changes if one.part == "constant" and one.name.startswith(f"{what} ")]
        sizes = [{one.base for one in own} - {None}, {one.head for one in own} - {None}]
        if sizes[0] and sizes[0] == sizes[1]:
            yield f"the {what} have other values, of the same size"


def _fact_texts(facts: Sequence[Fact]) -> Iterator[str]:
    for fact in facts:
        if fact.is_changed:
            yield f"{fact.where}: {fact.subject} {fact.name} was {fact.base}, is {fact.head}."


def _value_texts(one: Divergence) -> Iterator[str]:
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
    if frame.base is None and frame.head is None:
        return []
    if frame.time(lacking) is None:
        return [frame]
    found = [one for part in frame.parts for one in _alone(part, lacking)]
    return sorted(found, key=lambda one: -one.longest)


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
    was, now = diff_calls(*changed)
    return f"({targets[0][0]}) has other tensors or arguments: {was} → {now}"
