"""What users import from `tracehouse`, as the documents name it, is there and has types."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tracehouse
from tests.support.documents import ROOT
from tests.test_wheel import PACKAGES

SCRIPT = """
from tracehouse import AsyncClient, Client, OutgoingDump, Warehouse, decode_dumps

async def ask(client: AsyncClient) -> None:
    reveal_type(await client.report())

with Client("http://127.0.0.1:8080") as client, Warehouse.open("store") as store:
    reveal_type(client.upload([OutgoingDump(b"", "{}")]))
    reveal_type(client.report(form="json"))
    reveal_type(store)
    reveal_type(decode_dumps([b""]))
    client.report(form="pdf")
"""


def test_every_public_name_is_documented_and_can_be_imported() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", text.partition("\n## ")[0])) - {"tracehouse"}
    assert documented == set(tracehouse.__all__)
    assert all(getattr(tracehouse, name).__name__ == name for name in tracehouse.__all__)


def test_every_package_says_that_it_has_types() -> None:
    assert [name for name in PACKAGES if not (ROOT / name / "py.typed").exists()] == []


def test_other_names_are_none() -> None:
    with pytest.raises(AttributeError, match="module 'tracehouse' has no attribute 'sqrt'"):
        tracehouse.sqrt  # noqa: B018


@pytest.mark.slow
@pytest.mark.system
def test_type_checkers_know_the_public_names(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", script], cwd=ROOT, capture_output=True, text=True
    )
    receipt = "tuple[str, bool, fallback=ingest.remote.uploading.Receipt]"
    assert re.findall(r'Revealed type is "(.+)"', done.stdout) == [
        "str",
        f"list[{receipt} | ingest.errors.ServiceError]",
        "str",
        "warehouse.store.Warehouse",
        "ingest.decode.DecodedBatch",
    ]
    assert re.findall(r"error: (.+)", done.stdout)[0].startswith('Argument "form" to "report"')
