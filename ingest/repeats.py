"""Runs that repeat another run byte for byte, but for times: found, not read. Pure.

The runtime writes a run in one piece: its table first, then everything the table leads to, up to
the table of the run before it; the vtables, shared by all runs, stand in the pieces of the first
runs, at the end of the file. Runs of one signature fill pieces of one length, in which only the
times and the distances to the vtables differ, within a dump and between dumps of one program. So
one run of each length is read and verified in full, within the bounds of its piece, and stands as
model for the others. Where all other words of a piece are equal to the model's, and its tables
lead to vtables equal to the model's, everything verified for the model holds for it too, and only
its times are gathered. What does not match is simply read in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ingest.arena import Arena, FaultyDumps, Ints, Mask
from ingest.etdump import Heads, Runs, read_runs
from ingest.scope import Scope

_FEWEST = 3  # runs of one length before one of them becomes a model
_ROUNDS = 3  # models tried per length, for programs whose runs happen to be of one length
_SLAB = 1 << 16  # words compared at a time, to stay in the cache
_DISTANCE, _TIME = 1, 2  # words of a piece that may differ: distance to a vtable, half a time


@dataclass(frozen=True)
class Part:
    """Runs read in full: which runs they are, and what is in them."""

    run: Ints
    runs: Runs


@dataclass(frozen=True)
class Block:
    """Runs that repeat one model run, and their times (runs x profile events)."""

    run: Ints
    model: int
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]


@dataclass(frozen=True)
class Repeats:
    """What was recognised.

    Attributes:
        models: The model runs; they hold nothing but profile events without metadata.
        blocks: The runs that repeat them.
        visited: Bytes that reading all of them in full takes, per dump.
    """

    models: list[Part]
    blocks: list[Block]
    visited: Ints


@dataclass(frozen=True)
class _Pieces:
    """Runs as pieces of the arena.

    Attributes:
        dump: Dump of each run.
        word: First word of each piece.
        length: Words of each piece; 0 where two entries of the run vector are one table.
        from_end: Byte of each piece relative to the end of its dump, where the vtables are.
    """

    dump: Ints
    word: Ints
    length: Ints
    from_end: Ints


@dataclass(frozen=True)
class _Form:
    """How a model's words may differ in its repeats.

    Attributes:
        run: The model.
        parts: What each word of the piece is: 0 (equal), _DISTANCE or _TIME.
        start, end: Word of each event's time within the piece, -1 if absent.
        vtables: Bytes of the vtables its tables lead to, as spans relative to the dump's end.
    """

    run: int
    parts: NDArray[np.uint8]
    start: Ints
    end: Ints
    vtables: list[tuple[int, int]]


def find_repeats(arena: Arena, heads: Heads) -> Repeats:
    """Find the runs that need not be read, and read their models."""
    pieces = _cut(arena, heads)
    open_ = pieces.length > 0
    models: list[Part] = []
    blocks: list[Block] = []
    visited = np.zeros(len(arena.lo), np.int64)
    for _ in range(_ROUNDS):
        chosen, scope, runs = _read_models(arena, pieces, open_)
        if not len(chosen):
            break
        models.append(Part(chosen, runs))
        for row, form in enumerate(_forms(scope, runs, pieces, chosen)):
            open_[form.run] = False
            block = _match(arena, pieces, form, open_)
            open_[block.run] = False
            blocks.append(block)
            counts = np.bincount(pieces.dump[block.run], minlength=len(visited))
            visited += counts * scope.visited[row]
            visited[pieces.dump[form.run]] += scope.visited[row]
    return Repeats(models, blocks, visited)


def _cut(arena: Arena, heads: Heads) -> _Pieces:
    """A run's piece goes from its table to the next table of a run, or the end of the dump."""
    word, dump = heads.run_word, heads.run_dump
    order = np.argsort(word, kind="stable")
    end = arena.hi[dump] >> 2
    follows = dump[order[1:]] == dump[order[:-1]]
    end[order[:-1][follows]] = word[order[1:]][follows]
    return _Pieces(dump, word, end - word, word * 4 - arena.hi[dump])


