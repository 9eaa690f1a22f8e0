"""What can go wrong with a command line and with an answer."""

from __future__ import annotations


class UsageError(Exception):
    """The command line asks for what can never be, whatever the store holds."""


class OutputError(Exception):
    """Nothing can be written where the answer should go, such as a full disk."""
