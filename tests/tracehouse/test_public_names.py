"""What users import from `tracehouse`, as the documents name it, is there and has types."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tracehouse
from tests.support.documents import ROOT

SCRIPT = """
from tracehouse import AsyncClient, Client, OutgoingDump, Warehouse, decode_dumps

async def ask(client: AsyncClient) -> None:
    reveal_type(await client.report())

with Client("http://127.0.0.1:8080") as client, Warehouse.open("store") as store:
    reveal_type(client.upload([OutgoingDump(b"", "{}")]))
    reveal_type(client.report(form="json"))
    reveal_type(store)
    reveal_type(store.query("dumps"))
    reveal_type(list(client.compare("b1", "b2")))
    reveal_type(decode_dumps([b""]))
    client.report(form="pdf")
"""


def test_every_public_name_is_documented_and_can_be_imported() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", text.partition("\n## ")[0])) - {"tracehouse"}
    assert documented == set(tracehouse.__all__)
    for name in tracehouse.__all__:
        if name != "EtdumpSource" or find_spec("pyspark"):
            assert getattr(tracehouse, name), name


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "tracehouse" / "py.typed").exists()


def test_type_checkers_and_python_find_a_name_in_the_same_module() -> None:
    tree = ast.parse((ROOT / "tracehouse" / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: f"tracehouse.{home}" for name, home in tracehouse._MODULES.items()}


def test_unknown_public_names_raise_an_attribute_error() -> None:
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
    receipt = "tuple[str, bool, fallback=tracehouse.ingest.remote.Receipt]"
    assert re.findall(r'Revealed type is "(.+)"', done.stdout) == [
        "tracehouse.answers.Document",
        f"list[{receipt} | tracehouse.ingest.errors.ServiceError]",
        "tracehouse.answers.Document",
        "tracehouse.local.Warehouse",
        "tracehouse.answers.Answer",
        "list[dict[str, object]]",
        "tracehouse.ingest.decode.DecodedBatch",
    ]
    assert re.findall(r"error: (.+)", done.stdout)[0].startswith('Argument "form" to "report"')
