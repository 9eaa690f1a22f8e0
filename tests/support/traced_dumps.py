"""Small dumps as ExecuTorch's runtime writes them, made with the tracer."""

from __future__ import annotations

from functools import cache
from itertools import count

from tracehouse import ETDumpWriter


@cache
def traced_dump(number: int) -> bytes:
    """A dump of two runs of one operator; dumps of other numbers have other times."""
    ticks = count(1_000_000, 1_000 + number)
    tracer = ETDumpWriter(clock=lambda: next(ticks))
    for _ in range(2):
        with (
            tracer.block("Execute"),
            tracer.profile_method("Method::execute"),
            tracer.profile("OPERATOR_CALL", instruction=0),
            tracer.profile("native_call_relu.out"),
        ):
            pass
    return tracer.finish()[0]
