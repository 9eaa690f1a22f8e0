"""All runs and profile events of an arena, whether read in full or recognised as repeats. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ingest.arena import Arena, Ints
from ingest.etdump import Heads, Texts, read_heads, read_runs
from ingest.layouts import Layout, SignatureBook, lay_out_runs
from ingest.repeats import Part, Repeats, cut_pieces, find_repeats
from ingest.scope import Scope


@dataclass(frozen=True)
class Stored:
    """Runs whose profile events are stored one after the other.

    Attributes:
        run: The runs, in the order of their events.
        is_uniform: Whether all of them have the layout of the first.
    """

    run: Ints
    is_uniform: bool


@dataclass(frozen=True)
class Dumps:
    """Everything the dumps of an arena hold.

    Attributes:
        heads: What comes before the runs.
        name: Name of each run.
        bundled_input_index: Bundled input index of each run.
        has_events: Whether each run has an event vector.
        layouts: Distinct layouts of runs.
        layout: Index in `layouts` per run; -1 without an event vector.
        signature_id: Run signature id per run; 0 without an event vector.
        counts: Profile events per run.
        stored: The runs in the order in which their profile events are stored.
        start: Start of each profile event as stored, each run's in file order.
        end: End of each profile event, likewise.
        rest: The runs that hold more than profile events, among others: the source of all else.
    """

    heads: Heads
    name: Texts
    bundled_input_index: NDArray[np.int32]
    has_events: NDArray[np.bool_]
    layouts: list[Layout]
    layout: Ints
    signature_id: Ints
    counts: Ints
    stored: list[Stored]
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    rest: Part


def read_dumps(arena: Arena, book: SignatureBook, part_bytes: int) -> Iterator[Dumps]:
    """Read and verify every dump of the arena, some runs at a time.

    Args:
        arena: The dumps.
        book: Where their signatures are put down.
        part_bytes: Size of the arena that is read in one go; a larger one comes in parts.

    Yields:
        The dumps, or parts of them: all rows of some runs.

    Raises:
        FaultyDumps: Some dumps are malformed; read the others again without them.
    """
    heads = read_heads(arena)
    pieces = cut_pieces(arena, heads)
    visited = heads.visited
    count = len(heads.run_word)
    part_count = max(min(-(-len(arena.u8) // part_bytes), count), 1)
    for part in range(part_count):
        rows = slice(part * count // part_count, (part + 1) * count // part_count)
        some = replace(
            heads,
            run_dump=heads.run_dump[rows],
            run_index=heads.run_index[rows],
            run_word=heads.run_word[rows],
        )
        repeats = find_repeats(arena, pieces.rows(rows))
        rest, visited = _read_rest(arena, some, repeats, visited)
        yield _unite(some, repeats, rest, book)


def _read_rest(arena: Arena, heads: Heads, repeats: Repeats, visited: Ints) -> tuple[Part, Ints]:
    """The runs that were not recognised, and the bytes visited so far, per dump."""
    is_rest = np.ones(len(heads.run_word), bool)
    for run in [part.run for part in repeats.models] + [block.run for block in repeats.blocks]:
        is_rest[run] = False
    rest = np.flatnonzero(is_rest)
    scope = Scope.of_dumps(arena, heads.run_dump[rest])
    scope.charge(visited + repeats.visited)
    return Part(rest, read_runs(scope, heads.run_word[rest])), scope.visited


def _unite(heads: Heads, repeats: Repeats, rest: Part, book: SignatureBook) -> Dumps:
    """One row per run and per event, wherever it was read."""
    parts = [part for part in (*repeats.models, rest) if len(part.run)] or [rest]
    laid_out = [lay_out_runs(part.runs, book) for part in parts]
    # The runs read in full stand one part after the other; `source` is the row of every run there.
    read = np.concatenate([part.run for part in parts])
    source = np.empty(len(heads.run_word), np.int64)
    source[read] = np.arange(len(read))
    for block in repeats.blocks:
        source[block.run] = source[block.model]
    profiles = [part.runs.profiles for part in parts]
    name_shift = np.cumsum([0] + [len(part.runs.name.values) for part in parts])
    layouts = [layout for laid in laid_out for layout in laid.layouts]
    numbers = {layout: number for number, layout in enumerate(dict.fromkeys(layouts))}
    number = np.array([numbers[layout] for layout in layouts] + [-1])
    layout_shift = np.cumsum([0] + [len(laid.layouts) for laid in laid_out])
    return Dumps(
        heads=heads,
        name=Texts(
            _shift([part.runs.name.codes for part in parts], name_shift)[source],
            [text for part in parts for text in part.runs.name.values],
        ),
        bundled_input_index=np.concatenate([part.runs.bundled_input_index for part in parts])[
            source
        ],
        has_events=np.concatenate([part.runs.has_events for part in parts])[source],
        layouts=list(numbers),
        layout=number[_shift([laid.layout for laid in laid_out], layout_shift)][source],
        signature_id=np.concatenate([laid.signature_id for laid in laid_out])[source],
        counts=np.concatenate([part.runs.profile_counts for part in parts])[source],
        stored=[Stored(part.run, is_uniform=False) for part in parts]
        + [Stored(block.run, is_uniform=True) for block in repeats.blocks],
        start=_join([events.start for events in profiles], [b.starts for b in repeats.blocks]),
        end=_join([events.end for events in profiles], [b.ends for b in repeats.blocks]),
        rest=rest,
    )


def _shift(codes: list[Ints], shift: Ints) -> Ints:
    """Codes of several parts as codes of one list; negative ones stay."""
    moved = [np.where(code < 0, code, code + by) for code, by in zip(codes, shift, strict=False)]
    return np.concatenate(moved)


def _join(
    read: list[NDArray[np.uint64]], repeated: list[list[NDArray[np.uint64]]]
) -> NDArray[np.uint64]:
    """Times of the runs read in full, then of the repeats, which come as (runs x events)."""
    return np.concatenate([*read, *(slab.ravel() for slabs in repeated for slab in slabs)])
