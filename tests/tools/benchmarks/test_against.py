"""A side of `make bench-against` does what it is told, and says what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.documents import ROOT
from tests.tools.benchmarks.against import NIGHTLY, REBUILD, NotDoneError, Side
from tests.tools.benchmarks.decode import DATA, SMALL


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    side = Side(ROOT, tmp_path_factory.mktemp("this"))
    side.do("ingest", "{own}/store", DATA / "farm/lab-x86-quiet-ab", turn=0)
    yield side
    side.close()


@pytest.mark.parametrize(
    "action",
    [
        ("decode", SMALL, SMALL),
        ("open", "{own}/store", "dumps", {}),
        ("ask", "{own}/store", "percentiles", {"approx": "true"}),
        ("run", [["sql"]], "SELECT 1", "--store", "{own}/store"),
        ("run", NIGHTLY, "--format", "json", "--store", "{own}/store"),
        ("run", REBUILD, "--store", "{own}/store"),
        ("ingest", "{new}store", SMALL.parent),
        ("fill", "{own}/nights", 2, 2, 3, 10, 3),
    ],
)
def test_a_benchmark_side_measures_its_actions(side: Side, action: tuple[object, ...]) -> None:
    assert side.do(*action, turn=1) > 0


def test_a_benchmark_side_serves_uploads_and_queries(side: Side, tmp_path: Path) -> None:
    (tmp_path / "1.etdp").write_bytes(SMALL.read_bytes())
    (tmp_path / "manifest.json").write_text('{"device": "d", "build": "b", "model": "m"}')
    assert side.do("serve", "{new}served", tmp_path, "dumps", turn=1) > 0


def test_a_benchmark_side_names_unsupported_actions(side: Side) -> None:
    with pytest.raises(NotDoneError, match=r"this.*UnknownQueryError"):
        side.do("ask", "{own}/store", "no_such_query", {}, turn=0)
