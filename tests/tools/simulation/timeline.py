"""Starts and ends of a program's events, from the own time of each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.tools.simulation.programs import PlacedEvent
from tracehouse.ingest.etdump.arena import Ints, Mask

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Timeline:
    """Events as columns, and their segments of time.

    An event's own time is split into equal segments before, between and after its parts, so that a
    run's time consists of consecutive segments. The last segment of a run is the pause after it.

    Attributes:
        own_ns: Typical own time of each event, in the order of the log.
        first_ratio: Own time in the first iteration, relative to `own_ns`.
        origin: Origin of each event.
        is_delegated: Whether each event is logged by a delegate.
        holder: The event around each event; the outermost one, the last, has itself.
        segment_event: Event of each segment; one past the last event for the pause.
        segment_count: Segments of each event, and of the pause.
        begin: First segment of each event.
        end: First segment after each event.
    """

    own_ns: Floats
    first_ratio: Floats
    origin: Ints
    is_delegated: Mask
    holder: Ints
    segment_event: Ints
    segment_count: Ints
    begin: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.own_ns)

    @classmethod
    def of(cls, placed: Sequence[PlacedEvent]) -> Timeline:
        """The timeline of a run that logs these events, the last of which is the outermost."""
        events = [event for event, _ in placed]
        segments, begin, end, holder = _cut(placed)
        segment_event = np.array([*segments, len(events)])
        return cls(
            np.array([event.own_ns for event in events]),
            np.array([event.first_ratio for event in events]),
            np.array([event.origin for event in events]),
            np.array([event.delegate_id is not None for event in events]),
            np.array(holder),
            segment_event,
            np.bincount(segment_event),
            np.array(begin),
            np.array(end),
        )

    def lay_out(self, own_ns: Ints, pause_ns: Ints, origin_ns: int) -> tuple[Ints, Ints, int]:
        """Starts and ends of the events of consecutive runs.

        Args:
            own_ns: Own time of each event, in whole nanoseconds, one row per run.
            pause_ns: Time from the end of each run to the next.
            origin_ns: Start of the first run.

        Returns:
            Starts and ends in nanoseconds, one row per run, and the end of the last pause.
        """
        shares = np.column_stack([own_ns, pause_ns]) // self.segment_count
        segments = shares.take(self.segment_event, axis=1)
        after = segments.cumsum().reshape(segments.shape) + origin_ns
        before = after - segments
        return before.take(self.begin, axis=1), before.take(self.end, axis=1), int(after[-1, -1])


def _cut(placed: Sequence[PlacedEvent]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Event of each segment; and for each event its first segment, the one after it, its holder."""
    holder = list(range(len(placed)))
    segments: list[list[int]] = []  # of each event, parts included
    open_: list[int] = []  # events whose parent is still to come
    for number, (event, _) in enumerate(placed):
        first = len(open_) - len(event.parts)
        segments.append([number])
        for part in open_[first:]:
            holder[part] = number
            segments[number] += [*segments[part], number]
        open_[first:] = [number]
    whole = segments[-1]
    begin = [whole.index(number) for number in range(len(segments))]
    end = [first + len(own) for first, own in zip(begin, segments, strict=True)]
    return whole, begin, end, holder
