"""Runs that repeat an earlier run of their dump byte for byte, but for times: found, not read. Pure.

The runtime writes a run in one piece: its table first, then everything the table leads to, up to
the table of the run before it. Runs of one signature fill pieces of one length, in which only the
times and the distances to the dump's vtables differ. So one run of each length is read and
verified in full, within the bounds of its piece, and stands as model for the others: where all
their other words are equal, everything verified for the model holds for them too, and only their
times are gathered. What does not match is simply read in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ingest.arena import Arena, FaultyDumps, Ints, Mask
from ingest.etdump import Heads, Runs, read_runs
from ingest.flatbuffer import Scope

_FEWEST = 3  # runs of one length in a dump before one of them becomes a model

_SLAB = 1 << 16  # words compared at a time, to stay in the cache
_DISTANCE, _TIME = 1, 2  # words of a piece that may differ: distance to a vtable, half a time


@dataclass(frozen=True)
class Block:
    """Repeats of alike models: their runs, model of each, and times (runs x profile events)."""

    run: Ints
    model: Ints
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]


@dataclass(frozen=True)
class Repeats:
    """Runs taken as models, read in full, and the runs that repeat them.

    Attributes:
        model_run: Run that each row of `models` is.
        models: The models; they hold nothing but profile events without metadata.
        blocks: Their repeats; `Block.model` is a row of `models`.
        visited: Bytes that reading models and repeats in full takes, per dump.
    """

    model_run: Ints
    models: Runs
    blocks: list[Block]
    visited: Ints


@dataclass(frozen=True)
class _Pieces:
    """Runs as pieces of the arena: word and length (in words) of each, and its model's run."""

    word: Ints
    length: Ints
    model: Ints


@dataclass(frozen=True)
class _Form:
    """Models of one length whose words play the same parts.

    Attributes:
        rows: The models.
        parts: What each word of the piece is: 0, _DISTANCE or _TIME.
        start, end: Word of each event's time within the piece, -1 if absent (models x events).
    """

    rows: Ints
    parts: NDArray[np.uint8]
    start: Ints
    end: Ints


def find_repeats(arena: Arena, heads: Heads) -> Repeats:
    """Find the runs that need not be read, and read their models."""
    pieces = _cut(arena, heads)
    model_run = np.flatnonzero(np.bincount(pieces.model[pieces.model >= 0]))
    while True:
        begin = pieces.word[model_run] * 4
        end = begin + pieces.length[model_run] * 4
        scope = Scope.of_pieces(arena, heads.run_dump[model_run], begin, end)
        try:
            models = read_runs(scope, pieces.word[model_run])
        except FaultyDumps as faulty:  # not in one piece: read those dumps' runs in full
            model_run = model_run[~np.isin(heads.run_dump[model_run], list(faulty.faults))]
            continue
        is_plain = _is_plain(models)
        if is_plain.all():
            break
        model_run = model_run[is_plain]
    row = np.full(len(pieces.word) + 1, -1, np.int64)
    row[model_run] = np.arange(len(model_run))
    model = row[pieces.model]
    model[model_run] = -1  # a model is not its own repeat
    blocks = [
        _match(arena, pieces, model_run, form, model)
        for form in _forms(scope, models, pieces, model_run)
    ]
    visited = np.zeros(len(arena.lo))
    for run, rows in [(model_run, row[model_run]), *((b.run, b.model) for b in blocks)]:
        visited += np.bincount(
            heads.run_dump[run], weights=scope.visited[rows], minlength=len(visited)
        )
    return Repeats(model_run, models, blocks, visited.astype(np.int64))


def _cut(arena: Arena, heads: Heads) -> _Pieces:
    """A run's piece goes from its table to the next run's; model -1 where few share a length."""
    word, dump = heads.run_word, heads.run_dump
    order = np.argsort(word, kind="stable")
    end = arena.hi[dump] >> 2
    follows = dump[order[1:]] == dump[order[:-1]]
    end[order[:-1][follows]] = word[order[1:]][follows]
    length = end - word
    keys = dump * (length.max(initial=0) + 1) + length
    _, first, member, count = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    shared = (count[member] >= _FEWEST) & (length > 0)
    return _Pieces(word, length, np.where(shared, first[member], -1))


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


def _forms(scope: Scope, models: Runs, pieces: _Pieces, model_run: Ints) -> Iterator[_Form]:
    word, length = pieces.word[model_run], pieces.length[model_run]
    flat = np.cumsum(length) - length
    parts = np.zeros(int(length.sum()), np.uint8)
    for owner, at in scope.tables:
        parts[flat[owner] + at - word[owner]] = _DISTANCE
    times = []
    for slot in (6, 7):
        tables = models.profiles.tables
        within = tables.word + (tables.offset(slot) >> 2) - word[tables.owner]
        present = tables.has(slot)
        for half in (0, 1):
            parts[(flat[tables.owner] + within + half)[present]] = _TIME
        times.append(np.where(present, within, -1))
    counts = models.profile_counts
    first = np.cumsum(counts) - counts
    alike: dict[tuple[bytes, int], list[int]] = {}
    for row, (begin, size) in enumerate(zip(flat.tolist(), length.tolist(), strict=True)):
        key = parts[begin : begin + size].tobytes(), int(counts[row])
        alike.setdefault(key, []).append(row)
    for (text, count), members in alike.items():
        rows = np.array(members, np.int64)
        events = first[rows][:, None] + np.arange(count)
        yield _Form(rows, np.frombuffer(text, np.uint8), times[0][events], times[1][events])


def _match(arena: Arena, pieces: _Pieces, model_run: Ints, form: _Form, model: Ints) -> Block:
    """The runs that repeat a model of this form, and their times."""
    place = np.full(len(model_run) + 1, -1, np.int64)
    place[form.rows] = np.arange(len(form.rows))
    run = np.flatnonzero(place[model] >= 0)
    which = place[model[run]]
    word, model_word = pieces.word[run], pieces.word[model_run[form.rows]][which]
    same = np.concatenate(
        [np.zeros(0, bool)]
        + [
            _compare(arena, word[i : i + slab], model_word[i : i + slab], form.parts)
            for slab in [max(_SLAB // len(form.parts), 1)]
            for i in range(0, len(run), slab)
        ]
    )
    run, which, word = run[same], which[same], word[same]
    return Block(
        run,
        model[run],
        _gather_times(arena, word, form.start[which]),
        _gather_times(arena, word, form.end[which]),
    )


def _compare(arena: Arena, word: Ints, model_word: Ints, parts: NDArray[np.uint8]) -> Mask:
    """Whether each piece equals its model's, but for its times and its distance to the vtables."""
    pieces = sliding_window_view(arena.i32, len(parts))
    differs = pieces[word] - pieces[model_word]
    moved = word - model_word
    differs[:, parts == _DISTANCE] -= (moved * 4).astype(np.int32)[:, None]
    differs[:, parts == _TIME] = 0
    same: Mask = ~differs.any(axis=1) & (moved & 1 == 0)
    return same


def _gather_times(arena: Arena, word: Ints, within: Ints) -> NDArray[np.uint64]:
    times = arena.u64[(word[:, None] + within) >> 1]
    times[within < 0] = 0
    return times
