"""Runs that repeat another run byte for byte except for times are recognised, not read. Pure.

The runtime writes a run in one piece: its table first, then everything the table refers to, up to
the table of the run before it. Vtables are shared by all runs and come at the end of the file. So
runs of one signature are pieces of equal length that differ only in two things: the times, and the
distances from tables to their vtables, as each piece has a different distance from the end.

One run of each length, the template, is read and verified in full, within the bounds of its piece.
Another run repeats it if all other words are equal and its dump has equal vtables as far from its
end. Then all that was verified for the template holds for it too, and only its times are gathered.
Runs that do not match are read in full, so this affects only speed.

An example: two runs of 24 bytes each, in a file whose vtable is at byte 100:
    byte 40:  [vtable: 60 bytes on] [name] [start: 7 ] [end: 9 ]    the template
    byte 64:  [vtable: 36 bytes on] [name] [start: 12] [end: 15]    a repeat of it

The pieces are 24 bytes apart, and so the distances in their first words differ by 24; the names are
equal. So the second run has the template's event, from 12 to 15.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Arena, FaultyDumps, Ints, Mask
from tracehouse.ingest.etdump.columns import DumpHeaders, Runs
from tracehouse.ingest.etdump.flatbuffer import TableColumn
from tracehouse.ingest.etdump.schema import PROFILE_WIDTHS, read_runs
from tracehouse.ingest.etdump.scope import Scope

_MOST_VTABLES = 64  # of a template's tables; a runtime writes about ten

_FEWEST = 3  # runs of one length before one of them becomes a template
_VTABLE_BYTES = 4 + 2 * len(PROFILE_WIDTHS)  # read of a vtable: its sizes and the known slots
_ROUNDS = 3  # templates tried per length, for programs whose runs happen to be of one length
_LONGEST = 1 << 18  # words; longer runs are read in full
_SLAB = 1 << 16  # units compared at a time, to stay in the cache
_EQUAL, _DISTANCE, _TIME, _OUTSIDE = range(4)  # kinds of words; only the first must be equal


def can_be_templates(scope: Scope, runs: Runs) -> Mask:
    """Whether each run can be a template: plain events, no overlaps, few vtables."""
    return _is_plain(runs) & ~_has_overlaps(scope, runs) & _has_few_vtables(scope)


def _is_plain(runs: Runs) -> Mask:
    """Whether each run has only profile events without metadata."""
    is_plain = runs.has_events.copy()
    with_metadata = runs.profiles.run[runs.profiles.metadata.codes >= 0]
    for other in (
        runs.allocators.run, runs.allocations.run, runs.debugs.run, runs.empty_event_run,
        with_metadata,
    ):  # fmt: skip
        is_plain[other] = False
    return is_plain


def _has_few_vtables(scope: Scope) -> Mask:
    """Whether each run's tables have at most _MOST_VTABLES vtables."""
    owner, table = (np.concatenate(column) for column in zip(*scope.tables, strict=True))
    vtable = table * 4 - scope.arena.i32[table]
    if len(np.unique(vtable)) <= _MOST_VTABLES:
        return np.ones(len(scope.dump), bool)
    order = np.lexsort((vtable, owner))
    owner, vtable = owner[order], vtable[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(owner) != 0) | (np.diff(vtable) != 0)
    few: Mask = np.bincount(owner[is_new], minlength=len(scope.dump)) <= _MOST_VTABLES
    return few


def _has_overlaps(scope: Scope, runs: Runs) -> Mask:
    """Whether objects in each run overlap.

    No writer does that; in such a run, a word that may differ could be part of one that may not.
    """
    overlaps = np.zeros(len(runs.has_events), bool)
    owner, begin, end = (np.concatenate(column) for column in zip(*scope.spans or [], strict=True))
    order = np.argsort(begin, kind="stable")
    overlaps[owner[order[1:]][end[order[:-1]] > begin[order[1:]]]] = True
    overlaps[find_overlapping_fields(runs.profiles.tables)] = True
    return overlaps


def find_overlapping_fields(tables: TableColumn) -> Ints:
    """Owners of the profile events with fields that overlap."""
    absent = (1 << 16) + 16 * np.arange(len(PROFILE_WIDTHS))  # arbitrary places that do not overlap
    fields = np.where(tables.fields > 0, tables.fields, absent)
    order = np.argsort(fields, axis=1)
    first = np.take_along_axis(fields, order, axis=1)
    last = first + np.array(PROFILE_WIDTHS)[order]
    overlapping: Ints = tables.owner[(last[:, :-1] > first[:, 1:]).any(axis=1)[tables.shape]]
    return overlapping


def find_times(tables: TableColumn) -> tuple[Ints, Ints]:
    """Word of the start and of the end of each profile event, -1 if absent."""
    start, end = (
        np.where(tables.has(slot), tables.word + (tables.offset(slot) >> 2), -1) for slot in (6, 7)
    )
    return start, end


