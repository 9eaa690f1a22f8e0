"""A synthetic device farm, for tests and benchmarks of any size.

Real programs (`templates/`, read by `programs.py`) run on imaginary devices (`devices.py`), with
the noise of real dumps (`noise.py`, `timeline.py`), over builds in which some operators change
(`changes.py`). `plan.py` plans all of this, `recorder.py` creates dumps, `farm.py` writes them, and
`truth.py` describes the changes. All manifests are tagged as synthetic.
"""

from __future__ import annotations

from pathlib import Path

from tests.tools.simulation.farm import FarmProgress, FarmWriter
from tests.tools.simulation.plan import FarmPlan, FarmSize, plan_farm
from tests.tools.simulation.truth import FarmSummary

__all__ = [
    "TEMPLATES",
    "FarmPlan",
    "FarmProgress",
    "FarmSize",
    "FarmSummary",
    "FarmWriter",
    "plan_farm",
]

TEMPLATES = Path(__file__).parent / "templates"
