"""Parameters of which `make test` tries some, and `make test-all` all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def cross_section(values: Iterable[object], every: int) -> list[object]:
    """The values as parameters; all but one in `every`, from the first on, are marked slow.

    A tuple is a value for each of several parameters.
    """
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else [value]),
            marks=[pytest.mark.slow] if number % every else [],
        )
        for number, value in enumerate(values)
    ]
