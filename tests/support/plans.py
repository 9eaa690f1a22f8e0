"""The one plan of a lake, changed as if another had put it on record, or long ago."""

from __future__ import annotations

import json
import subprocess
import sys

from warehouse.lake.layout import PLANS
from warehouse.lake.place import Lake


def state_plan(lake: Lake, **facts: object) -> None:
    """Let the plan that there is say this."""
    (plan,) = lake.list(PLANS)
    lake.write(plan.path, json.dumps(json.loads(lake.read(plan.path)) | facts).encode())


def ended_process() -> int:
    """The number of a process that is gone."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid
