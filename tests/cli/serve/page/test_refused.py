"""What was refused."""

from __future__ import annotations

from pathlib import Path

from tests.support.pages import table_rows
from tests.support.service import serving
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest


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


def test_many_have_pages_the_last_first(tmp_path: Path) -> None:
    manifest = Manifest.model_validate({"device": "d", "build": "b", "model": "m"})
    with Warehouse.open(tmp_path / "s", create=True) as warehouse:
        warehouse.ingest(
            [Dump.of_bytes(f"{number}.etdp", bytes([number]) * 9, manifest) for number in range(53)]
        )
    with serving(tmp_path / "s") as client:
        first, second = (client.get(f"/errors?sort=-source&page={page}").text for page in "12")
    assert [row[0] for row in table_rows(first)][:2] == ["52.etdp", "51.etdp"]
    assert [row[0] for row in table_rows(second)] == ["2.etdp", "1.etdp", "0.etdp"]
    assert "1 to 50 of 53" in first
