"""Modules that only some answers need, and that an installation may lack."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from warehouse.errors import QueryError


def optional_module(name: str, purpose: str) -> Any:
    """The module; `purpose` says what needs it.

    Raises:
        QueryError: if it is not installed.
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise QueryError(f"{purpose} needs {package}: pip install {package}") from error
