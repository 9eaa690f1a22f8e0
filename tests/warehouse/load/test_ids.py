from __future__ import annotations

from pathlib import Path

from tests.support.stores import writing
from tracehouse.ingest.manifest.models import Build, Device
from tracehouse.warehouse.load.dump_rows import Builds, NamedIds


def test_a_known_id_is_reused_unless_it_is_taken(tmp_path: Path) -> None:
    with writing(tmp_path / "store") as connection:
        devices = NamedIds(connection, "device")
        builds = Builds(connection)
        for name, known, expected in (("a", 3, 3), ("b", 3, 4), ("c", None, 5), ("a", 9, 3)):
            assert devices.id_of(Device(name=name), known) == expected
            assert builds.id_of(Build(id=name), known) == expected
