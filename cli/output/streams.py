"""Standard output and standard error: UTF-8, escaped, with errors in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from tracehouse.cli.errors import IncompleteError
from tracehouse.queries.printable import printable, shorten

MAX_NOTE = 2000  # characters of a line on standard error


def prepare_streams() -> None:
    """Make standard output UTF-8 whatever the locale, and open standard streams that are closed."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # otherwise a store's file could get the number of a closed stream
    os.close(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stdout, TextIOWrapper):
        # Lone surrogates, from file names, are the only characters that UTF-8 cannot encode.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def write_note(text: str) -> None:
    """Print a line on standard error, escaped, with at most MAX_NOTE characters of the text."""
    sys.stderr.write(f"{printable(shorten(text, MAX_NOTE))}\n")


def write_error(error: Exception) -> None:
    """Print an error on standard error: one line, and DuckDB's excerpt of the SQL, if any."""
    text = str(error)
    head, mark, excerpt = text.partition("\n\nLINE ")  # DuckDB's excerpt of the statement
    write_note(f"error: {' '.join((head if mark else text).split())}")
    if mark:
        line, _, caret = f"LINE {excerpt}".partition("\n")
        write_note(line.replace("\t", " "))
        write_note(" " * _tabs_before(line, caret) + caret.partition("\n")[0])


def _tabs_before(line: str, caret: str) -> int:
    """Number of tabs before the caret's position, which DuckDB counts as having no width."""
    left = len(caret) - len(caret.lstrip(" "))
    for position, character in enumerate(line):
        if character != "\t":
            left -= 1
        if left < 0:
            return line.count("\t", 0, position)
    return line.count("\t")


def write_lines(lines: Iterable[str]) -> None:
    """Print lines of text, control characters escaped; raises OutputError if that fails."""
    with output_errors():
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
        sys.stdout.flush()


def write_text(text: str) -> None:
    """Print a text without escaping; raises OutputError if that fails."""
    with output_errors():
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def output_errors() -> Iterator[None]:
    """Turn an OSError while writing into an IncompleteError.

    Raises:
        IncompleteError: Standard output, or the file in its place, cannot be written.
        BrokenPipeError: The reader closed the pipe, which is not an error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # The buffer is flushed again at exit, which must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        name = str(sys.stdout.name)
        place = "standard output" if name.startswith("<") else name
        raise IncompleteError(place, str(error.strerror)) from error
