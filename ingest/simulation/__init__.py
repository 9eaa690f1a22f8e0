"""A device farm that never was, for tests, demos and capacity planning.

Real programs (`templates/`, read by `programs.py`) run on made-up devices (`devices.py`), with the
noise that real dumps show (`noise.py`, `timeline.py`), over builds in which some operators change
(`changes.py`). `plan.py` decides all that, `recorder.py` makes dumps of it, `farm.py` writes them,
and `truth.py` says what was planted. Everything it writes is tagged as synthetic.
"""

from __future__ import annotations

from ingest.simulation.farm import FarmProgress, FarmWriter
from ingest.simulation.plan import FarmPlan, FarmSize, plan_farm
from ingest.simulation.truth import FarmSummary

__all__ = ["FarmPlan", "FarmProgress", "FarmSize", "FarmSummary", "FarmWriter", "plan_farm"]
