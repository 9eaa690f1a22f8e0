"""`--output FILE`: standard output written to a file that is replaced in one step when complete.

The output goes to a locked temporary file next to FILE. Ctrl-C may leave it behind; the next
command that writes FILE deletes it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from io import TextIOWrapper
from pathlib import Path
from typing import TypeVar

import typer

from tracehouse.cli.errors import IncompleteError, OutputError
from tracehouse.ingest.durable import delete_leftover, try_lock

_Form = TypeVar("_Form")


def form_of_file(file: Path | None, forms: Mapping[str, _Form], usual: _Form) -> _Form:
    """The form that the ending of a file's name states; without a file or an ending the usual one.

    Raises:
        BadParameter: No form has that ending.
    """
    ending = file.suffix.lower() if file else ""
    if ending and ending not in forms:
        *some, last = forms
        problem = f"{file}: wanted a name that ends in {', '.join(some)} or {last}"
        raise typer.BadParameter(problem, param_hint="'--output'")
    return forms.get(ending, usual)


@contextmanager
def standard_output_to(path: Path | None) -> Iterator[None]:
    """Redirect standard output to a file, which stays unchanged if the body fails.

    Raises:
        OutputError: The file cannot be written.
    """
    if path is None:
        yield
        return
    if os.path.exists(path) and not os.path.isfile(path):  # a device or pipe cannot be replaced
        with _opened(path, path):
            yield
        return
    target = path.resolve()
    _sweep(target)
    temporary = target.with_name(f"{_temporary_prefix(target)}{os.getpid()}")
    ended = None
    try:
        with _opened(temporary, path):
            try:
                yield
            except typer.Exit as exit_:  # the command failed in part; keep its output
                ended = exit_
        _put_in_place(temporary, target)
    except IncompleteError as error:
        raise OutputError(f"{error.place}: {error.problem}; the file is unchanged") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    if ended:
        raise ended


def _temporary_prefix(target: Path) -> str:
    """Prefix of the names of temporary files for this target."""
    return f".{target.name[:100]}."


def _sweep(target: Path) -> None:
    """Delete temporary files of stopped commands: files that no process locks."""
    beginning = _temporary_prefix(target)
    for path in target.parent.glob(f"{escape(beginning)}*"):
        if path.name.removeprefix(beginning).isdecimal():
            delete_leftover(path)


def _put_in_place(temporary: Path, target: Path) -> None:
    """Move a file over another, keeping the other's permissions.

    Raises:
        OutputError: The file cannot be moved.
    """
    try:
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"{target}: {error.strerror}") from error


@contextmanager
def _opened(file: Path, shown: Path) -> Iterator[None]:
    """Redirect standard output to `file`, which error messages call `shown`.

    Raises:
        OutputError: The file cannot be opened or written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        raw = open(shown, "wb", opener=lambda _path, _flags: os.open(file, flags, 0o666))  # noqa: SIM115
    except OSError as error:
        raise OutputError(f"{shown}: {error.strerror}; choose another file") from error
    with suppress(OSError):  # a file system without locks
        try_lock(raw.fileno())
    before = sys.stdout
    with TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        sys.stdout = stream
        try:
            yield
        finally:
            sys.stdout = before
