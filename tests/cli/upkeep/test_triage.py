from __future__ import annotations

from collections.abc import Callable

import pytest

from tracehouse.cli.upkeep.task import Task
from tracehouse.cli.upkeep.triage import Accept, Note
from tracehouse.warehouse.errors import QueryError


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Accept(reason="", groups=("g",)), "wanted a reason, found none"),
        (lambda: Accept(reason="r"), "wanted groups, or the model"),
        (lambda: Accept(reason="r", groups=("g",), state="s"), "state: found 's', wanted one of"),
        (lambda: Note(text=" ", on={"build": "b1"}), "found 0, wanted 1 to 500"),
        (lambda: Note(text="x" * 501, on={"build": "b1"}), "found 501, wanted 1 to 500"),
        (lambda: Note(text="x", on={"device": "d"}), "wanted the build of the points, found none"),
        (lambda: Note(text="x", on={"build": "b", "os": "l"}), "found 'os', wanted one of: build,"),
        (lambda: Note(text="x", on={"build": "b", "ordinal": "one"}), "ordinal: found 'one', want"),
        (lambda: Note(text="x", withdraw="5d1c"), "wanted the id of a note alone"),
    ],
)
def test_a_task_without_meaning_cannot_be_made(make: Callable[[], Task], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        make()
