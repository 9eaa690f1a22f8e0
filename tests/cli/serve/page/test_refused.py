"""What was refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.dump import Dump
from ingest.manifest.models import Manifest
from tests.support.service import serving
from tests.support.tiny_dumps import tiny_dump
from warehouse import Warehouse


def test_files_still_refused_stand_apart_from_those_ingested_since(tmp_path: Path) -> None:
    manifest = Manifest.model_validate({"device": "d", "build": "b", "model": "m"})
    bad = Dump.of_bytes("bad<b>.etdp", b"nonsense", manifest)
    late = Dump.of_bytes("late.etdp", b"nonsense too", manifest)
    with Warehouse.open(tmp_path / "s", create=True) as warehouse:
        warehouse.ingest([bad, late])
        warehouse.ingest([Dump.of_bytes("late.etdp", tiny_dump(1), manifest)])
    with serving(tmp_path / "s") as client:
        text = client.get("/errors").text
    still, settled = text.index("<h2>Still refused"), text.index("<h2>Resolved since")
    assert still < text.index("bad&lt;b&gt;.etdp") < settled < text.index("late.etdp")


def test_of_many_the_last_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.serve.page.refused.MOST", 2)
    manifest = Manifest.model_validate({"device": "d", "build": "b", "model": "m"})
    with Warehouse.open(tmp_path / "s", create=True) as warehouse:
        for number in range(3):
            warehouse.ingest([Dump.of_bytes(f"{number}.etdp", bytes([number]) * 9, manifest)])
    with serving(tmp_path / "s") as client:
        text = client.get("/errors").text
    assert "0.etdp" not in text
    assert text.index("2.etdp") < text.index("1.etdp")
    assert "Only the last 2 files of each kind are shown." in text
