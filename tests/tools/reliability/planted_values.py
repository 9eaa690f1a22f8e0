"""Put wrong values into every table and column of a store, and verify it: `make torture`.

    python -m tests.tools.reliability.planted_values [--count 1000] [--seed N] [--record FILE]

The store has rows in every table. A round puts one wrong value into a column of every table, and
each must be found and named.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.support.planted import COLUMNS, find_planted, make_full_store, plan_values
from tests.tools.reliability.findings import Findings, Results, run_recorded


def plant_values(count: int, seed: int) -> Results:
    """Rounds until at least so many values were planted."""
    findings = Findings(seed)
    with tempfile.TemporaryDirectory(prefix="tracehouse-planted-") as folder:
        full, number = make_full_store(Path(folder)), 0
        while findings.outcomes.total() < count:
            for places in plan_values(findings.random, number):
                found = find_planted(full, Path(folder) / "store", places, findings.random)
                for table, column in places.items():
                    is_found = table in found
                    problem = "" if is_found else "the wrong value was not found"
                    findings.add("found" if is_found else "missed", f"{table}.{column}", problem)
            number += 1
    columns = sum(map(len, COLUMNS.values()))
    return {"planted values": findings.results(tables=len(COLUMNS), columns=columns)}


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 1000, plant_values))
