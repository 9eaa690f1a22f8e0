"""Regular expressions over texts of others take linear time, and each expression is listed here."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import islice, product
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

from tests.support.documents import ROOT
from tracehouse.ingest.producers import shipped_producers

PACKAGES = ("ingest", "warehouse", "queries", "cli", "tracehouse", "action")
_FUNCTIONS = ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer")

# By module: the patterns that see names, texts and paths of others. A name is a module's constant.
FOREIGN = {
    "cli.agents.pages": ["_CURSOR", "_WORD"],
    "cli.agents.tools": ["_WORD"],
    "cli.output.terminal": ["_WORD"],
    "cli.serve.access.authorization": ["_PORT"],
    "cli.serve.changes": ["{}(-[0-9]{1,15}){{}}"],
    "cli.serve.http.responses": ["[0-9]{1,15}"],
    "cli.serve.app": ["_REQUEST_ID"],
    "cli.serve.page.cells": ["([0-9]+)"],
    "cli.serve.page.site": ["_HINT"],
    "cli.serve.uploads.dumps": ["_SHA256"],
    "ingest.errors": [r"a valid dictionary or instance of \w+"],
    "ingest.etrecord.differences": ["_TYPE"],
    "ingest.etrecord.graphs": ["_BRACKET", r"-?\d+", r"[\[(\]),]"],
    "ingest.file_magic": ["_BASE64", "_BETWEEN_DIGITS"],
    "ingest.manifest.json_files": ["_COMMENT", "_SINGLE_QUOTE", "_OTHER_COMMA"],
    "ingest.manifest.runner_output": ["_OBSERVER", "_NOT_FINITE", "_ARM_LINE", "_ARM_EVENTS"],
    "ingest.settings_file": ["_TEXT", "_KEY", r"[\[\]{}]"],
    "ingest.sources.places": ["_INNER_ZIP"],
    "ingest.strict_json": ["_TOKEN"],
    "queries.event_blocks.module_totals": ["^({})+"],
    "queries.explain.programs": ["_ITEMS"],
    "queries.explain.stored_programs": ["_TYPED", "_NAME", "_LINE"],
    "queries.numeric_gap.stored_dumps": ["_SIZES", "_TYPE", "_NO_VALUE", "_NAME"],
    "queries.printable": ["_NOT_IN_XML"],
    "queries.report.settings": ["_WRITTEN"],
    "queries.report.figures": ["_PREFIX", "_DTYPES", "_OVERLOAD", "_NUMBER", "_COMMIT"],
    "queries.report.markdown": ["_PLAIN", "_MARKS", "_LIVE_MARKS"],
    "warehouse.alignment.programs": [
        *("_NUMBER", "_DTYPES", "_PREFIX", "_OTHER_THAN_WORDS", "_TILE"),
    ],
    "warehouse.archive.archive": ["[0-9a-fA-F]{{},64}"],
    "warehouse.engine.connection": [
        *("_DAMAGE", "_LOG_DAMAGE", "_FAILED", "_FULL", "_MEMORY", "_ORIGINAL", r"PID (\d+)"),
        *("_CHECKPOINT", "_LATER"),
    ],
    "warehouse.engine.sql_functions": [r"{}\W"],
    "warehouse.engine.statements": ["_EXPLAIN"],
    "warehouse.lake.layout": ["_PLAIN", "_PART"],
    "warehouse.load.delegate_metadata": ["_MICROKERNEL"],
    "warehouse.load.content": ["FILE_HINT"],
    "warehouse.programs.method_origins": ["_WORD", "_LETTER", "_NODE"],
    "warehouse.programs.operator_names": ["_WORD"],
    "warehouse.regressions.pair": ["_NUMBERED"],
}
# Those that see texts of this installation or of its operator alone.
OWN = {
    "action.review": ["[^A-Za-z0-9_.]+"],
    "cli.commands.sql": ["_COMMENT"],
    "cli.options": ["_NEXT_FIELD"],
    "ingest.manifest.resolver": ["_TOKENS"],
    "queries.drawing.sheet": [
        *("_RULE", "_PROPERTY", "_CLASS", "_COLOURED", "_DECLARED", "_SEPARATOR"),
    ],
    "ingest.producers": ["{}"],  # see test_rules_of_producers_take_linear_time
    "ingest.recording.session": ["_LOGGED"],
    "ingest.tracer.event_tracer": ["{}", "{}"],
    "ingest.watching.buckets": ["_SECRETS"],
    "warehouse.archive.segments": ["_NAME"],
    "warehouse.catalogue.dialect": [
        *("_STRING_OR_COMMENT", "_STRING_OR_PARENTHESIS", "_FIRST", "_NAME"),
        *("_MARKS", "_TOKENS"),
        r"\b(?:FROM|JOIN)\s+{}\b",
    ],
    "warehouse.catalogue.header": [
        *("_TITLE", "_FILTERS", "_PARTS", "_PORTIONS", "_FOLLOWING", "params:|columns:", "_NAMES"),
        *("_ENTRY", "_RANGE", "_RELATION", r"\w+", r"\w+"),
    ],
    "warehouse.engine.sql_functions": [r"(\w+) DOUBLE"],
    "warehouse.engine.log_sum": ["_HEADER"],
    "warehouse.engine.memory_limit": ["_SIZE"],
    "warehouse.catalogue.views": ["{}"],
    "warehouse.inbox.log": ["_NAME"],
    "warehouse.lake.addresses": ["_NOTHING", "_MISTYPED"],
    "warehouse.opening.snapshots": ["_NAME"],
    "warehouse.spark.answers": [r"\$(\w+)", "_WORD"],
}


def _written(argument: ast.expr) -> str:
    """A pattern as it is written, with {} for what is put into it."""
    match argument:
        case ast.Constant(value=value):
            return value if isinstance(value, str) else value.decode()
        case ast.JoinedStr(values=values):
            return "".join(
                str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values
            )
    return "{}"


def _patterns_in(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {
        id(node): target.id
        for assigned in tree.body
        if isinstance(assigned, ast.Assign) and isinstance(target := assigned.targets[0], ast.Name)
        for node in [assigned.value]
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=function), args=[first, *_]
            ) if function in _FUNCTIONS:
                yield named.get(id(node)) or _written(first)


@cache
def found() -> dict[str, list[str]]:
    """The patterns of each module."""
    modules = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if patterns := sorted(_patterns_in(path)):
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                modules[name] = patterns
    return modules


def test_every_regular_expression_is_listed_by_whose_texts_it_sees() -> None:
    listed = {
        module: sorted([*FOREIGN.get(module, []), *OWN.get(module, [])])
        for module in {*FOREIGN, *OWN}
    }
    assert found() == listed


class Use(NamedTuple):
    """A pattern, and the methods that its module calls."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def run(self, text: str) -> None:
        """Do with a text what the module does."""
        own = text if isinstance(self.pattern.pattern, str) else text.encode()
        for method in self.methods:
            if method in ("sub", "split", "findall", "finditer"):
                for _ in self.pattern.finditer(own):
                    pass
            else:
                getattr(self.pattern, method)(own)


