"""A synthetic device farm, for tests, demos and capacity planning.

Real programs (`templates/`, read by `programs.py`) run on imaginary devices (`devices.py`), with
the noise of real dumps (`noise.py`, `timeline.py`), over builds in which some operators change
(`changes.py`). `plan.py` plans all of this, `recorder.py` creates dumps, `farm.py` writes them, and
`truth.py` describes the changes. All manifests are tagged as synthetic.
"""

from __future__ import annotations

from tracehouse.ingest.simulation.farm import FarmProgress, FarmWriter
from tracehouse.ingest.simulation.plan import FarmPlan, FarmSize, plan_farm
from tracehouse.ingest.simulation.truth import FarmSummary

__all__ = ["FarmPlan", "FarmProgress", "FarmSize", "FarmSummary", "FarmWriter", "plan_farm"]
