"""Modules that may be missing, as only some answers need them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tracehouse.warehouse.errors import QueryError


def optional_module(name: str, purpose: str) -> Any:
    """The module; `purpose` is what needs it, for the error message.

    Raises:
        QueryError: The module is not installed.
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise QueryError(f"{purpose} needs {package}: pip install {package}") from error
