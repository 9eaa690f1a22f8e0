"""A dump that is known to be good: where another dump meets a bug, it tells whose fault that is.

If the control dump passes the same step, only the other dump meets the bug, and is refused for it.
"""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import count

from tracehouse.ingest.manifest.models import Build, Device, Manifest, Model
from tracehouse.ingest.tracer.writer import ETDumpWriter
from tracehouse.warehouse.load.new_dump import NewDump

_NAME = "control"


@cache
def control_dump() -> NewDump:
    """The dump, under a SHA-256 that no bytes have in a store."""
    tracer = ETDumpWriter(clock=count(1).__next__)
    with tracer.block(_NAME), tracer.profile(_NAME, instruction=0):
        pass
    data, _ = tracer.finish()
    stated = Manifest(device=Device(name=_NAME), build=Build(id=_NAME), model=Model(name=_NAME))
    return NewDump(_NAME, hashlib.sha256(_NAME.encode()).hexdigest(), stated, data=data)