def _read_models(arena: Arena, pieces: _Pieces, open_: Mask) -> tuple[Ints, Scope, Runs]:
    """One open run of each common length, read in full; what cannot be a model is closed."""
    while True:
        candidates = np.flatnonzero(open_)
        _, first, count = np.unique(
            pieces.length[candidates], return_index=True, return_counts=True
        )
        chosen = np.sort(candidates[first[count >= _FEWEST]])
        begin = pieces.word[chosen] * 4
        end = begin + pieces.length[chosen] * 4
        scope = Scope.of_pieces(arena, pieces.dump[chosen], begin, end)
        try:
            runs = read_runs(scope, pieces.word[chosen])
        except FaultyDumps as faulty:  # not in one piece: read those dumps' runs in full
            open_[np.isin(pieces.dump, list(faulty.faults))] = False
            continue
        is_plain = _is_plain(runs)
        if is_plain.all():
            return chosen, scope, runs
        open_[np.isin(pieces.length, pieces.length[chosen[~is_plain]])] = False


def _is_plain(runs: Runs) -> Mask:
    """Whether each run holds nothing but profile events without metadata."""
    is_plain = runs.has_events.copy()
    with_metadata = runs.profiles.run[runs.profiles.metadata.codes >= 0]
    for other in (
        runs.allocators.run, runs.allocations.run, runs.debugs.run, runs.empty_event_run,
        with_metadata,
    ):  # fmt: skip
        is_plain[other] = False
    return is_plain


def _forms(scope: Scope, models: Runs, pieces: _Pieces, chosen: Ints) -> Iterator[_Form]:
    word = pieces.word[chosen]
    owner = np.concatenate([owner for owner, _ in scope.tables])
    table = np.concatenate([word for _, word in scope.tables])
    tables = models.profiles.tables
    at = tables.word - word[tables.owner]
    times = [np.where(tables.has(slot), at + (tables.offset(slot) >> 2), -1) for slot in (6, 7)]
    for row, run in enumerate(chosen.tolist()):
        parts = np.zeros(int(pieces.length[run]), np.uint8)
        parts[table[owner == row] - word[row]] = _DISTANCE
        start, end = (within[tables.owner == row] for within in times)
        for within in (start, end):
            parts[within[within >= 0]] = _TIME
            parts[within[within >= 0] + 1] = _TIME
        spans = _vtable_spans(scope.arena, table[owner == row], int(pieces.dump[run]))
        yield _Form(run, parts, start, end, spans)


def _vtable_spans(arena: Arena, tables: Ints, dump: int) -> list[tuple[int, int]]:
    vtables = np.unique(tables * 4 - arena.i32[tables])
    begin = vtables - arena.hi[dump]
    sizes = arena.u16[vtables >> 1]
    return list(zip(begin.tolist(), (begin + sizes).tolist(), strict=True))


def _match(arena: Arena, pieces: _Pieces, form: _Form, open_: Mask) -> Block:
    """The open runs that repeat the model of this form, and their times."""
    run = np.flatnonzero(open_ & (pieces.length == len(form.parts)))
    run = run[_has_vtables(arena, pieces, form)[pieces.dump[run]]]
    slab = max(_SLAB // len(form.parts), 1)
    same = [_compare(arena, pieces, form, run[i : i + slab]) for i in range(0, len(run), slab)]
    run = run[np.concatenate([np.zeros(0, bool), *same])]
    word = pieces.word[run]
    start, end = (_gather_times(arena, word, within) for within in (form.start, form.end))
    return Block(run, form.run, start, end)


def _has_vtables(arena: Arena, pieces: _Pieces, form: _Form) -> Mask:
    """Whether each dump has the model's vtables at the model's distance from its end."""
    home = arena.hi[pieces.dump[form.run]]
    lowest = min((begin for begin, _ in form.vtables), default=0)
    same: Mask = (arena.hi + lowest >= arena.lo) & (arena.hi - home & 7 == 0)
    for begin, end in form.vtables:
        at = np.where(same, arena.hi, home)[:, None] + np.arange(begin, end)
        same &= (arena.u8[at] == arena.u8[home + begin : home + end]).all(axis=1)
    return same


def _compare(arena: Arena, pieces: _Pieces, form: _Form, run: Ints) -> Mask:
    """Whether each piece equals the model's, but for its times and its distance to the vtables."""
    window = sliding_window_view(arena.i32, len(form.parts))
    model = form.run
    differs = window[pieces.word[run]] - window[pieces.word[model]]
    moved = pieces.from_end[run] - pieces.from_end[model]
    differs[:, form.parts == _DISTANCE] -= moved.astype(np.int32)[:, None]
    differs[:, form.parts == _TIME] = 0
    same: Mask = ~differs.any(axis=1) & (pieces.word[run] - pieces.word[model] & 1 == 0)
    return same


def _gather_times(arena: Arena, word: Ints, within: Ints) -> NDArray[np.uint64]:
    times: NDArray[np.uint64] = arena.u64[(word[:, None] + within) >> 1]
    times[:, within < 0] = 0
    return times
