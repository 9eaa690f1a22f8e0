"""Run the notebook and compare what it prints with what it says; `--write` keeps what it prints.

python -m tests.tools.site.execute [--write]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[3]
NOTEBOOK = ROOT / "docs/notebooks/farm.ipynb"


def main() -> None:
    """Run it; exit 1 if it prints something else."""
    said = nbformat.read(NOTEBOOK, as_version=4)
    ran = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(ran, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    if "--write" in sys.argv:
        for cell in ran.cells:
            cell.metadata.clear()  # times of the execution
        nbformat.write(ran, NOTEBOOK)
        return
    for number, (before, after) in enumerate(zip(said.cells, ran.cells, strict=True)):
        if printed(before) != printed(after):
            print(f"cell {number} says\n{printed(before)}\nand prints\n{printed(after)}")
            sys.exit(1)
    print(f"{NOTEBOOK.relative_to(ROOT)}: {len(ran.cells)} cells, as they say")


def printed(cell: Any) -> list[str]:
    """Texts that a cell put out; a picture is only there or not."""
    return [
        "a picture" if "image/svg+xml" in output.get("data", {})
        else output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.get("outputs", ())
    ]  # fmt: skip


if __name__ == "__main__":
    main()
