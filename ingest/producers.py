"""Which producer logged an event, and what its value is: the rules of producers.toml.

The first rule that matches an event decides; `Producers` may have rules of a user's before the
shipped ones, but never before those of the runtime itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

NS_PER_UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
UNKNOWN = "unknown"  # unit of values that may be time or not
RUNTIME = "ExecuTorch"  # producer of the events that every program has
COUNTER = "delegate_counter"

_MOST_KNOWN = 1 << 16  # distinct names whose rule is remembered

Kind = Literal[
    "method", "load", "operator_call", "kernel", "delegate_call", "delegate_op", "delegate_phase",
    "delegate_counter", "control", "other",
]  # fmt: skip
_OF_USERS = ("delegate_op", "delegate_phase", COUNTER, "other")


def _compile(value: object) -> object:
    """The pattern that a text is, of bytes as dumps have them.

    Raises:
        ValueError: It is no regular expression.
    """
    if not isinstance(value, str):
        return value
    try:
        return re.compile(value.encode(), re.DOTALL)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error


Pattern = Annotated[Any, BeforeValidator(_compile)]


class Rule(BaseModel):
    """What events of one producer are; producers.toml says what each field means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    producer: Annotated[str, Field(min_length=1)]
    source: str = ""
    delegate_id: Pattern = None
    event_name: Pattern = None
    kind: Kind
    unit: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.delegate_id is None) == (self.event_name is None):
            raise ValueError("wanted either delegate_id or event_name")
        if self.kind == COUNTER and (self.unit is None or self.unit in NS_PER_UNIT):
            raise ValueError("a delegate_counter needs a unit that is no unit of time")
        if self.kind != COUNTER and self.unit not in (None, UNKNOWN, *NS_PER_UNIT):
            raise ValueError(
                f"unit: wanted ns, us, ms, s or {UNKNOWN}; only a delegate_counter has another"
            )
        return self

    def matches(self, name: bytes, delegate_id: bytes | None) -> bool:
        """Whether an event with this name, and this text as its delegate id if any, is meant."""
        if delegate_id is None:
            return self.event_name is not None and bool(self.event_name.fullmatch(name))
        return self.delegate_id is not None and bool(self.delegate_id.fullmatch(delegate_id))


class UserRule(Rule):
    """A rule of a user's, who cannot say what events of the runtime are."""

    @model_validator(mode="after")
    def _is_of_users(self) -> Self:
        if self.kind not in _OF_USERS:
            raise ValueError(f"kind: found '{self.kind}', wanted {', '.join(_OF_USERS)}")
        return self


class _File(BaseModel):
    producers: list[Rule]


class Producers:
    """Rules in the order in which they are tried."""

    def __init__(self, own: Sequence[UserRule] = ()) -> None:
        """The shipped rules, and `own` ones before those of other producers than the runtime."""
        shipped = _shipped()
        runtime = [rule for rule in shipped if rule.producer == RUNTIME]
        self._rules = (*runtime, *own, *(rule for rule in shipped if rule.producer != RUNTIME))
        self._find = lru_cache(_MOST_KNOWN)(self._first)

    def rule_of(self, name: bytes, delegate_id: int | bytes | None) -> Rule | None:
        """The rule for an event with this name and delegate id; None if none matches.

        >>> Producers().rule_of(b"", b"RPC (execute) time (us)").unit
        'us'
        """
        if isinstance(delegate_id, int):
            return None  # numbers say nothing of who gave them
        return self._find(b"" if delegate_id is not None else name, delegate_id)

    def _first(self, name: bytes, delegate_id: bytes | None) -> Rule | None:
        return next((rule for rule in self._rules if rule.matches(name, delegate_id)), None)


@cache
def shipped_producers() -> Producers:
    """The rules that ship with tracehouse."""
    return Producers()


@cache
def _shipped() -> tuple[Rule, ...]:
    text = (files("ingest") / "producers.toml").read_text("utf-8")
    return tuple(_File.model_validate(tomllib.loads(text)).producers)
