from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.corpus import FARM, NIGHTS
from tracehouse.ingest.errors import SinkError
from tracehouse.ingest.sample.copying import DUMPS, copy_sample
from tracehouse.ingest.sources.listing import find_sources


def test_every_file_of_the_farm_is_copied(tmp_path: Path) -> None:
    summary = copy_sample(tmp_path / "new" / "farm")
    copied = {
        path.relative_to(tmp_path / "new" / "farm"): path.read_bytes()
        for path in (tmp_path / "new" / "farm").rglob("*")
        if path.is_file()
    }
    shipped = {
        path.relative_to(FARM): path.read_bytes() for path in FARM.rglob("*") if path.is_file()
    }
    shipped[Path(NIGHTS.name)] = NIGHTS.read_bytes()
    assert copied == shipped
    assert summary == (len(shipped), sum(map(len, shipped.values())))
    assert len(find_sources([tmp_path / "new" / "farm"])) == DUMPS


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SinkError, match="file/farm"):
        copy_sample(tmp_path / "file" / "farm")
