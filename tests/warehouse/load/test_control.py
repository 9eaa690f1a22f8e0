from __future__ import annotations

from tracehouse import decode_dumps
from tracehouse.warehouse.load.content import control_dump


def test_the_control_dump_has_an_event_and_is_always_the_same() -> None:
    decoded = decode_dumps([control_dump().data])
    assert (decoded.errors.num_rows, decoded.tables["events"].num_rows) == (0, 1)
    assert control_dump() is control_dump()
