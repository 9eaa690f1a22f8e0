"""All runs and profile events of an arena, read in full or recognised as repeats. Pure.

A small dump alone in its arena may also repeat an earlier dump as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import (
    MOST_PART_TEXT,
    PART_BYTES,
    Arena,
    Ints,
    PartTooLarge,
    Scope,
)
from tracehouse.ingest.etdump.columns import DumpHeaders, Texts
from tracehouse.ingest.etdump.dumps import Dumps, Ledger, StoredRuns, collect_extras, repeated_text
from tracehouse.ingest.etdump.layouts import SignatureBook, lay_out_runs
from tracehouse.ingest.etdump.long_runs import read_long_run
from tracehouse.ingest.etdump.repeats import (
    Part,
    Pieces,
    Repeats,
    cut_pieces,
    find_overlapping_fields,
    find_repeats,
    find_times,
)
from tracehouse.ingest.etdump.schema import read_headers, read_headers_of, read_runs
from tracehouse.ingest.etdump.templates import EQUAL, TEMPLATES, Template, make_template

FEWEST_WORDS = 1 << 15
"""Words of runs; with fewer, reading everything costs less than looking for repeats."""

_LARGEST = FEWEST_WORDS * 4  # bytes of a known dump; runs of larger ones are compared
_SIZE_BYTES = 256  # that the dumps of one size take if none of them is known


def read_dumps(arena: Arena, book: SignatureBook, part_bytes: int) -> Iterator[Dumps]:
    """Read and verify every dump of the arena, some runs at a time.

    An arena of more than `part_bytes`, of one dump, is read in parts.

    Yields:
        The dumps, or parts of them: all rows of some runs, or some events of one large run.

    Raises:
        FaultyDumps: Some dumps are malformed; read the others again without them.
    """
    heads = read_headers(arena)
    is_whole = len(arena.lo) > 1 or len(arena.u8) <= part_bytes
    pieces = cut_pieces(arena, heads)
    reader = _Reader(arena, heads, pieces, book, Ledger(arena, heads.visited), is_whole)
    count = len(heads.run_word)
    ends = [count]
    if not is_whole and count:
        part = (np.cumsum(pieces.length * 4) - 1) // part_bytes
        ends = [*(np.flatnonzero(np.diff(part)) + 1).tolist(), count]
    for begin, end in pairwise([0, *ends]):
        yield from reader.read(slice(begin, end))


@dataclass(frozen=True)
class _Reader:
    """Reads runs of an arena, all at once if they are whole dumps."""

    arena: Arena
    heads: DumpHeaders
    pieces: Pieces
    book: SignatureBook
    ledger: Ledger
    is_whole: bool

    def read(self, rows: slice) -> Iterator[Dumps]:
        """The runs of these rows, halved repeatedly while they are too large to be read at once."""
        heads = replace(
            self.heads,
            run_dump=self.heads.run_dump[rows],
            run_index=self.heads.run_index[rows],
            run_word=self.heads.run_word[rows],
        )
        try:
            dumps = self._read_at_once(heads, self.pieces.rows(rows))
        except PartTooLarge:
            if len(heads.run_word) == 1:
                yield from read_long_run(self.arena, heads, self.book, self.ledger)
                return
            middle = (rows.start + rows.stop) // 2
            yield from self.read(slice(rows.start, middle))
            yield from self.read(slice(middle, rows.stop))
            return
        yield dumps

    def _read_at_once(self, heads: DumpHeaders, pieces: Pieces) -> Dumps:
        """The runs of a record, charged to the ledger.

        Raises:
            PartTooLarge: The runs are too large; nothing is charged.
        """
        ledger, words = self.ledger, pieces.length.sum()
        if not self.is_whole and len(pieces.word) == 1 and words * 4 > PART_BYTES:
            raise PartTooLarge
        if words > FEWEST_WORDS:
            repeats = find_repeats(self.arena, pieces)
        else:
            repeats = Repeats([], [], np.zeros(len(self.arena.lo), np.int64))
        rest, visited = self._read_rest(heads, repeats)
        run, text = repeated_text(rest.runs)
        if not self.is_whole and text.sum() > MOST_PART_TEXT:
            raise PartTooLarge
        dumps = _unite(heads, repeats, rest, self.book, ledger.sizes)
        ledger.visited = visited
        ledger.charge_text(heads.run_dump[rest.run][run], text)
        of_layout = np.array([layout.text_bytes for layout in dumps.layouts] + [0])
        ledger.charge_text(heads.run_dump, of_layout[dumps.layout])
        ledger.check_signatures(
            heads.run_dump, dumps.layouts, dumps.layout, dumps.signature_id, self.book
        )
        return dumps

    def _read_rest(self, heads: DumpHeaders, repeats: Repeats) -> tuple[Part, Ints]:
        """The runs that do not repeat others, and the bytes visited so far, per dump."""
        is_rest = np.ones(len(heads.run_word), bool)
        for part in repeats.templates:
            is_rest[part.run] = False
        for block in repeats.blocks:
            is_rest[block.run] = False
        rest = np.flatnonzero(is_rest)
        scope = Scope.of_dumps(self.arena, heads.run_dump[rest])
        scope.charge(self.ledger.visited + repeats.visited)
        if not self.is_whole:
            scope.allow(PART_BYTES)
        return Part(rest, read_runs(scope, heads.run_word[rest])), scope.visited


def _unite(
    heads: DumpHeaders, repeats: Repeats, rest: Part, book: SignatureBook, sizes: Ints
) -> Dumps:
    """One record of the runs read in full and their repeats."""
    parts = [part for part in (*repeats.templates, rest) if len(part.run)] or [rest]
    laid_out = [lay_out_runs(part.runs, book, heads.run_dump[part.run], sizes) for part in parts]
    # `source` is, for every run, its row (or its template's) among the concatenated parts.
    read = np.concatenate([part.run for part in parts])
    source = np.empty(len(heads.run_word), np.int64)
    source[read] = np.arange(len(read))
    for block in repeats.blocks:
        source[block.run] = source[block.template]
    profiles = [part.runs.profiles for part in parts]
    name_shift = np.cumsum([0] + [len(part.runs.name.values) for part in parts])
    layouts = [layout for laid in laid_out for layout in laid.layouts]
    numbers = {layout: number for number, layout in enumerate(dict.fromkeys(layouts))}
    number = np.array([numbers[layout] for layout in layouts] + [-1])
    layout_shift = np.cumsum([0] + [len(laid.layouts) for laid in laid_out])
    repeated = sum(len(block.run) for block in repeats.blocks)
    assert len(read) + repeated == len(heads.run_word), "each run is read, or repeats one that is"
    dumps = Dumps(
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
        stored=[StoredRuns(part.run, is_uniform=False) for part in parts]
        + [StoredRuns(block.run, is_uniform=True) for block in repeats.blocks],
        start=_join([events.start for events in profiles], [b.starts for b in repeats.blocks]),
        end=_join([events.end for events in profiles], [b.ends for b in repeats.blocks]),
        extras=collect_extras(rest.run, rest.runs),
    )
    assert len(dumps.start) == len(dumps.end) == dumps.counts.sum(), "each event has its times"
    return dumps


def _shift(codes: list[Ints], shift: Ints) -> Ints:
    """Codes of several parts as codes of one list; negative codes stay as they are."""
    moved = [np.where(code < 0, code, code + by) for code, by in zip(codes, shift, strict=False)]
    return np.concatenate(moved)


def _join(
    read: list[NDArray[np.uint64]], repeated: list[list[NDArray[np.uint64]]]
) -> NDArray[np.uint64]:
    """Times of the runs read in full, then of the repeats, given as (runs x events)."""
    return np.concatenate([*read, *(slab.ravel() for slabs in repeated for slab in slabs)])


@dataclass(frozen=True)
class _KnownDump:
    """A dump that was read in full, its contents, and the tables of its signatures."""

    template: Template
    record: Dumps
    signatures: dict[str, Any]


@dataclass
class _DumpSize:
    """The known dumps of one size, and how many dumps of this size were read in full."""

    known: list[_KnownDump] = field(default_factory=list)
    reads: int = 0


def recall_dump(buffer: Any) -> tuple[Dumps, dict[str, Any]] | None:
    """The contents of a dump that repeats a known one, and what was remembered with that."""
    size = TEMPLATES.known.get(memoryview(buffer).nbytes)
    if not (size and size.known):
        return None
    units = _units(buffer)[None, :]
    for known in size.known:
        if known.template.is_repeated(units)[0]:
            start, end = known.template.read_times(units)
            return replace(known.record, start=start[0], end=end[0]), known.signatures
    return None


def remember_dump(buffer: Any, signatures: dict[str, Any]) -> None:
    """Keep a small, valid ETDump if another one of its size was read in full before.

    Dumps of a size that never repeat one another are rarely kept, as studying them takes time.
    """
    byte_count = memoryview(buffer).nbytes
    if byte_count > _LARGEST:
        return
    size = TEMPLATES.known.get(byte_count)
    if size is None:
        size = _DumpSize()
        TEMPLATES.add(byte_count, size, _SIZE_BYTES)
    size.reads += 1
    if size.reads > 1 and size.reads.bit_count() == 1 and (known := _study(buffer, signatures)):
        TEMPLATES.add(byte_count, size, 2 * byte_count)
        size.known.insert(0, known)


def _study(buffer: Any, signatures: dict[str, Any]) -> _KnownDump | None:
    """The dump as a template; None if any of its objects overlaps the time of an event."""
    arena, units = Arena([buffer]), _units(buffer)
    head = Scope.of_dumps(arena, np.zeros(1, np.int64))
    head.spans = []
    heads = read_headers_of(head)
    body = Scope.of_dumps(arena, heads.run_dump)
    body.spans = []
    profiles = read_runs(body, heads.run_word).profiles
    (record,) = read_dumps(arena, SignatureBook(), _LARGEST)
    order = _order_events(record, profiles.run)
    start, end = (np.where(time < 0, -1, time >> 1)[order] for time in find_times(profiles.tables))
    template = make_template(units, np.full(2 * len(units), EQUAL, np.uint8), start, end)
    uses = _count_uses(arena, [head, body], len(units)).reshape(-1, 8)
    if (uses[~template.is_equal] != 1).any() or len(find_overlapping_fields(profiles.tables)):
        return None
    return _KnownDump(template, record, signatures)


def _order_events(record: Dumps, run: Ints) -> Ints:
    """The order in which the record has the times of events, whose runs are given in file order."""
    stored = np.concatenate([stored.run for stored in record.stored])
    return np.argsort(np.argsort(stored)[run], kind="stable")


def _count_uses(arena: Arena, scopes: list[Scope], units: int) -> Ints:
    """For each byte, how many objects contain it; shape (units * 8,)."""
    begins, ends = [np.zeros(1, np.int64)], [np.full(1, 12)]  # size, root offset and identifier
    for scope in scopes:
        for _, begin, end in scope.spans or []:
            begins.append(begin)
            ends.append(end)
        for _, table in scope.tables:
            vtable = np.unique(table * 4 - arena.i32[table])
            begins.append(vtable)
            ends.append(vtable + arena.u16[vtable >> 1])
    begun, ended = (
        np.bincount(np.concatenate(some), minlength=units * 8 + 1) for some in (begins, ends)
    )
    return np.cumsum(begun - ended)[:-1]


def _units(buffer: Any) -> NDArray[np.uint64]:
    view = memoryview(buffer).cast("B")
    return np.frombuffer(b"".join([view, bytes(-len(view) % 8)]), np.uint64)