def _uses() -> Iterator[Use]:
    for module, names in FOREIGN.items():
        path = ROOT / Path(*module.split(".")).with_suffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name in names:
            pattern = getattr(import_module(f"tracehouse.{module}"), name, None)
            holder = "re" if pattern is None else name
            if pattern is None:
                pattern = re.compile(name.replace("{{}}", "{3}").replace("{}", "name"))
            methods = {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == holder
                and node.attr in _FUNCTIONS
            }
            yield Use(f"{module}:{name}", pattern, frozenset(methods - {"compile"}))
    for is_of_delegates in (False, True):
        for rule in shipped_producers().rules(is_of_delegates=is_of_delegates):
            name = f"producers.toml:{rule.pattern.pattern.decode()}"
            yield Use(name, rule.pattern, frozenset({"fullmatch"}))


def _pieces(pattern: str) -> list[str]:
    """Texts that lead far into a pattern: its literal words, and characters of its classes."""
    words: list[str] = []
    waiting: list[Any] = [_parser.parse(pattern)]
    while waiting:
        parsed, word = waiting.pop(), ""
        for operation, argument in parsed:
            if operation is _parser.LITERAL:
                word += chr(argument)
                continue
            words.append(word)
            word = ""
            waiting += _inner_patterns(argument)
        words.append(word)
    marks = (character for character in pattern if not character.isalnum())
    return list(dict.fromkeys([*filter(None, words), *marks, *"a1 "]))


def _inner_patterns(argument: object) -> list[Any]:
    """The patterns in an argument of an operation: of groups, repetitions and alternatives."""
    listed = argument if isinstance(argument, tuple | list) else ()
    inner = [one for one in listed if isinstance(one, _parser.SubPattern)]
    return inner + [found for one in listed for found in _inner_patterns(one)]


def _inputs(pattern: str, size: int) -> Iterator[str]:
    """Runs of each piece, alternations of two, and runs after a piece; some end differently."""
    pieces = _pieces(pattern)
    for first, second in product(pieces, pieces):
        run = second * (size // len(second))
        yield (first + second) * (size // len(first + second))
        for lead, end in product(("", "a"), ("", "\0")):
            yield lead + first + run + end


def _cpu(use: Use, text: str, times: int = 1) -> float:
    taken = []
    for _ in range(times):
        start = time.process_time()
        use.run(text)
        taken.append(time.process_time() - start)
    return min(taken)


def _is_superlinear(use: Use, make: Callable[[int], str], size: int) -> bool:
    """Whether four times the text takes far more than four times the time."""
    small, large = (_cpu(use, make(length), times=3) for length in (size, 4 * size))
    return large > 9 * small  # a square takes 16 times as long


_LINE = Use("a line", re.compile(r"[^\0]"), frozenset({"finditer"}))


def find_superlinear(use: Use, size: int = 2_000) -> str | None:
    """The start of a text on which a pattern takes more than linear time, if any is found."""
    written = use.pattern.pattern
    pattern = written if isinstance(written, str) else written.decode()
    allowed = 5 * _cpu(_LINE, "a" * size, times=3)
    for number, text in enumerate(_inputs(pattern, size)):

        def make(length: int, number: int = number) -> str:
            return next(islice(_inputs(pattern, length), number, None))

        if _cpu(use, text) > allowed and _is_superlinear(use, make, size):
            return text[:40]
    return None


CASES = list(_uses())


@pytest.mark.parametrize("use", CASES, ids=[one.name for one in CASES])
def test_regular_expressions_over_texts_of_others_take_linear_time(use: Use) -> None:
    assert use.methods
    assert find_superlinear(use) is None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(?P<name>[^(]+?)\s*\((?P<unit>[^()]+)\)", "fullmatch"),  # 32,000 spaces took 2.7 s
        (r".+:OpId_\d+[^:]* \(us\)", "fullmatch"),
        (r"(\w+): (\w+\[[^\]]*\])", "findall"),
    ],
)
def test_the_search_finds_what_took_the_square_of_the_length(pattern: str, method: str) -> None:
    assert find_superlinear(Use("", re.compile(pattern, re.DOTALL), frozenset({method})))
