"""Folders of tiny dumps on two days, of two models; and their expected rows in a lake."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump

DAYS = ("2026-01-01", "2026-01-02")
MODELS = ("net", "net/2")


def fill_inbox(inbox: Path, count: int, *, first: int = 0, days: int = len(DAYS)) -> Path:
    """Write distinct dumps into folders with manifests."""
    for number in range(first, first + count):
        day, model = DAYS[number % days], MODELS[number // 2 % 2]
        folder = inbox / f"{day}-{MODELS.index(model)}"
        stated = {
            "device": "pixel8",
            "build": "b1",
            "model": model,
            "captured_at": f"{day}T12:00:00Z",
        }
        write(folder / "manifest.json", json.dumps(stated).encode())
        write(folder / f"{number:04}.etdp", tiny_dump(number))
    return inbox
