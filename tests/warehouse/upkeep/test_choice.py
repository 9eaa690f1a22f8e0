from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.corpus import read_dump
from tests.support.stores import ingest, write
from warehouse import Warehouse
from warehouse.errors import QueryError
from warehouse.upkeep.choice import choose_dumps


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three dumps, which nothing here changes."""
    folder = tmp_path_factory.mktemp("made")
    for number, (name, device) in enumerate(
        [("load_only", "p"), ("mixed_xnnpack_n20", "p"), ("mixed_portable_n20", "q")]
    ):
        file = write(folder / f"{number}.etdp", read_dump(f"real/{name}"))
        facts = {"device": device, "build": "b,c", "model": "m", "lab": 3}
        ingest(folder / "store", file, manifest=facts)
    return folder / "store"


def test_dumps_are_chosen_by_hash_and_by_what_their_manifests_state(store: Path) -> None:
    with Warehouse.open(store) as warehouse:
        dumps = choose_dumps(warehouse.writing, where={"build": "b,c", "tags.lab": "3"})
        assert [dump.dump_id for dump in dumps] == [1, 2, 3]
        by_device = choose_dumps(warehouse.writing, where={"device": "p", "model.name": "m"})
        assert by_device == dumps[:2]
        assert choose_dumps(warehouse.writing, prefix=dumps[1].sha256[:8].upper()) == dumps[1:2]


@pytest.mark.parametrize(
    ("prefix", "where", "problem"),
    [
        (None, {}, "no dumps are chosen"),
        ("abc", {}, "wanted the first 6 or more hex digits"),
        ("0" * 64, {}, "has no dump with 0000"),
        (None, {"device": "x"}, "has no dump with device=x"),
        (None, {"device": "p", "os": "Linux"}, "has no dump with device=p os=Linux"),
        (None, {"devcie": "p"}, "no field 'devcie'; e.g. build, device.os or tags.NAME"),
    ],
)
def test_a_choice_of_nothing_is_an_error(
    store: Path, prefix: str | None, where: dict[str, str], problem: str
) -> None:
    with Warehouse.open(store) as warehouse, pytest.raises(QueryError, match=problem):
        choose_dumps(warehouse.writing, prefix=prefix, where=where)
