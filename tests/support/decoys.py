"""A folder of a user's own modules that are named like the parts of tracehouse, and a script."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.corpus import CORPUS

_NAMES = ("action", "cli", "ingest", "queries", "sql", "tests", "warehouse")
# Imports everything, and asks a store, which reads files of the package.
_SCRIPT = f"""
import pkgutil
import tracehouse

OTHERS = ("executorch", "mcp", "py4j", "pyspark", "torch")  # which may be missing

def missing(name):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        return error.name.partition(".")[0]

names = [one.name for one in pkgutil.walk_packages(tracehouse.__path__, "tracehouse.", print)]
wrong = {{name: found for name in names if (found := missing(name)) and found not in OTHERS}}
assert not wrong, wrong
assert len(names) > 400, names
for name in tracehouse.__all__:
    try:
        getattr(tracehouse, name)
    except ModuleNotFoundError as error:
        assert error.name in OTHERS, name
manifest = {{"device": "d", "build": "b", "model": "m"}}
with tracehouse.Warehouse.open("store", create=True) as store:
    store.ingest([{str(CORPUS / "real" / "load_only.etdp")!r}], manifest=manifest)
    assert store.query("dumps").num_rows == 1
print(tracehouse.__file__)
"""


def run_beside_decoys(python: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script, which prints where tracehouse is, in a folder where every part is another."""
    for name in _NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError('of another project')\n")
    (folder / "sql" / "migrations").mkdir()
    (folder / "sql" / "migrations" / "999_other.sql").write_text("SELECT 1;\n")
    script = folder / "script.py"
    script.write_text(_SCRIPT)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [python, script], cwd=folder, env=environment, capture_output=True, text=True
    )
