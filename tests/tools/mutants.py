"""Mutants of a module that its tests do not notice: `python -m tests.tools.mutants MODULE TEST...`.

A comparison is turned round, a number is one more, `and` becomes `or`, a condition is negated or a
statement is left out; the tests run against each. A mutant that they pass is printed.
"""

from __future__ import annotations

import ast
import copy
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def make_mutants(text: str) -> Iterator[tuple[str, str]]:
    """Texts of a module with one change each, and what is changed."""
    tree = ast.parse(text)
    for number, node in enumerate(ast.walk(tree)):
        changed = copy.deepcopy(tree)
        if what := _mutate(list(ast.walk(changed))[number]):
            yield f"line {getattr(node, 'lineno', 0)}: {what}", ast.unparse(changed)


def _mutate(node: ast.AST) -> str | None:
    if isinstance(node, ast.Compare):
        node.ops[0] = _TURNED[type(node.ops[0])]()
        return f"compares otherwise: {ast.unparse(node)}"
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return f"joins otherwise: {ast.unparse(node)}"
    if isinstance(node, ast.If):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return f"negates: {ast.unparse(node.test)}"
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return f"one more: {node.value}"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        what, node.value = ast.unparse(node), ast.Constant(None)
        return f"leaves out: {what}"
    return None


def main(module: str, *tests: str, most: int = 20) -> int:
    """Run the tests against some mutants; how many of them pass."""
    path = Path(module)
    text = path.read_text(encoding="utf-8")
    mutants = list(make_mutants(text))
    chosen = random.Random(1).sample(mutants, min(most, len(mutants)))  # noqa: S311 - the same ones
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    alive = []
    try:
        for what, changed in chosen:
            path.write_text(changed, encoding="utf-8")
            if subprocess.run(command, capture_output=True).returncode == 0:
                alive.append(what)
                print(f"{module}, {what}", flush=True)
    finally:
        path.write_text(text, encoding="utf-8")
    print(f"{module}: {len(chosen) - len(alive)} of {len(chosen)} mutants noticed", flush=True)
    return len(alive)


if __name__ == "__main__":
    main(*sys.argv[1:])
