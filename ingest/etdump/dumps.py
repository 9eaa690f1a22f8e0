"""What an arena's dumps hold, ready to become tables. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.etdump.arena import Ints
from ingest.etdump.columns import Heads, Texts
from ingest.etdump.layouts import Layout
from ingest.etdump.repeats import Part


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
class Cut:
    """What is known of a whole run where only some of its events are at hand.

    Attributes:
        is_first: Whether they are its first.
        event_count: Profile events in the run.
        origin: Earliest start in the run; 0 without profile events.
        value_positions: Position of each value at hand among those of its operator in the run.
    """

    is_first: bool
    event_count: int
    origin: np.uint64
    value_positions: NDArray[np.int32]


@dataclass(frozen=True)
class Dumps:
    """Everything the dumps of an arena hold, or some of their runs, or some events of one run.

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
        cut: Set where there is one run and not all of its events.
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
    cut: Cut | None = None
