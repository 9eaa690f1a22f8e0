"""Audit every canned query: against an independent computation, and over every surface.

python -m tests.tools.audit.run [--quick] [--farm NAME] [--query NAME] [--surface NAME]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from tests.tools.audit import made_farms  # noqa: F401 - fills the list of farms
from tests.tools.audit.audit import audit_farm
from tests.tools.audit.farms import MAKERS


def main() -> int:
    """Audit the farms; the exit status is 1 if anything is unexplained."""
    console = Console()
    failed = 0
    for name, make in MAKERS.items():
        for finding in audit_farm(make(), []):
            failed += 1
            console.print(str(finding), markup=False, highlight=False)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
