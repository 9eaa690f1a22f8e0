"""Standard output and standard error: in UTF-8, escaped, and failing in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper

from cli.errors import IncompleteError
from queries.printable import printable, shorten

MAX_NOTE = 2000  # characters of a line on standard error


def prepare_streams() -> None:
    """Let standard output be UTF-8 whatever the locale, and all three streams be open."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # else a store could be opened under the number of a closed stream
    os.close(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    if isinstance(sys.stdout, TextIOWrapper):
        # Lone surrogates, out of names of files, are the only text that UTF-8 cannot hold.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def write_note(text: str) -> None:
    """Print a line on standard error, escaped, with at most MAX_NOTE characters of the text."""
    sys.stderr.write(f"{printable(shorten(text, MAX_NOTE))}\n")


def write_error(error: Exception) -> None:
    """Print why a command failed on standard error: one line, or what SQL it stumbled over too."""
    text = str(error)
    head, mark, excerpt = text.partition("\n\nLINE ")  # as DuckDB shows where it was
    write_note(f"error: {' '.join((head if mark else text).split())}")
    if mark:
        line, _, caret = f"LINE {excerpt}".partition("\n")
        write_note(line.replace("\t", " "))
        write_note(" " * _tabs_before(line, caret) + caret.partition("\n")[0])


def _tabs_before(line: str, caret: str) -> int:
    """How many tabs stand before what a caret points at; DuckDB gives them no width."""
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
    """Print a text of our own as it is; raises OutputError if that fails."""
    with output_errors():
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def output_errors() -> Iterator[None]:
    """Turn an error of writing into ours.

    Raises:
        IncompleteError: Standard output, or the file in its place, is full or broken.
        BrokenPipeError: The reader has seen enough, which is no error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer is written once more at the end, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        name = str(sys.stdout.name)
        place = "standard output" if name.startswith("<") else name
        raise IncompleteError(place, str(error.strerror)) from error
