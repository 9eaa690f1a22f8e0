"""`tracehouse compact`: free disk space."""

from __future__ import annotations

from tracehouse.cli.options import StoreOptions
from tracehouse.cli.upkeep.running import run_task
from tracehouse.cli.upkeep.tasks import Compact


def compact(options: StoreOptions) -> None:
    """Return space that was freed in a store, for example by 'tracehouse retention', to the disk.

    Copies the DuckDB file without its free blocks, compares both table by table, and replaces the
    old file if the new one is smaller; until then the disk must hold both. Small segments of the
    archive are merged.
    """
    options.write(run_task(Compact(), options.store, wait=options.wait))
