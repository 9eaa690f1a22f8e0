"""The settings file tracehouse.toml, whose readers check the fields of their tables."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.file_magic import decode_text
from tracehouse.ingest.sources.private_bytes import read_file

FILE_NAME = "tracehouse.toml"
MAX_SETTINGS_BYTES = 256 << 10
MAX_SETTINGS_DEPTH = 32  # levels of brackets, and names in a dotted key
SINGLE_TABLES = ("nightly", "report", "serve")
REPEATED_TABLES = ("budgets", "expected", "muted", "owners", "producers", "thresholds")

# Strings and comments, in which brackets and dots mean nothing. A string that does not end matches
# up to the end of its line, or of the file.
_TEXT = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:"""|$)|' + r"'''(?:[^']|'(?!''))*(?:'''|$)|"
    r'"(?:[^"\\\n]|\\.)*"?|' + r"'[^'\n]*'?|#[^\n]*",
    re.DOTALL,
)
_KEY = re.compile(r"[^\s.=,\[\]{}]+(?:[ \t]*\.[ \t]*[^\s.=,\[\]{}]+)*")


def read_tables(*names: str, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """The tables of these names that a settings file has.

    Args:
        *names: Names of tables.
        path: The file; by default ./tracehouse.toml, if it exists.

    Raises:
        SourceError: The file cannot be read, is too large or nested too deeply, or is not TOML; or
            it has an unknown table.
    """
    file = Path(path or FILE_NAME)
    if path is None and not file.exists():
        return {}
    import tomllib  # most commands read no settings

    name = str(file)
    try:
        text = decode_text(bytes(read_file(name, name, most_bytes=MAX_SETTINGS_BYTES)))
        _check_depth(text)
        tables = tomllib.loads(text)
    except OSError as error:
        raise SourceError(name, f"{error.strerror or error}; check the path") from error
    except ValueError as error:  # one of TOML, of UTF-8, or of an integer of too many digits
        problem = str(error).partition("; use sys.")[0]
        raise SourceError(name, f"not TOML: {problem}") from error
    for table, content in tables.items():
        if problem := _find_problem(table, content):
            raise SourceError(name, f"{table}: {problem}")
    return {table: content for table, content in tables.items() if table in names}


def _find_problem(table: str, content: object) -> str:
    """What is wrong with a name and its content, whatever fields it has; empty if nothing is."""
    if table in SINGLE_TABLES:
        return "" if isinstance(content, dict) else f"wanted a table headed [{table}]"
    if table in REPEATED_TABLES:
        is_right = isinstance(content, list) and all(isinstance(one, dict) for one in content)
        return "" if is_right else f"wanted tables headed [[{table}]]"
    return f"no such table; there are {', '.join(sorted(SINGLE_TABLES + REPEATED_TABLES))}"


def _check_depth(text: str) -> None:
    """Check how deeply a text is nested before it is parsed: the parser is recursive.

    Raises:
        ValueError: It is nested too deeply.
    """
    bare = _TEXT.sub("_", text)  # a string may be a name in a dotted key
    depth = 0
    for mark in re.finditer(r"[\[\]{}]", bare):
        depth = depth + 1 if mark[0] in "[{" else max(depth - 1, 0)
        if depth > MAX_SETTINGS_DEPTH:
            raise ValueError(f"brackets nested more than {MAX_SETTINGS_DEPTH} deep")
    if any(key[0].count(".") >= MAX_SETTINGS_DEPTH for key in _KEY.finditer(bare)):
        raise ValueError(f"a key of more than {MAX_SETTINGS_DEPTH} names")
