"""What can go wrong with an answer."""

from __future__ import annotations

from queries.printable import shorten


class OutputError(Exception):
    """A table cannot be printed: standard output is full, or the format cannot hold it."""


class UnfitColumnError(OutputError):
    """A column has a value that the format cannot hold."""

    def __init__(self, form: str, column: str, error: Exception) -> None:
        """Name the format and the column."""
        super().__init__(
            f"{form}: cannot hold column '{shorten(column, 100)}' ({error}); CAST it AS VARCHAR"
        )
        self.column = column
