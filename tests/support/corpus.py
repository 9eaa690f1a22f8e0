"""The real, hand-made and broken dumps under tests/data/corpus, and their golden answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
FARM = Path(__file__).parents[1] / "data" / "farm"
NIGHTS = Path(__file__).parents[1] / "data" / "nights.zip"


def dump_names(*folders: str) -> list[str]:
    """Names such as ``real/load_only`` of the dumps in these folders."""
    paths = [path for folder in folders for path in sorted((CORPUS / folder).glob("*.etdp"))]
    return [f"{path.parent.name}/{path.name.removesuffix('.etdp')}" for path in paths]


def read_dump(name: str) -> bytes:
    """The bytes of a dump of the corpus."""
    return (CORPUS / f"{name}.etdp").read_bytes()


def read_golden(name: str) -> dict[str, Any]:
    """The output of flatc and the Inspector for a dump; tests/data/README.md lists the keys."""
    golden: dict[str, Any] = json.loads((CORPUS / f"{name}.golden.json").read_text())
    return golden
