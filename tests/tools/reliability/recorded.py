"""What runs of torture found: printed, kept where that is wanted, and the exit status."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Results = dict[str, dict[str, Any]]


def run_recorded(doc: str | None, count: int, run: Callable[[int, int], Results]) -> int:
    """Run with a count and a seed of the command line; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    results = run(arguments.count, arguments.seed)
    text = json.dumps(results, indent=1) + "\n"
    sys.stdout.write(text)
    if arguments.record:
        arguments.record.write_text(text)
    return int(any(result["problems"] for result in results.values()))
