"""The output of an ingest into a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.spark.ingest import LakeIngest


def lake_ingest_table(done: LakeIngest, seconds: float) -> pa.Table:
    """One row of counts.

    `attached` counts known dumps that received an ETRecord or debug buffer; `changed` counts dumps
    that changed while they were read.
    """
    import pyarrow as pa

    row = {
        "dumps": done.n_dumps,
        "events": done.n_events,
        "known": done.n_known,
        "attached": done.n_attached,
        "changed": done.n_changed,
        "refused": len(done.refused),
        "seconds": seconds,
    }
    return pa.Table.from_pylist([row])
