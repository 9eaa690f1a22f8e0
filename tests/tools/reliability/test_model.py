"""Each life of a state machine has a random subset of its operations.

Where every life had all of them, one operation could hide a fault for ever: the one that undoes
what leads to it.
"""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from hypothesis.strategies._internal.featureflags import FeatureFlags

from tests.tools.reliability import model
from tests.tools.reliability.model import ROUND, try_steps

pytestmark = pytest.mark.unit
SEED = 20261129
OTHERS = ("write", "read", "move", "copy", "amend", "export", "merge")
FULL = 80  # operations in a row, of four kinds or more, that fill it up


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "SETTINGS", settings(model.SETTINGS, phases=[Phase.generate]))


class Buffer(RuleBasedStateMachine):
    """Something that several operations fill and one empties, and that is wrong once it is full."""

    lives: ClassVar[list[set[str]]] = []
    is_faulty: ClassVar[bool] = True

    @initialize()
    def begin(self) -> None:
        self.since: list[str] = []
        self.lives.append(set())

    def fill(self, name: str) -> None:
        self.lives[-1].add(name)
        self.since.append(name)
        is_full = len(self.since) >= FULL and len({*self.since}) >= 4
        assert not is_full or not self.is_faulty, "full"

    @rule()
    def empty(self) -> None:
        self.lives[-1].add("empty")
        self.since.clear()


def _operation(name: str):  # type: ignore[no-untyped-def]
    def fill(self: Buffer) -> None:
        self.fill(name)

    fill.__name__ = name
    return rule()(fill)


for _name in OTHERS:
    setattr(Buffer, _name, _operation(_name))


def test_lives_lack_different_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "is_faulty", False)
    Buffer.lives.clear()
    for seed in range(SEED, SEED + 3):
        try_steps(seed, machine=Buffer)
    lives = list(map(frozenset, Buffer.lives))
    assert len(lives) >= 2 * ROUND
    assert len(set(lives)) > len(lives) / 3
    for name in (*OTHERS, "empty"):
        assert 0.2 < sum(name in life for life in lives) / len(lives) < 0.8, name


def test_fault_that_needs_an_operation_to_be_absent_is_found() -> None:
    with pytest.raises(AssertionError, match="full"):
        try_steps(SEED, machine=Buffer)


def test_the_same_fault_is_not_found_where_every_life_has_all_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FeatureFlags, "is_enabled", lambda *_: True)
    for seed in range(SEED, SEED + 3):
        try_steps(seed, machine=Buffer)
