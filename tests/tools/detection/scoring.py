"""How good alarms are: false ones, and changes found, how soon and whether where they began."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tests.tools.detection.detectors import Alarm
from tests.tools.detection.farms import PlantedChange

NEAR = 2  # builds between the one that changed and the one named, for a change to be found
NEVER = 1_000_000


class DetectionResult(NamedTuple):
    """What became of planted changes.

    Attributes:
        builds: Builds it took to find each, that with the change included; NEVER if not found.
        is_right: Whether the very build was named.
    """

    builds: list[int]
    is_right: list[bool]

    def share_within(self, builds: int) -> float:
        """Share of the changes that was found within so many builds."""
        return float(np.mean([taken <= builds for taken in self.builds]))

    @property
    def right_share(self) -> float | None:
        """Share of those found whose very build was named; None without any."""
        right = [
            right for right, taken in zip(self.is_right, self.builds, strict=True) if taken != NEVER
        ]
        return float(np.mean(right)) if right else None


def find_planted(alarms: Sequence[Alarm], planted: Sequence[PlantedChange]) -> DetectionResult:
    """Which changes were found: by an alarm of the same series and direction, near enough."""
    builds, is_right = [], []
    for change in planted:
        hits = [
            alarm
            for alarm in alarms
            if alarm.series == change.series
            and alarm.night >= change.first_bad
            and (alarm.direction > 0) == (change.ratio > 1)
            and abs(alarm.first_bad - change.first_bad) <= NEAR
        ]
        first = min(hits, key=lambda alarm: alarm.night, default=None)
        builds.append(first.night - change.first_bad + 1 if first else NEVER)
        is_right.append(first is not None and first.first_bad == change.first_bad)
    return DetectionResult(builds, is_right)


def alarmed_share(alarms: Sequence[Alarm], series_count: int) -> float:
    """Share of the series with an alarm."""
    return len({alarm.series for alarm in alarms}) / series_count