@dataclass(frozen=True)
class Part:
    """Runs that were read in full, and their indices."""

    run: Ints
    runs: Runs


@dataclass(frozen=True)
class Block:
    """Runs that repeat a template, and the times of their profile events.

    Attributes:
        run: The runs.
        template: The run that they repeat.
        starts, ends: Arrays of (some of the runs) x (profile events), together covering all runs.
    """

    run: Ints
    template: int
    starts: list[NDArray[np.uint64]]
    ends: list[NDArray[np.uint64]]


@dataclass(frozen=True)
class Repeats:
    """The repeats that were found.

    Attributes:
        templates: The template runs, which have only profile events without metadata.
        blocks: The runs that repeat them.
        visited: Bytes that reading all of these runs in full would visit, per dump.
    """

    templates: list[Part]
    blocks: list[Block]
    visited: Ints


@dataclass(frozen=True)
class Pieces:
    """Runs as pieces of the arena, one row per run.

    Attributes:
        dump: Dump of each run.
        word: First word of each piece.
        length: Words of each piece; 0 if two entries of the run vector refer to one table.
        from_end: Position of each piece relative to the end of its dump, in bytes.
    """

    dump: Ints
    word: Ints
    length: Ints
    from_end: Ints

    def rows(self, rows: slice) -> Pieces:
        """Some of the runs."""
        return Pieces(self.dump[rows], self.word[rows], self.length[rows], self.from_end[rows])


@dataclass(frozen=True)
class _Template:
    """A run that others may repeat, and which of its words may differ.

    Pieces are compared in units of 8 bytes, from the unit that contains their first word.

    Attributes:
        run: The template.
        units: The template's units.
        is_equal: Whether both words of a unit must be equal.
        equal: Words that must be equal in the other units.
        distance: Words with a distance to a vtable.
        start, end: Unit of each event's time, -1 if absent.
        vtables: Spans read of its tables' vtables, in bytes relative to the dump's end.
    """

    run: int
    units: NDArray[np.uint64]
    is_equal: Mask
    equal: Ints
    distance: Ints
    start: Ints
    end: Ints
    vtables: list[tuple[int, int]]


def find_repeats(arena: Arena, pieces: Pieces) -> Repeats:
    """Find runs that need not be read, and read their templates."""
    open_ = (pieces.length > 0) & (pieces.word + pieces.length < len(arena.i32))
    open_ &= pieces.length <= _LONGEST
    templates: list[Part] = []
    blocks: list[Block] = []
    visited = np.zeros(len(arena.lo), np.int64)
    for _ in range(_ROUNDS):
        found = _read_templates(arena, pieces, open_)
        if found is None:
            break
        chosen, scope, runs = found
        templates.append(Part(chosen, runs))
        for row, template in enumerate(_make_templates(scope, runs, pieces, chosen)):
            open_[template.run] = False
            block = _match(arena, pieces, template, open_)
            open_[block.run] = False
            blocks.append(block)
            counts = np.bincount(pieces.dump[block.run], minlength=len(visited))
            visited += counts * scope.visited[row]
            visited[pieces.dump[template.run]] += scope.visited[row]
    return Repeats(templates, blocks, visited)


def cut_pieces(arena: Arena, heads: DumpHeaders) -> Pieces:
    """The pieces: each goes from a run's table to the next one's, or to the end of the dump."""
    word, dump = heads.run_word, heads.run_dump
    order = np.argsort(word, kind="stable")
    end = arena.hi[dump] >> 2
    follows = dump[order[1:]] == dump[order[:-1]]
    end[order[:-1][follows]] = word[order[1:]][follows]
    return Pieces(dump, word, end - word, word * 4 - arena.hi[dump])


def _read_templates(arena: Arena, pieces: Pieces, open_: Mask) -> tuple[Ints, Scope, Runs] | None:
    """Read a possible template of each common length in full; None if no length has one.

    Open runs are candidates; unsuitable runs are closed.
    """
    while True:
        candidates = np.flatnonzero(open_)
        _, first, count = np.unique(
            pieces.length[candidates], return_index=True, return_counts=True
        )
        chosen = np.sort(candidates[first[count >= _FEWEST]])
        if not len(chosen):
            return None
        begin = pieces.word[chosen] * 4
        end = begin + pieces.length[chosen] * 4
        scope = Scope.of_pieces(arena, pieces.dump[chosen], begin, end)
        try:
            runs = read_runs(scope, pieces.word[chosen])
        except FaultyDumps as faulty:  # not in one piece: those runs are read in full later
            open_[np.isin(pieces.dump, list(faulty.faults))] = False
            continue
        is_plain = can_be_templates(scope, runs)
        if is_plain.all():
            return chosen, scope, runs
        open_[np.isin(pieces.length, pieces.length[chosen[~is_plain]])] = False


