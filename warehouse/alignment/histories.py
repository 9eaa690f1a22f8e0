"""The operators of a model over its builds: each keeps one name, that of the newest program.

Programs that follow each other on a device are aligned, and an operator has the name that it has in
the newest of them, so all earlier builds go by it too. An operator that the newer programs lack
keeps its own name, with the next number if that is taken. Programs that differ only in numbers have
the same shape; a shape that returns, after a revert, is the same again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from tracehouse.warehouse.alignment.alignment import align
from tracehouse.warehouse.alignment.programs import Name, Program

_MOST_ALIGNMENTS = 4096  # kept by a process, each of some 10 kB


class Sighting(NamedTuple):
    """A build in which a device ran a program.

    Attributes:
        device: Name of the device.
        position: Position of the build.
        dump_count: Number of its dumps with the program.
        program: Id of the run signature.
    """

    device: str
    position: int
    dump_count: int
    program: int


# Times of events by id, for a device, the position of a build and a program.
Times = Mapping[tuple[str, int, int], Mapping[int, float]]
Known = Mapping[tuple[int, int], Name]  # names of events, by program and id
_Shape = tuple[object, ...]
_Names = list[tuple[Name, Name | None]]  # of each operator, and of the OPERATOR_CALL around it


def name_operators(
    sightings: Sequence[Sighting],
    programs: Mapping[int, Program],
    times: Times,
    known: Known = MappingProxyType({}),
) -> Iterator[tuple[int, int, Name]]:
    """The events, by program and id, that go by another name than in their own program.

    Args:
        sightings: Where the programs ran.
        programs: The programs, by their ids.
        times: Times of the sightings of `list_steps`; unknown ones are absent.
        known: Names in place of those in an event's own program, if these sightings are a part of
            longer histories.
    """
    shapes = _find_newest(sightings, programs)
    newest, number = list(shapes.values()), _number_shapes(shapes, sightings, programs)
    names: dict[int, _Names] = {}
    numbers = _Numbers()
    for shape, step in _walk(sightings, number):
        own = programs[newest[shape]]
        if step is None:
            names[shape] = _own_names(own, newest[shape], known)
        else:
            pairs = _pair(step, shape, number, programs, times)
            other = number[step[0].program] + number[step[1].program] - shape
            names[shape] = _carry(
                _own_names(own, newest[shape], known), pairs, names[other], numbers
            )
        numbers.take(names[shape])
    for id_, shape in number.items():
        program = programs[id_]
        for event, caller, named in zip(program.events, program.callers, names[shape], strict=True):
            for own_event, name in ((event, named[0]), (caller, named[1])):
                if own_event and name and name != own_event.name:
                    yield id_, own_event.id, name


def list_steps(
    sightings: Sequence[Sighting], programs: Mapping[int, Program]
) -> Iterator[Sighting]:
    """The sightings next to another program of the device, whose times break ties."""
    shapes = _find_newest(sightings, programs)
    number = _number_shapes(shapes, sightings, programs)
    steps = dict.fromkeys(one for step in _list_changes(sightings, number) for one in step)
    yield from steps


def _number_shapes(
    shapes: Iterable[_Shape], sightings: Sequence[Sighting], programs: Mapping[int, Program]
) -> dict[int, int]:
    """The number of each program's shape among all shapes."""
    numbers = {shape: number for number, shape in enumerate(shapes)}
    return {one.program: numbers[programs[one.program].shape] for one in sightings}


def _find_newest(
    sightings: Sequence[Sighting], programs: Mapping[int, Program]
) -> dict[_Shape, int]:
    """The newest program of each shape, newest shapes first."""
    ordered = sorted(
        sightings, key=lambda one: (one.position, one.dump_count, one.program, one.device)
    )
    newest: dict[_Shape, int] = {}
    for sighting in reversed(ordered):
        newest.setdefault(programs[sighting.program].shape, sighting.program)
    return newest


_Step = tuple[Sighting, Sighting]


