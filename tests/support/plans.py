"""The only plan of a lake, changed as if another writer had recorded it, or long ago."""

from __future__ import annotations

import json
import subprocess
import sys

from tracehouse.warehouse.lake.layout import PLANS
from tracehouse.warehouse.lake.place import Lake


def state_plan(lake: Lake, **facts: object) -> None:
    """Change fields of the lake's plan."""
    (plan,) = lake.list(PLANS)
    lake.write(plan.path, json.dumps(json.loads(lake.read(plan.path)) | facts).encode())


def ended_process() -> int:
    """The id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid
