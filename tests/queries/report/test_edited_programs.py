"""Laws of breakdowns over random edits of real programs, as a store would read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from tests.support.edited_programs import Edited, edit_real_programs, make_program, measure
from tracehouse.queries.report.breakdowns import MethodTimes, break_down_methods
from tracehouse.queries.report.parts import Breakdown
from tracehouse.warehouse.alignment.histories import Sighting, name_operators
from tracehouse.warehouse.alignment.programs import Name, Program
from tracehouse.warehouse.catalogue.sql_files import read_statement

FAST, ALL = 450, 10_000
PLACE = {"device": "phone", "model": "m", "backend": "b", "run": "Execute"}
FRAMEWORK_NS, OWN_NS = 3_000.0, 500.0  # OWN_NS of each delegate call
NOISE = 0.12  # of an operator's change, which is 1 % of both builds, and 2 % of a whole build


class Build(NamedTuple):
    """A program with its measured times, and the names that builds have in common."""

    program: Program
    ns: Mapping[int, float]
    names: Mapping[int, Name]


class TwoBuilds:
    """What a store says of two builds."""

    def __init__(self, base: Build, head: Build) -> None:
        self._builds = {"b1": base, "b2": head}

    def sql(self, text: str, params: Mapping[str, Any] | None = None, /) -> pa.Table:
        if text == read_statement("framework_times"):
            return pa.Table.from_pylist(
                [{**PLACE, "build": build, "tax_ns": FRAMEWORK_NS} for build in self._builds]
            )
        assert text == read_statement("programs_of_methods")
        assert params is not None
        return pa.Table.from_pylist(
            [
                {
                    **PLACE,
                    "build": build,
                    "kind": event.kind,
                    "logged_name": event.logged_name,
                    "module": event.module,
                    **own.names[event.id]._asdict(),
                }
                | {"kind": event.kind}
                for build in params["builds"].split("\x1f")
                for own in [self._builds[build]]
                for event in own.program.events
            ]
        )

    def query(self, name: str, /, **params: object) -> pa.Table:
        raise AssertionError(name)


def slow_down(random: Random, edited: Edited) -> Edited:
    """The edit, with another operator of the head slower by a quarter to three quarters."""
    at = random.randrange(len(edited.head))
    slow = edited.head[at]._replace(ns=edited.head[at].ns * random.uniform(1.25, 1.75))
    head = (*edited.head[:at], slow, *edited.head[at + 1 :])
    return edited._replace(head=head, touched=edited.touched | {slow.tag})


def measured(random: Random, edited: Edited) -> tuple[Build, Build]:
    programs = [
        make_program(edited.base),
        make_program(edited.head, first_number=7 if edited.is_renumbered else 1),
    ]
    found = []
    for program, items in zip(programs, (edited.base, edited.head), strict=True):
        ns = dict(zip((e.id for e in program.events), measure(random, program, items), strict=True))
        for call, event in enumerate(program.events):
            if event.kind == "delegate_call":
                inside = [
                    each.id
                    for each, one in zip(program.events, program.operators, strict=True)
                    if one.call == call
                ]
                ns[event.id] = OWN_NS + sum(ns[id_] for id_ in inside)
        found.append(ns)
    sightings = [Sighting("phone", number, 5, number) for number in (0, 1)]
    times = {("phone", number, number): found[number] for number in (0, 1)}
    renamed = {
        (program, event): name
        for program, event, name in name_operators(sightings, dict(enumerate(programs)), times)
    }
    base, head = (
        Build(
            program,
            found[number],
            {e.id: renamed.get((number, e.id), e.name) for e in program.events},
        )
        for number, program in enumerate(programs)
    )
    return base, head


def key(name: Name) -> tuple[Any, ...]:
    return name.event_name, name.delegate_id, name.ordinal


def total(build: Build) -> float:
    outer = (e for e in build.program.events if e.kind in ("kernel", "delegate_call"))
    return FRAMEWORK_NS + sum(build.ns[event.id] for event in outer)


def broken_down(base: Build, head: Build) -> Breakdown:
    names: dict[tuple[Any, ...], Name] = {}
    times: list[dict[tuple[Any, ...], float]] = []
    for build in (base, head):
        own = {key(build.names[event.id]): event for event in build.program.events}
        assert len(own) == len(build.program.events)  # no two have one name
        names |= {name: build.names[event.id] for name, event in own.items()}
        times.append({name: build.ns[event.id] for name, event in own.items()})
    parts = [(names[name]._asdict(), times[0].get(name), times[1].get(name)) for name in names]
    method = MethodTimes(PLACE, total(base), total(head), parts, (["b1"], ["b2"]), 1.0)
    return break_down_methods(TwoBuilds(base, head), [method])[0]


def unexpected(found: Breakdown, edited: Edited, base: Build, head: Build) -> list[str]:
    """Parts that say of operators that were not edited that they changed."""
    true = {item.tag: item.ns for item in (*edited.base, *edited.head)}
    tags: dict[tuple[Any, ...], set[int]] = {}
    for build in (base, head):
        for event in build.program.events:
            tags.setdefault(key(build.names[event.id]), set()).add(event.id)
    told = []
    edited_ns = [true[tag] for tag in edited.touched]
    for part in found.parts:
        if part.event_name is None or part.kind == "like operators":
            continue
        own = tags[part.event_name, part.delegate_id, part.ordinal]
        if own & edited.touched:
            continue
        ns = max(true[tag] for tag in own)
        is_twin = any(abs(each - ns) <= 0.05 * ns + 1_000 for each in edited_ns)
        limit = NOISE * ns + 1_000
        if (part.kind != "operator" and not is_twin) or (
            part.kind == "operator" and abs(part.cost_ns) > limit
        ):
            told.append(f"{part.kind} {part.event_name} #{part.ordinal}: {part.cost_ns:.0f} ns")
    return told


@pytest.mark.parametrize("count", [FAST, pytest.param(ALL, marks=pytest.mark.slow, id="all")])
def test_parts_add_up_and_blame_only_what_was_edited(count: int) -> None:
    random, operators = Random(51), 0  # noqa: S311 - edits
    blamed: list[str] = []
    kinds: Counter[str] = Counter()
    for number, plain in enumerate(edit_real_programs(random, count)):
        edited = plain if number % 2 else slow_down(random, plain)
        base, head = measured(random, edited)
        found, back = broken_down(base, head), broken_down(head, base)
        # The parts are all of the change; nothing is left that runs are irregular by.
        assert sum(part.cost_ns for part in found.parts) == pytest.approx(found.cost_ns, abs=0.01)
        assert found.parts[-1].kind == "irregular runs"
        assert abs(found.parts[-1].cost_ns) < 0.01
        # Base and head swapped give the opposite.
        assert sorted(round(part.cost_ns, 2) for part in found.parts) == pytest.approx(
            sorted(round(-part.cost_ns, 2) for part in back.parts), abs=0.02
        )
        blamed += unexpected(found, edited, base, head)
        operators += len(edited.base)
        kinds.update(part.kind for part in found.parts)
    assert len(blamed) <= operators / 2_000, blamed
    assert min(kinds[kind] for kind in ("new operator", "removed operator", "like operators")) > 9