def _walk(
    sightings: Sequence[Sighting], number: Mapping[int, int]
) -> Iterator[tuple[int, _Step | None]]:
    """The shapes, each with the step between builds that leads to it; None for a newest one.

    The steps are a spanning tree: those that most devices took come first, then the latest.
    """
    steps: dict[tuple[int, int], list[_Step]] = defaultdict(list)
    for step in _list_changes(sightings, number):
        ends = sorted(number[one.program] for one in step)
        steps[ends[0], ends[1]].append(step)
    links: dict[int, list[tuple[int, _Step]]] = defaultdict(list)
    joined = list(range(max(number.values(), default=-1) + 1))

    def root(shape: int) -> int:
        while joined[shape] != shape:
            shape = joined[shape]
        return shape

    for (one, other), taken in sorted(steps.items(), key=lambda item: (-len(item[1]), item[0])):
        if (first := root(one)) != (second := root(other)):
            joined[max(first, second)] = min(first, second)
            step = max(taken, key=lambda each: (each[1].position, each))
            links[one].append((other, step))
            links[other].append((one, step))
    seen: set[int] = set()
    for shape in range(len(joined)):
        waiting: list[tuple[int, _Step | None]] = [(shape, None)] if shape not in seen else []
        for each, way in waiting:
            seen.add(each)
            yield each, way
            waiting += sorted(link for link in links[each] if link[0] not in seen)


def _list_changes(sightings: Sequence[Sighting], number: Mapping[int, int]) -> Iterator[_Step]:
    """The steps at which devices went from one shape to another."""
    ordered = sorted(sightings, key=lambda one: (one.device, one.position, one.program))
    for one, other in pairwise(ordered):
        if one.device == other.device and number[one.program] != number[other.program]:
            yield one, other


def _pair(
    step: _Step,
    shape: int,
    number: Mapping[int, int],
    programs: Mapping[int, Program],
    times: Times,
) -> Mapping[int, int]:
    """The operators of a shape by those of the other shape of a step."""
    known = [_read_times(one, programs[one.program], times) for one in step]
    both = (known[0], known[1]) if known[0] and known[1] else None
    found = _align(programs[step[0].program], programs[step[1].program], both)
    is_first = number[step[0].program] == shape
    return found if is_first else {two: one for one, two in found.items()}


def _read_times(one: Sighting, program: Program, times: Times) -> tuple[float, ...] | None:
    known = times.get((one.device, one.position, one.program))
    return tuple(known.get(event.id, float("nan")) for event in program.events) if known else None


@lru_cache(_MOST_ALIGNMENTS)
def _align(
    base: Program,
    head: Program,
    times: tuple[tuple[float, ...], tuple[float, ...]] | None,
) -> Mapping[int, int]:
    return align(base, head, times)


def _own_names(program: Program, id_: int, known: Known) -> _Names:
    return [
        (
            known.get((id_, event.id), event.name),
            known.get((id_, caller.id), caller.name) if caller else None,
        )
        for event, caller in zip(program.events, program.callers, strict=True)
    ]


def _carry(own: _Names, pairs: Mapping[int, int], known: _Names, numbers: _Numbers) -> _Names:
    """The names of a program's operators: those of their partners, else their own."""
    named: _Names = []
    for place, (event, caller) in enumerate(own):
        around = None
        if place in pairs:
            event, around = known[pairs[place]]
        else:
            event = numbers.find(event)
        named.append((event, caller and (around or numbers.find(caller))))
    return named


class _Numbers:
    """The numbers that are taken, of each name."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str | None], set[int]] = defaultdict(set)

    def take(self, names: _Names) -> None:
        """Take the numbers of names."""
        for name in (each for both in names for each in both if each):
            self._taken[name[:2]].add(name.ordinal)

    def find(self, name: Name) -> Name:
        """The name, with the next number if its own is taken; takes it."""
        taken = self._taken[name[:2]]
        ordinal = max(taken) + 1 if name.ordinal in taken else name.ordinal
        taken.add(ordinal)
        return name._replace(ordinal=ordinal)
