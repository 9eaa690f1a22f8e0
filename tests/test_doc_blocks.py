"""What the documents show runs, and prints what they say."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.corpus import CORPUS, FARM
from tests.support.cross_section import cross_section
from tests.support.documents import (
    DOCUMENTS,
    PROSE,
    ROOT,
    Block,
    Command,
    blocks,
    commands,
    unlike_table,
)
from tests.support.etrecord_builder import MODELS
from tracehouse.cli.main import main

# The files that the documents speak of.
FILES = {
    "run.etdp": CORPUS / "real/traced_intdesc_n1_debug.etdp",
    "run.debug.bin": CORPUS / "real/traced_intdesc_n1_debug.debug.bin",
    "model.etrecord": MODELS / "traced_intdesc.etrecord",
    "portable.etdp": CORPUS / "real/prefill_decode_portable_debug.etdp",
    "portable.debug.bin": CORPUS / "real/prefill_decode_portable_debug.debug.bin",
    "p.etrecord": MODELS / "prefill_decode_portable.etrecord",
    "xnnpack.etdp": CORPUS / "real/prefill_decode_xnnpack_debug.etdp",
    "xnnpack.debug.bin": CORPUS / "real/prefill_decode_xnnpack_debug.debug.bin",
    "x.etrecord": MODELS / "prefill_decode_xnnpack.etrecord",
    "run.prof": CORPUS / "legacy/full.prof",
}
# The names that their code takes for given.
NAMES = {
    "images": [np.ones((1, 3, 4, 4), np.float32)] * 2,
    "convolve": lambda image: image.sum(axis=1),
    "classify": lambda features: features.mean(),
    "start_ticks": 5,
    "end_ticks": 7,
}

Run = Callable[[list[str]], str]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with those files, where the commands run."""
    for name, file in FILES.items():
        shutil.copy(file, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACEHOUSE_STORE", raising=False)
    return tmp_path


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line; what it prints."""

    def run_(args: list[str]) -> str:
        with pytest.raises(SystemExit) as end:
            assert main(args) == 0, capfd.readouterr().err
        assert end.value.code in {0, None}
        return capfd.readouterr().out

    return run_


README = ROOT / "README.md"
OTHERS = [path for path in DOCUMENTS if path != README]


@pytest.mark.parametrize(
    "path", cross_section([README, *OTHERS], 5), ids=lambda path: str(path.relative_to(ROOT))
)
def test_blocks_of_a_document_run_and_print_what_they_say(path: Path, desk: Path, run: Run) -> None:
    text = path.read_text(encoding="utf-8")
    if not re.search(r"^\$ tracehouse sample farm", text, re.MULTILINE):
        (desk / "farm").symlink_to(FARM)
    names = dict(NAMES)
    answer = ""
    for block in blocks(text):
        place = f"{path.relative_to(ROOT)}:{block.line}"
        if not block.is_run:
            continue
        if block.language == "sql":
            answer = run(["sql", block.text, "--format", "csv"])
            assert answer.count("\n") > 1, f"{place}: no rows"
        elif block.language == "text" and answer:  # what the statement above it answers
            rows = list(csv.DictReader(answer.splitlines()))
            assert not (problem := unlike_table(block.text.splitlines(), rows)), place + problem
            answer = ""
        else:
            run_block(block, place, names, run)


def run_block(block: Block, place: str, names: dict[str, object], run: Run) -> None:
    if block.language == "console":
        for command in commands(block.text):
            assert not (problem := differs(command, run)), f"{place}: $ {command.text}\n{problem}"
    elif block.language == "python":
        exec(compile(block.text, place, "exec"), names)  # noqa: S102
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    else:
        assert block.language in {"", "text"}, f"{place}: {block.language} is not run"


def differs(command: Command, run: Run) -> str:
    """How what a command prints differs from what is shown; '' if it does not."""
    program, *args = command.args
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return "" if args[0] in targets else f"no target {args[0]}"
    assert program == "tracehouse", program
    if not command.is_run:
        return ""
    if not command.shown:
        run(args)
        return ""
    if args[0] in PROSE:
        printed = run(args)
        return "" if printed.splitlines() == command.shown else printed
    printed = run([*args, "--format", "csv"])
    problem = unlike_table(command.shown, list(csv.DictReader(printed.splitlines())))
    return problem and f"{problem}\n{printed}"


def test_table_that_an_answer_does_not_bear_out_is_noticed() -> None:
    rows = [{"a": "x y", "b": "1.25"}, {"a": "z", "b": "1234567.0"}, {"a": "w", "b": ""}]
    assert not unlike_table(["a    b", "x y  1.3", "z    1,234,567", "..."], rows)
    assert unlike_table(["a    b", "x y  1.25", "z    1,234,567"], rows) == f"not shown: {rows[2]}"
    for line in ("x y  1.4", "x    1.25", "z    1,234,567", "x y  1.25  2"):
        assert unlike_table(["a    b", line, "..."], rows) == f"not in its place: {line}"
    assert unlike_table(["c", "x y", "..."], rows) == "not in its place: x y"


def test_commands_of_a_block_are_separated_from_their_output() -> None:
    text = "$ tracehouse a \\\n    b  # why\nx  y\n\n...\n\n$ tracehouse c  # needs executorch\n"
    first, second = commands(text)
    assert (first.args, first.shown, first.is_run) == (
        ["tracehouse", "a", "b"], ["x  y", "", "..."], True,
    )  # fmt: skip
    assert (second.shown, second.is_run) == ([], False)
