"""Numeric gaps of portable kernels against XNNPACK, where both compute the same.

A folder holds pairs MODEL_p and MODEL_x, each with run.etdp, run.debug.bin and model.etrecord. A
pair of float values that falls below LEAST_DB is no pair.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from tests.support.corpus import CORPUS
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.numeric_gap.gap import numeric_gap
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun, read_logged_operators

GAPS = CORPUS.parent / "gap"
LEAST_DB = 60.0


class PairFinding(NamedTuple):
    """What the gaps of a model are like; `expected` pairs is what the Inspector compares."""

    model: str
    compared: int
    expected: int
    least_db: float
    wrong: list[str]

    @property
    def faults(self) -> Iterator[str]:
        """What is wrong with them, as sentences."""
        yield from self.wrong
        if self.compared < self.expected:
            yield f"{self.model}: {self.compared} pairs, wanted {self.expected} as the Inspector"


def find_pairs(folder: Path) -> list[str]:
    """The models that the folder holds both recordings of."""
    models = sorted(path.name.removesuffix("_p") for path in folder.glob("*_p"))
    return [model for model in models if (folder / f"{model}_x").is_dir()]


def judge_pair(folder: Path, model: str) -> PairFinding:
    """The gaps between the two recordings of a model."""
    table = numeric_gap(_read(folder / f"{model}_p"), _read(folder / f"{model}_x"), ["snr"])
    compared = [row for row in table.to_pylist() if row["verdict"] != "not_compared"]
    wrong = [_describe(model, row) for row in compared if _is_float(row) and row["snr"] < LEAST_DB]
    least = min((row["snr"] for row in compared), default=float("nan"))
    return PairFinding(model, len(compared), _expected().get(model, 0), least, wrong)


def gap_table(findings: list[PairFinding]) -> Table:
    """The findings, one row per model."""
    table = Table("model", "pairs", "the Inspector's", "least SNR", title="numeric gaps")
    for found in findings:
        numbers = str(found.compared), str(found.expected or ""), f"{found.least_db:.1f} dB"
        table.add_row(found.model, *numbers)
    return table


def _read(folder: Path) -> list[LoggedRun]:
    dump, buffer, record = (
        Source(str(folder / name)) for name in ("run.etdp", "run.debug.bin", "model.etrecord")
    )
    return read_logged_operators(dump, debug_buffer=buffer, etrecord=record)


@cache
def _expected() -> dict[str, int]:
    counts: dict[str, int] = json.loads((GAPS / "inspector.json").read_text(encoding="utf-8"))
    return counts


def _is_float(row: dict[str, Any]) -> bool:
    return "float" in row["base_dtype"]


def _describe(model: str, row: dict[str, Any]) -> str:
    events = f"{row['base_event']} and {row['head_event']}"
    return f"{model}: {events} of handle {row['debug_handle']} are {row['snr']:.1f} dB apart"
