from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.moments import watched
from tests.support.stores import writing
from tracehouse.warehouse.archive import history
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import REFUSED, Entry
from tracehouse.warehouse.archive.history import read_indexed

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("point", "numbers"),
    [("seal", set()), ("sealed", set()), ("commit", set()), ("committed", {1})],
)
def test_an_interrupted_transaction_leaves_a_segment_only_if_it_is_committed(
    tmp_path: Path, point: str, numbers: set[int]
) -> None:
    def interrupt(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    archive = Archive(tmp_path / "store")
    with writing(tmp_path / "store") as connection:
        with (
            watched(interrupt),
            pytest.raises(KeyboardInterrupt),
            history.record_entries(connection, archive) as entries,
        ):
            entries.add([Entry(REFUSED, NOW, "a")])
        assert archive.numbers() == read_indexed(connection) == numbers
        assert not list(archive.folder.glob("*.new"))
