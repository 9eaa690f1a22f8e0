"""Measures ExecuTorch's Inspector for inspector.py, in an environment that has executorch.

Speaks JSON, a line each way: first it says what the import costs and the versions; then, for each
list of paths it is given, what reading them costs.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.metadata import version

from tests.tools.benchmarks.cost import measure


def main() -> None:
    """Answer until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")  # it warns of every dump that there is no debug buffer

    def import_inspector() -> None:
        import executorch.devtools  # type: ignore[import-not-found,unused-ignore] # noqa: F401

    start = measure(import_inspector)
    versions = {name: version(name) for name in ("executorch", "torch", "pandas")}
    print(json.dumps([start, versions]), file=answers, flush=True)
    from executorch.devtools import Inspector  # type: ignore[import-not-found,unused-ignore]

    for line in sys.stdin:
        paths = json.loads(line)
        cost = measure(lambda paths=paths: [Inspector(etdump_path=path) for path in paths])  # type: ignore[misc]
        print(json.dumps(cost), file=answers, flush=True)


if __name__ == "__main__":
    main()
