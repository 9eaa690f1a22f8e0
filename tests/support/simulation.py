"""What tests of simulated farms share."""

from __future__ import annotations

from pathlib import Path

import tracehouse.ingest.simulation

TEMPLATES = Path(tracehouse.ingest.simulation.__file__).parent / "templates"
