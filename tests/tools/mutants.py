"""Change modules here and there, and print which changes their tests do not notice.

    python -m tests.tools.mutants warehouse/inbox warehouse/load/rows.py --count 40

A mutant of a module has one comparison reversed, one number raised, `and` replaced by `or`, a
condition negated or a call removed. The test file that mirrors the module runs first, then the rest
of its folder. Paths below tests/ are run instead of those.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

_REVERSED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


class Score(NamedTuple):
    """How many mutants the tests noticed, of how many."""

    noticed: int
    total: int


def make_mutants(text: str, count: int) -> Iterator[tuple[str, str]]:
    """A sample of a module's mutants: what is changed, and the text."""
    nodes = list(ast.walk(ast.parse(text)))
    places = [i for i, node in enumerate(nodes) if _mutate(copy.deepcopy(node))]
    for place in random.Random(1).sample(places, min(count, len(places))):  # noqa: S311
        tree = ast.parse(text)
        node = list(ast.walk(tree))[place]
        yield f"line {getattr(node, 'lineno', 0)}: {_mutate(node)}", ast.unparse(tree)


def _mutate(node: ast.AST) -> str | None:
    if isinstance(node, ast.Compare):
        node.ops[0] = _REVERSED[type(node.ops[0])]()
        return f"comparison reversed: {ast.unparse(node)}"
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return f"and/or exchanged: {ast.unparse(node)}"
    if isinstance(node, ast.If):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return f"condition negated: {ast.unparse(node.test)}"
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return f"number raised: {node.value}"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        removed, node.value = ast.unparse(node), ast.Constant(None)
        return f"call removed: {removed}"
    return None


def find_tests(module: Path) -> list[list[str]]:
    """Arguments of pytest for a module: its mirror file, then the rest of the folder."""
    folder = Path("tests", module.parent)
    mirror = folder / f"test_{module.stem}.py"
    while not folder.is_dir():
        folder = folder.parent
    if mirror.exists():
        return [[str(mirror)], [str(folder), f"--ignore={mirror}"]]
    return [[str(folder)]]


def list_modules(paths: Sequence[Path]) -> list[Path]:
    """The modules that are given or in the folders that are given."""
    modules = [[path] if path.is_file() else sorted(path.rglob("*.py")) for path in paths]
    return [path for group in modules for path in group if path.name != "__init__.py"]


@contextmanager
def restored(path: Path) -> Iterator[str]:
    """The text of a file, which is put back even if this process is terminated meanwhile."""
    data = path.read_bytes()
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    try:
        yield data.decode()
    finally:
        path.write_bytes(data)
        signal.signal(signal.SIGTERM, before)


def run_tests(arguments: Sequence[str], seconds: float | None = None) -> int:
    """Exit status of pytest in a process group of its own; -1 if it takes longer than it may."""
    command = [sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", *arguments]
    # A mutant may have the size and the second of the one before: none leaves a .pyc file.
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=environment, start_new_session=True
    ) as process:
        try:
            return process.wait(seconds)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                return -1
            raise


def measure_module(module: Path, stages: Sequence[Sequence[str]], count: int) -> Score:
    """Run the tests of a module against some of its mutants, and print those that pass."""
    seconds: dict[int, float] = {}  # for each of the stages, allowed
    for number, stage in enumerate(stages):
        start = time.monotonic()
        status = run_tests(stage)
        if status == pytest.ExitCode.NO_TESTS_COLLECTED:
            continue
        if status:
            sys.exit(f"{module}: the tests fail without a mutant: {' '.join(stage)}")
        seconds[number] = 30 + 3 * (time.monotonic() - start)
    noticed = total = 0
    with restored(module) as text:
        for change, mutant in make_mutants(text, count):
            module.write_text(mutant, encoding="utf-8")
            total += 1
            if any(run_tests(stages[number], allowed) for number, allowed in seconds.items()):
                noticed += 1
            else:
                print(f"{module}, {change}", flush=True)
    print(f"{module}: {noticed} of {total} mutants noticed", flush=True)
    return Score(noticed, total)


def main(arguments: Sequence[str] | None = None) -> Score:
    """Mutate the modules of the command line; the sum over all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help="modules, folders, tests to run")
    parser.add_argument("--count", type=int, default=20, help="mutants of each module")
    parser.add_argument("-m", default="not slow", help="which tests, as of pytest")
    options = parser.parse_args(arguments)
    tests = [str(path) for path in options.paths if path.parts[0] == "tests"]
    modules = list_modules([path for path in options.paths if path.parts[0] != "tests"])
    if missing := [str(path) for path in options.paths if not path.exists()]:
        parser.error(f"no such files: {', '.join(missing)}")
    scores = []
    for module in modules:
        stages = [tests] if tests else find_tests(module)
        stages = [[*stage, "-m", options.m] for stage in stages]
        scores.append(measure_module(module, stages, options.count))
    whole = Score(sum(s.noticed for s in scores), sum(s.total for s in scores))
    if len(scores) > 1:
        print(f"in all: {whole.noticed} of {whole.total} mutants noticed")
    return whole


if __name__ == "__main__":
    main()
