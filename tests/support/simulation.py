"""What tests of simulated farms share."""

from __future__ import annotations

from pathlib import Path

import ingest.simulation

TEMPLATES = Path(ingest.simulation.__file__).parent / "templates"
