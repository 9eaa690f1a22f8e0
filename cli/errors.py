"""What can go wrong with an answer."""

from __future__ import annotations


class OutputError(Exception):
    """Nothing can be written where the answer should go, such as a full disk."""
