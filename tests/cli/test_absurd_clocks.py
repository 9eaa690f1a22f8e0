"""Clock rates that no clock has, through all commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.support.stores import write
from tracehouse.cli.output.render import Format

_LAST = 2**64 - 1
_TIMES = (
    (0, _LAST), (_LAST, _LAST), (_LAST, 0), (0, 2**63), (0, 2**63 - 1), (2**63, _LAST),
    (2**63 - 1, 2**63), (0, 2**62), (0, 2**53 + 1),
)  # fmt: skip


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    events = [
        {"profile_event": {
            "name": "Method::execute" if i == 0 else "a", "chain_index": 0, "instruction_id": i,
            "start_time": start, "end_time": end,
        }}
        for i, (start, end) in enumerate(_TIMES)
    ]  # fmt: skip
    return write(tmp_path / "d.etdp", build_etdump({"run_data": [{"events": events}] * 4}))


@pytest.mark.parametrize("scales", [("ns", "ms"), ("s", "ns"), ("cycles", "cycles")])
@pytest.mark.parametrize("format_", Format)
def test_inspect_answers(run: Run, dump: Path, scales: tuple[str, str], format_: Format) -> None:
    source, target = scales
    options = ("--source-time-scale", source, "--target-time-scale", target, "--format", format_)
    outcome = run("inspect", dump, *options)
    assert outcome.code == 0
    assert format_ is not Format.JSON or json.loads(outcome.text, parse_constant=pytest.fail)


@pytest.mark.parametrize("rate", cross_section(["1e308", "1", "1e-300"], 3))
def test_queries_answer(run: Run, dump: Path, tmp_path: Path, rate: str) -> None:
    store = ("--store", tmp_path / "s")
    clock = ("--clock", "cycles", "--ticks-per-second", rate)
    names = ("--device", "d", "--build", "b", "--model", "m")
    run("ingest", dump, *names, *clock, *store)  # may refuse the rate, and say so
    if not (tmp_path / "s").exists():
        return
    for query in ("percentiles", "framework_tax", "operator_hotspots", "dumps", "ingest_errors"):
        for format_ in Format:
            outcome = run("query", query, *store, "--format", format_)
            assert (outcome.code, outcome.err) == (0, "")
            assert (
                format_ is not Format.JSON
                or json.loads(outcome.text, parse_constant=pytest.fail) is not None
            )
