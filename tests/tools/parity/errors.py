"""How the Inspector fails."""

from __future__ import annotations

from collections.abc import Mapping

from tests.tools.parity.bugs import Bug


class InspectorError(Exception):
    """The Inspector would raise here, because of one bug."""

    def __init__(self, bug: Bug, type_: str, message: str) -> None:
        super().__init__(f"{type_}: {message} ({bug.name})")
        self.bug = bug
        self._type = type_
        self._message = message

    def is_like(self, golden: Mapping[str, str]) -> bool:
        """Whether it is this exception of a golden answer; the message is a part of that one's."""
        return golden["type"] == self._type and self._message in golden["message"]
