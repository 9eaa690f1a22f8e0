"""Names that would steer a terminal, through all commands."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.support.command import Run, run_all_on_terminal
from tests.support.cross_section import cross_section
from tests.support.questions import every_query
from tests.support.strange_names import NAMES, StrangeFiles, write_strange_files
from tracehouse.cli.output.render import Format

Line = list[str | Path]

# These dumps have too few runs, no gaps, and no kernels; nor have they two backends, or tags.
_NEED_MORE = {
    "coverage_gaps", "delegate_transitions", "delegation_coverage", "dump_values",
    "notes", "outlier_runs", "variance_components", "stability", "warmup",
}  # fmt: skip
_CANNOT_BE_ASKED = {"backend_comparison", "scaling"}
_PARAMETERS = {"dump": "1", "base": "=base\x1b[3J\u202e", "head": "+head\x1b[3J\u2066"}
_SQL = """SELECT device AS "=x\x1b[3J\u202e", model AS "\x9b\n", ['=\x1b\u2066'] FROM named_dumps"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> StrangeFiles:
    return write_strange_files(tmp_path_factory.mktemp("strange"))


@pytest.fixture(scope="module")
def lines(files: StrangeFiles, tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """Every command that prints a table; the first fills the store that others ask."""
    folder = tmp_path_factory.mktemp("strange\x1b[3J\u202e")
    store: Line = ["--store", folder / "s"]
    names: Line = ["--device", "=d\x1b[3J\u202e", "--model", "@m\x9b\u200f", "--layout"]
    ingest: Line = ["ingest", *files.dumps, *names, "{build}.etdp", *store]
    ingest += ["--etrecord", files.etrecord, "--keep-going"]
    queries: list[Line] = []
    for name, query in every_query().items():
        if name in _CANNOT_BE_ASKED:
            continue
        params = [p.name for p in query.header.params if p.is_required]
        values = [f"--{p}={_PARAMETERS.get(p, NAMES[0])}" for p in params]
        queries.append(["query", name, *values, *store])
    record: Line = ["--etrecord", files.etrecord]
    return [
        ingest,
        *queries,
        ["sql", _SQL, *store],
        ["schema", *store],
        ["inspect", files.dumps[0], *record],
        ["inspect", files.dumps[0], *record, "--module", "+1"],
        ["inspect", files.blob],
        ["etrecord", "show", files.etrecord],
        ["numeric-gap", *files.dumps[:2], *record],
    ]


@pytest.fixture
def errors(files: StrangeFiles, tmp_path: Path) -> list[Line]:
    """Command lines that fail, each in its own way."""
    name = NAMES[0]
    gone = tmp_path / "gone\x1b[3J\u202e"
    return [
        [name],
        ["schema", f"--{name}"],
        ["sql", "SELECT 1 FROM '\x9b\u202e'", "--store", gone],
        ["query", name],
        ["query", "percentiles", f"--{name}", "1"],
        ["inspect", gone],
        ["inspect", files.dumps[2]],
        ["inspect", files.dumps[0], "--module", "\x9b\u202e"],
        ["inspect", files.etrecord],
        ["etrecord", "show", files.dumps[0]],
        ["etrecord", "show", files.etrecord, "--graph", "\x9b\u202e"],
        ["numeric-gap", files.dumps[0], gone],
        ["ingest", gone],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("format_", cross_section([Format.JSON, Format.TABLE], 2))
def test_piped_output_has_no_terminal_control_characters(
    run: Run, lines: list[Line], format_: Format
) -> None:
    for line in lines:
        outcome = run(*line, "--format", format_)
        assert (outcome.code, strange(outcome.text + outcome.err)) == (0, ""), line
        has_rows = format_ is Format.TABLE or json.loads(outcome.text)
        assert has_rows or _NEED_MORE.intersection(map(str, line)), line


def test_piped_errors_have_no_terminal_control_characters(run: Run, errors: list[Line]) -> None:
    for line in errors:
        outcome = run(*line)
        assert (outcome.code == 0, outcome.text, strange(outcome.err)) == (False, "", ""), line


@pytest.mark.system
@pytest.mark.slow
def test_terminal_output_has_no_control_characters_from_names(
    run: Run, lines: list[Line], errors: list[Line]
) -> None:
    shown = (Format.TABLE, Format.CSV)
    text = run_all_on_terminal([[*line, "--format", form] for line in lines for form in shown])
    assert "Traceback" not in text
    assert "error: " not in text
    assert strange(text) == ""
    text = run_all_on_terminal([[*line, "--format", Format.TSV] for line in lines])
    assert strange(text) == "\t"
    text = run_all_on_terminal(errors)
    assert text.lower().count("error: ") == len(errors)
    assert strange(text) == ""


@pytest.mark.slow
@pytest.mark.parametrize("format_", [Format.TSV, Format.PARQUET])
def test_every_other_format_takes_the_names_in_a_pipe(
    run: Run, lines: list[Line], format_: Format
) -> None:
    for line in lines:
        outcome = run(*line, "--format", format_)
        assert (outcome.code, strange(outcome.err)) == (0, ""), line


def test_names_are_exact_in_every_other_format_in_a_pipe(run: Run, lines: list[Line]) -> None:
    (inspect,) = [
        line
        for line in lines
        if "inspect" in line and "--etrecord" in line and "--module" not in line
    ]
    for format_, delimiter in ((Format.CSV, ","), (Format.TSV, "\t")):
        text = run(*inspect, "--format", format_).text
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        assert {row["event_name"] for row in rows} >= set(NAMES)
    rows = json.loads(run(*inspect, "--format", Format.JSON).text)["event_blocks"][0]["events"]
    assert {row["name"] for row in rows} >= set(NAMES)


@pytest.mark.slow
def test_csv_safe_leaves_no_formula_in_any_command(run: Run, lines: list[Line]) -> None:
    for line in lines:
        outcome = run(*line, "--format", Format.CSV, "--csv-safe")
        assert (outcome.code, strange(outcome.err)) == (0, ""), line
        rows = csv.reader(io.StringIO(outcome.text, newline=""))
        cells = [cell for row in rows for cell in row]
        assert [cell for cell in cells if is_formula(cell)] == [], line


def strange(text: str) -> str:
    """What of a text does not merely show: all but what is printable, and line ends."""
    return "".join({c for c in text if not c.isprintable() and c != "\n"})


def is_formula(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    return False
