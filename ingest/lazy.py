"""Attributes of a package that are imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package for these names, mapped to the modules that define them.

    >>> lazy_attributes("shapes", {"sqrt": "math"})("sqrt")(4)
    2.0
    >>> lazy_attributes("shapes", {})("sqrt")
    Traceback (most recent call last):
        ...
    AttributeError: module 'shapes' has no attribute 'sqrt'
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(homes[name]), name)

    return get
