"""The parts of an explanation in words, the same in all forms. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tracehouse.queries.explain.content import (
    Explanation,
    OperatorOrigin,
    Origin,
    ProgramChange,
    RunTimes,
    TimeFrame,
)
from tracehouse.queries.report.figures import (
    MAX_TEXT,
    NONE,
    cost_text,
    count_text,
    delta_text,
    duration_text,
    name_text,
)
from tracehouse.queries.report.outline import line_text
from tracehouse.queries.report.tables import Listing, make_listing

LEAST_SHARE = 0.005  # of a run's time, for a frame that is shown by itself
_ITEMS = re.compile(
    r"\b\w+(?:\[[^\]]{0,1000}\]|=(?:\[[^\]]{0,1000}\]|'[^']{0,1000}'|[^,()]{1,1000}))"
)
_MOST_NODES = 3
_NOWHERE = Origin(where="", nodes=[], is_whole_call=False, modules=[], sources=[])


class FrameRow(NamedTuple):
    """A frame as a line of a tree."""

    depth: int
    frame: TimeFrame
    base: str
    head: str
    change: str
    relative: str


def heading(explanation: Explanation) -> str:
    """The alert in a line."""
    return line_text(explanation.group)


def hidden_text(explanation: Explanation) -> str:
    """A note on the places that are not shown; empty if all are."""
    hidden = explanation.place_count - len(explanation.programs)
    shown = "the costliest device of each model is shown"
    return f"{count_text(hidden, 'more place')}: {shown}" if hidden > 0 else ""


def run_heading(times: RunTimes) -> str:
    """The method of a tree, in words."""
    return f"{name_text(times.breakdown.run)}, {times.place.where}"


def frame_rows(times: RunTimes) -> Iterator[FrameRow]:
    """The frames of a method that took or changed enough time, depth first."""
    least = LEAST_SHARE * times.frame.longest
    yield from _rows(times.frame, 0, least)


def _rows(frame: TimeFrame, depth: int, least: float) -> Iterator[FrameRow]:
    yield frame_row(frame, depth)
    for part in frame.parts:
        if is_shown(part, least):
            yield from _rows(part, depth + 1, least)


def is_shown(part: TimeFrame, least: float) -> bool:
    """Whether a frame is shown by itself: it is long or changed by so much, or of the alert."""
    return max(part.longest, abs(part.change)) >= least or part.has_member


def frame_row(frame: TimeFrame, depth: int) -> FrameRow:
    """A frame as a line of a tree."""
    relative = (
        delta_text(frame.change / frame.base) if frame.base and frame.head is not None else NONE
    )
    if (frame.base is None) != (frame.head is None):
        relative = "only head" if frame.base is None else "only base"
    return FrameRow(
        depth,
        frame,
        duration_text(frame.base),
        duration_text(frame.head),
        cost_text(frame.change),
        relative,
    )


def differing(base: str | None, head: str | None) -> tuple[str, str]:
    """The types and arguments in which two calls differ.

    >>> differing("(f32[2], dim=1) → f32[2] in a kernel", "(f32[3], dim=1) → f32[2] in a kernel")
    ('f32[2]', 'f32[3]')
    """
    if base is None or head is None:
        return base or NONE, head or NONE
    was, now = (_ITEMS.findall(text) for text in (base, head))
    where = [text.partition(" in ")[2] for text in (base, head)]
    if len(was) != len(now) or where[0] != where[1]:
        return base, head
    pairs = [(a, b) for a, b in zip(was, now, strict=True) if a != b]
    if not pairs:
        return base, head
    first, second = zip(*pairs, strict=True)
    return ", ".join(first), ", ".join(second)


def change_cells(change: ProgramChange) -> tuple[str, ...]:
    """A difference of programs as cells of a table."""
    base, head = differing(change.base, change.head)
    return change.change, change.part, *(name_text(x, MAX_TEXT) for x in (change.name, base, head))


def listings(explanation: Explanation) -> list[Listing]:
    """The tables of an explanation."""
    return [
        *_program_listings(explanation),
        *_operator_listings(explanation),
        make_listing(
            "Around the code",
            "What differs in environment, memory and counters of the dumps of both builds.",
            ("Where", "What", "Name", "Base", "Head"),
            [one for one in explanation.facts if one.is_changed],
            lambda one: (one.where, one.subject, one.name, one.base, one.head),
        ),
        make_listing(
            "Logged values",
            "The first value that differs between the newest dumps with logged values.",
            ("Where", "First that differs", "Compared>", "Equal>", "By how much"),
            explanation.divergences,
            lambda one: (
                one.where,
                one.operator or one.verdict.replace("_", " "),
                f"{one.compared_count:,}",
                f"{one.equal_count:,}",
                one.command,
            ),
        ),
    ]


def _program_listings(explanation: Explanation) -> Iterator[Listing]:
    for programs in explanation.programs:
        yield make_listing(
            f"Program of {programs.place.where}",
            f"{programs.place.builds}: calls by module, with the types of their tensors and what "
            "runs them. Of a call that changed, what differs.",
            ("Change", "Part", "Name", "Base", "Head"),
            programs.changes,
            change_cells,
        )


def _operator_listings(explanation: Explanation) -> Iterator[Listing]:
    for programs in explanation.programs:
        yield make_listing(
            f"Changed operators of {programs.place.where} in the program",
            "What the alert's operators are in both programs.",
            ("Operator", "Change>", "Base", "Head", "Module", "Source"),
            programs.operators,
            _operator_cells,
        )


def _operator_cells(one: OperatorOrigin) -> tuple[str, ...]:
    origin = one.head or one.base or _NOWHERE
    is_same = one.is_same and one.base is not None
    texts = ("the same", "the same") if is_same else map(origin_text, (one.base, one.head))
    places = (", ".join(names) or NONE for names in (origin.modules, origin.sources))
    return one.name, delta_text(one.delta), *texts, *places


def origin_text(origin: Origin | None) -> str:
    """The calls of an operator, and what runs them."""
    if origin is None:
        return NONE
    shown = "; ".join(origin.nodes[:_MOST_NODES])
    more = f" and {len(origin.nodes) - _MOST_NODES:,} more" * (len(origin.nodes) > _MOST_NODES)
    whole = "a call of " if origin.is_whole_call else ""
    return f"{whole}{shown}{more} in {origin.where}"
