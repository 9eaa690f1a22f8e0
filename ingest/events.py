"""All runs and profile events of an arena: those read in full and those recognised as repeats. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.arena import Arena, Ints
from ingest.etdump import Heads, Runs, Texts, read_heads, read_runs
from ingest.flatbuffer import Scope
from ingest.layouts import Layout, SignatureBook, lay_out_runs
from ingest.repeats import Repeats, find_repeats


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
        start: Start of each profile event, run after run, in file order.
        end: End of each profile event, likewise.
        rest_run: Run that each row of `rest` is.
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
    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    rest_run: Ints
    rest: Runs


def read_dumps(arena: Arena, book: SignatureBook) -> Dumps:
    """Read and verify every dump of the arena.

    Raises:
        FaultyDumps: Some dumps are malformed; read the others again without them.
    """
    heads = read_heads(arena)
    repeats = find_repeats(arena, heads)
    rest_run, rest = _read_rest(arena, heads, repeats)
    return _unite(heads, repeats, rest_run, rest, book)


def _read_rest(arena: Arena, heads: Heads, repeats: Repeats) -> tuple[Ints, Runs]:
    is_rest = np.ones(len(heads.run_word), bool)
    for run in (repeats.model_run, *(block.run for block in repeats.blocks)):
        is_rest[run] = False
    rest = np.flatnonzero(is_rest)
    scope = Scope.of_dumps(arena, heads.run_dump[rest])
    scope.charge(heads.visited + repeats.visited)
    return rest, read_runs(scope, heads.run_word[rest])


def _unite(
    heads: Heads, repeats: Repeats, rest_run: Ints, rest: Runs, book: SignatureBook
) -> Dumps:
    """One row per run and per event, wherever it was read."""
    models = repeats.models
    model_layouts, rest_layouts = lay_out_runs(models, book), lay_out_runs(rest, book)
    # Rows of models, then rows of rest, as one column each; `source` is the row of every run.
    shift = len(repeats.model_run)
    source = np.empty(len(heads.run_word), np.int64)
    source[repeats.model_run] = np.arange(shift)
    source[rest_run] = np.arange(len(rest_run)) + shift
    for block in repeats.blocks:
        source[block.run] = block.model
    rest_layout = rest_layouts.layout
    shifted = np.where(rest_layout < 0, -1, rest_layout + len(model_layouts.layouts))
    layout = np.concatenate([model_layouts.layout, shifted])[source]
    signature_id = np.concatenate([model_layouts.signature_id, rest_layouts.signature_id])[source]
    counts = np.concatenate([models.profile_counts, rest.profile_counts])[source]
    names = np.where(rest.name.codes < 0, -1, rest.name.codes + len(models.name.values))
    start, end = _unite_times(repeats, rest_run, rest, counts)
    return Dumps(
        heads=heads,
        name=Texts(
            np.concatenate([models.name.codes, names])[source],
            models.name.values + rest.name.values,
        ),
        bundled_input_index=np.concatenate(
            [models.bundled_input_index, rest.bundled_input_index]
        )[source],
        has_events=np.concatenate([models.has_events, rest.has_events])[source],
        layouts=model_layouts.layouts + rest_layouts.layouts,
        layout=layout,
        signature_id=signature_id,
        counts=counts,
        start=start,
        end=end,
        rest_run=rest_run,
        rest=rest,
    )


def _unite_times(
    repeats: Repeats, rest_run: Ints, rest: Runs, counts: Ints
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    first = np.cumsum(counts) - counts
    start = np.empty(int(counts.sum()), np.uint64)
    end = np.empty(len(start), np.uint64)
    for run, runs in ((repeats.model_run, repeats.models), (rest_run, rest)):
        local = runs.profile_counts
        row = runs.profiles.run
        place = np.arange(len(row)) + (first[run] - np.cumsum(local) + local)[row]
        start[place], end[place] = runs.profiles.start, runs.profiles.end
    for block in repeats.blocks:
        places = first[block.run][:, None] + np.arange(block.start.shape[1])
        start[places], end[places] = block.start, block.end
    return start, end
