from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from tests.support.stores import MANIFEST, ingest, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.upkeep.choice import choose_dumps


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three dumps, which nothing here changes."""
    folder = tmp_path_factory.mktemp("made")
    for number, device in enumerate("ppq"):
        write(folder / f"in/{number}.etdp", tiny_dump(number))
        facts = {"device": device, "build": "b,c", "model": "m", "lab": 3}
        write(folder / f"in/{number}.json", json.dumps(facts).encode())
    ingest(folder / "store", folder / "in", manifest=None)
    return folder / "store"


def test_dumps_are_chosen_by_hash_and_by_what_their_manifests_state(store: Path) -> None:
    with Warehouse.open_to_write(store) as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"build": "b,c", "tags.lab": "3"})
        assert [dump.dump_id for dump in dumps] == [1, 2, 3]
        by_device = choose_dumps(warehouse.writing, where={"device": "p", "model.name": "m"})
        assert by_device == dumps[:2]
        assert choose_dumps(warehouse.writing, prefix=dumps[1].sha256[:8].upper()) == dumps[1:2]


def test_a_selection_without_dumps_is_an_error(store: Path) -> None:
    cases: list[tuple[str | None, dict[str, str], str]] = [
        (None, {}, "no dumps are chosen"),
        ("abc", {}, "wanted the first 6 or more hex digits"),
        ("0" * 64, {}, "has no dump with 0000"),
        (None, {"device": "x"}, "has no dump with device=x"),
        (None, {"device": " ", "build": "b,c"}, "device: is empty: give a value"),
        (None, {"device": "p", "os": "Linux"}, "has no dump with device=p os=Linux"),
        (None, {"devcie": "p"}, "no field 'devcie'; e.g. build, device.os or tags.NAME"),
    ]
    with Warehouse.open_to_write(store) as warehouse:
        for prefix, where, problem in cases:
            with pytest.raises(QueryError, match=problem):
                choose_dumps(warehouse.writing, prefix=prefix, where=where)


def test_dumps_are_chosen_by_names_in_any_form_of_unicode(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Büro") for form in ("NFC", "NFD"))
    stated = MANIFEST | {"device": composed, composed: 3}
    ingest(tmp_path / "store", write(tmp_path / "a.etdp", tiny_dump(1)), manifest=stated)
    with Warehouse.open_to_write(tmp_path / "store") as warehouse:
        for name in (composed, decomposed):
            where = {"device": name, f"tags.{name}": "3"}
            assert len(choose_dumps(warehouse.writing, where=where)) == 1
