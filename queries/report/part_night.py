"""A part of the fleet, judged as of the night of a head."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

import numpy as np

from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.regressions.fleet import Fleet
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.replay import Replay
from tracehouse.warehouse.statistics.arrays import Mask


class PartNight(NamedTuple):
    """A part of the fleet, with all values and results."""

    head: str
    fleet: Fleet
    replay: Replay
    settings: Settings
    rules: Rules
    day: date | None

    @property
    def is_own(self) -> Mask:
        """Whether each night is the head's."""
        return np.array([night.build == self.head for night in self.fleet.nights])
