"""What an ingest into a lake did: a table of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.spark.ingest import LakeIngest


def lake_ingest_table(done: LakeIngest, seconds: float) -> pa.Table:
    """One row of counts.

    Attached are those of the known that an ETRecord or debug buffer came for; changed are dumps
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
