"""Dumps for benchmarks, made from a real one: the same events with other durations."""

from __future__ import annotations

import numpy as np

from tests.tools.simulation.dump_template import DumpTemplate


class Template(DumpTemplate):
    """A real dump whose times can be changed."""

    def vary(self, seed: int, *, scale: float = 1.0) -> bytes:
        """The dump with every event a little longer, by up to 1 us times `scale`."""
        rng = np.random.default_rng(seed)
        more = (rng.random(len(self.ends)) * 1000 * scale).astype(np.uint64)
        return self.with_times(self.starts, self.ends + more)
