"""What the drop-in refuses, as both this project's error and the one that the Inspector raises.

QueryError
├── WrongValueError     also a ValueError
└── WrongTypeError      also a TypeError
"""

from __future__ import annotations

from warehouse.errors import QueryError


class WrongValueError(QueryError, ValueError):
    """A value that cannot be used, where the Inspector raises ValueError."""


class WrongTypeError(QueryError, TypeError):
    """A value of another type than wanted, where the Inspector raises TypeError."""
