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

from tracehouse.ingest.etdump.arena import Arena, FaultyDumps, Ints, Mask, Scope
from tracehouse.ingest.etdump.columns import DumpHeaders, Runs
from tracehouse.ingest.etdump.flatbuffer import TableColumn
from tracehouse.ingest.etdump.schema import PROFILE_WIDTHS, read_runs
from tracehouse.ingest.etdump.templates import DISTANCE, EQUAL, OUTSIDE, Template, make_template

_MOST_VTABLES = 64  # vtables of a template's tables; a runtime writes about ten

_FEWEST = 3  # runs of one length before one of them becomes a template
_VTABLE_BYTES = 4 + 2 * len(PROFILE_WIDTHS)  # read of a vtable: its sizes and the known slots
_ROUNDS = 3  # templates tried per length, for programs whose runs happen to be of one length
_LONGEST = 1 << 18  # words; longer runs are read in full
_SLAB = 1 << 16  # units compared at a time, to stay in the cache


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


def find_repeats(arena: Arena, pieces: Pieces) -> Repeats:
    """Find runs that need not be read, and read their templates."""
    is_open = (pieces.length > 0) & (pieces.word + pieces.length < len(arena.i32))
    is_open &= pieces.length <= _LONGEST
    templates: list[Part] = []
    blocks: list[Block] = []
    visited = np.zeros(len(arena.lo), np.int64)
    for _ in range(_ROUNDS):
        found = _read_templates(arena, pieces, is_open)
        if found is None:
            break
        chosen, scope, runs = found
        templates.append(Part(chosen, runs))
        is_open[chosen] = False
        for row, template in enumerate(_make_templates(scope, runs, pieces, chosen)):
            run = int(chosen[row])
            block = _match(arena, pieces, run, template, is_open)
            is_open[block.run] = False
            blocks.append(block)
            counts = np.bincount(pieces.dump[block.run], minlength=len(visited))
            visited += counts * scope.visited[row]
            visited[pieces.dump[run]] += scope.visited[row]
    return Repeats(templates, blocks, visited)


def cut_pieces(arena: Arena, heads: DumpHeaders) -> Pieces:
    """The pieces: each goes from a run's table to the next one's, or to the end of the dump."""
    word, dump = heads.run_word, heads.run_dump
    order = np.argsort(word, kind="stable")
    end = arena.hi[dump] >> 2
    follows = dump[order[1:]] == dump[order[:-1]]
    end[order[:-1][follows]] = word[order[1:]][follows]
    return Pieces(dump, word, end - word, word * 4 - arena.hi[dump])


def _read_templates(arena: Arena, pieces: Pieces, is_open: Mask) -> tuple[Ints, Scope, Runs] | None:
    """Read a possible template of each common length in full; None if no length has one.

    Open runs are candidates; unsuitable runs are closed.
    """
    while True:
        candidates = np.flatnonzero(is_open)
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
            is_open[np.isin(pieces.dump, list(faulty.faults))] = False
            continue
        is_plain = can_be_templates(scope, runs)
        if is_plain.all():
            return chosen, scope, runs
        is_open[np.isin(pieces.length, pieces.length[chosen[~is_plain]])] = False


def _make_templates(scope: Scope, runs: Runs, pieces: Pieces, chosen: Ints) -> Iterator[Template]:
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


def _template(arena: Arena, pieces: Pieces, run: int, tables: Ints, times: list[Ints]) -> Template:
    """The template `run`, from the words of its tables and of its times."""
    first, length = int(pieces.word[run]), int(pieces.length[run])
    base = first >> 1  # the unit that holds the first word
    units = arena.u64[base : (first + length + 1) >> 1]
    kinds = np.full(2 * len(units), OUTSIDE, np.uint8)  # by word
    kinds[first & 1 :][:length] = EQUAL
    kinds[tables - base * 2] = DISTANCE
    start, end = (np.where(at >= 0, (at >> 1) - base, -1) for at in times)
    return make_template(
        units, kinds, start, end, _vtable_spans(arena, tables, int(pieces.dump[run]))
    )


def _vtable_spans(arena: Arena, tables: Ints, dump: int) -> list[tuple[int, int]]:
    vtables = np.unique(tables * 4 - arena.i32[tables])
    begin = vtables - arena.hi[dump]
    sizes = np.minimum(arena.u16[vtables >> 1], _VTABLE_BYTES)
    return list(zip(begin.tolist(), (begin + sizes).tolist(), strict=True))


def _match(arena: Arena, pieces: Pieces, source: int, template: Template, is_open: Mask) -> Block:
    """The open runs that repeat the template of the run `source`, and their times."""
    run = np.flatnonzero(is_open & (pieces.length == pieces.length[source]))
    run = run[_has_vtables(arena, pieces, source, template, run)[pieces.dump[run]]]
    run = run[pieces.word[run] - pieces.word[source] & 1 == 0]
    slab = max(_SLAB // len(template.units), 1)
    window = sliding_window_view(arena.u64, len(template.units))
    runs, starts, ends = [], [], []
    for i in range(0, max(len(run), 1), slab):
        chunk = run[i : i + slab]
        units = window[pieces.word[chunk] >> 1]
        moved = (pieces.from_end[chunk] - pieces.from_end[source]).astype(np.int32)
        same = template.is_repeated(units, moved)
        if not same.all():
            chunk, units = chunk[same], units[same]
        start, end = template.read_times(units)
        runs.append(chunk)
        starts.append(start)
        ends.append(end)
    return Block(np.concatenate(runs), source, starts, ends)


def _has_vtables(arena: Arena, pieces: Pieces, source: int, template: Template, run: Ints) -> Mask:
    """Whether each dump has the template's vtables at the same distance from its end.

    False for dumps without any of these runs.
    """
    has = np.zeros(len(arena.hi), bool)
    has[pieces.dump[run]] = True
    dump = np.flatnonzero(has)
    home, hi = arena.hi[pieces.dump[source]], arena.hi[dump]
    lowest = min((begin for begin, _ in template.vtables), default=0)
    same: Mask = (hi + lowest >= arena.lo[dump]) & (hi - home & 7 == 0)
    for begin, end in template.vtables:
        at = np.where(same, hi, home)[:, None] + np.arange(begin, end)
        same &= (arena.u8[at] == arena.u8[home + begin : home + end]).all(axis=1)
    has[dump] = same
    return has