def _make_templates(scope: Scope, runs: Runs, pieces: Pieces, chosen: Ints) -> Iterator[_Template]:
    owner = np.concatenate([owner for owner, _ in scope.tables])
    table = np.concatenate([word for _, word in scope.tables])
    profiles = runs.profiles.tables
    places = find_times(profiles)
    for row, run in enumerate(chosen.tolist()):
        yield _template(
            scope.arena,
            pieces,
            run,
            table[owner == row],
            [place[profiles.owner == row] for place in places],
        )


def _template(arena: Arena, pieces: Pieces, run: int, tables: Ints, times: list[Ints]) -> _Template:
    """The template `run`, from the words of its tables and of its times."""
    first, length = int(pieces.word[run]), int(pieces.length[run])
    base = first >> 1  # the unit that holds the first word
    units = arena.u64[base : (first + length + 1) >> 1]
    parts = np.full((len(units), 2), _OUTSIDE, np.uint8)
    part = parts.reshape(-1)  # by word
    part[first & 1 :][:length] = _EQUAL
    part[tables - base * 2] = _DISTANCE
    start, end = (np.where(place >= 0, (place >> 1) - base, -1) for place in times)
    for time in (start, end):
        parts[time[time >= 0]] = _TIME
    is_equal = (parts == _EQUAL).all(axis=1)
    return _Template(
        run,
        units,
        is_equal,
        np.flatnonzero((part == _EQUAL) & ~is_equal.repeat(2)),
        np.flatnonzero(part == _DISTANCE),
        start,
        end,
        _vtable_spans(arena, tables, int(pieces.dump[run])),
    )


def _vtable_spans(arena: Arena, tables: Ints, dump: int) -> list[tuple[int, int]]:
    vtables = np.unique(tables * 4 - arena.i32[tables])
    begin = vtables - arena.hi[dump]
    sizes = np.minimum(arena.u16[vtables >> 1], _VTABLE_BYTES)
    return list(zip(begin.tolist(), (begin + sizes).tolist(), strict=True))


def _match(arena: Arena, pieces: Pieces, template: _Template, open_: Mask) -> Block:
    """The open runs that repeat the template, and their times."""
    run = np.flatnonzero(open_ & (pieces.length == pieces.length[template.run]))
    run = run[_has_vtables(arena, pieces, template, run)[pieces.dump[run]]]
    run = run[pieces.word[run] - pieces.word[template.run] & 1 == 0]
    slab = max(_SLAB // len(template.units), 1)
    window = sliding_window_view(arena.u64, len(template.units))
    found = [
        _compare(window, pieces, template, run[i : i + slab])
        for i in range(0, max(len(run), 1), slab)
    ]
    runs, starts, ends = zip(*found, strict=True)
    return Block(np.concatenate(runs), template.run, list(starts), list(ends))


def _has_vtables(arena: Arena, pieces: Pieces, template: _Template, run: Ints) -> Mask:
    """Whether each dump has the template's vtables at the same distance from its end.

    False for dumps without any of these runs.
    """
    has = np.zeros(len(arena.hi), bool)
    has[pieces.dump[run]] = True
    dump = np.flatnonzero(has)
    home, hi = arena.hi[pieces.dump[template.run]], arena.hi[dump]
    lowest = min((begin for begin, _ in template.vtables), default=0)
    same: Mask = (hi + lowest >= arena.lo[dump]) & (hi - home & 7 == 0)
    for begin, end in template.vtables:
        at = np.where(same, hi, home)[:, None] + np.arange(begin, end)
        same &= (arena.u8[at] == arena.u8[home + begin : home + end]).all(axis=1)
    has[dump] = same
    return has


def _compare(
    window: NDArray[np.uint64], pieces: Pieces, template: _Template, run: Ints
) -> tuple[Ints, NDArray[np.uint64], NDArray[np.uint64]]:
    """The runs that repeat the template, their starts and their ends.

    `window` has, for every unit of the arena, as many units from there on as the template has.
    """
    units = window[pieces.word[run] >> 1]
    differs = units != template.units
    differs &= template.is_equal
    words = units.view(np.int32)
    own = template.units.view(np.int32)
    moved = (pieces.from_end[run] - pieces.from_end[template.run]).astype(np.int32)
    same = (words[:, template.equal] == own[template.equal]).all(axis=1)
    same &= (words[:, template.distance] - own[template.distance] == moved[:, None]).all(axis=1)
    if differs.any():
        same &= ~differs.any(axis=1)
    if not same.all():
        run, units = run[same], units[same]
    return run, _times(units, template.start), _times(units, template.end)


def _times(units: NDArray[np.uint64], places: Ints) -> NDArray[np.uint64]:
    times: NDArray[np.uint64] = units[:, places]
    if (places < 0).any():
        times[:, places < 0] = 0
    return times
