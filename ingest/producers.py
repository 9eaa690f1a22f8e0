"""Rules of producers.toml: which producer logged an event, and what the event's value means.

The first matching rule applies. A user's rules come after the rules for the runtime itself and
before all other shipped rules.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.settings_file import FILE_NAME, read_tables

NS_PER_UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
UNKNOWN = "unknown"  # unit of values that may or may not be times
COUNTER = "delegate_counter"
OTHER = "other"

_RUNTIME = "ExecuTorch"  # producer of the events that every program has
_USER_KINDS = ("delegate_op", "delegate_phase", COUNTER, OTHER)
_KINDS = (*_USER_KINDS, "method", "load", "operator_call", "kernel", "delegate_call", "control")
_FIELDS = ("producer", "source", "delegate_id", "event_name", "kind", "unit")
_PATTERNS = ("delegate_id", "event_name")
_MOST_KNOWN = 1 << 16  # distinct names whose rules are cached
LONGEST_MATCHED = 1_000  # bytes of a name that a user's pattern, which may take long, is tried on
_LONGEST_PATTERN = 1_000
_read_rules: list[Callable[[], Sequence[Rule]]] = [tuple]  # one function, see `use_user_rules`


@dataclass(frozen=True)
class Rule:
    """A rule for events of one producer; producers.toml explains the fields.

    Attributes:
        pattern: Matches a whole delegate id, or the whole name of an event without one.
        is_of_delegates: Whether the pattern matches delegate ids.
        longest: Bytes of the longest text that the pattern is tried on; None for any.
    """

    producer: str
    pattern: re.Pattern[bytes]
    is_of_delegates: bool
    kind: str
    unit: str | None
    source: str
    longest: int | None = None

    def matches(self, text: bytes) -> bool:
        """Whether the rule is for this delegate id or name."""
        is_tried = self.longest is None or len(text) <= self.longest
        return is_tried and self.pattern.fullmatch(text) is not None


def parse_rule(fields: Mapping[str, Any], kinds: Sequence[str] = _USER_KINDS) -> Rule:
    """A rule from a table of a TOML file; users may not assign the kinds of runtime events.

    Raises:
        ValueError: The table is not a valid rule.
    """
    for name, value in fields.items():
        if name not in _FIELDS:
            raise ValueError(f"{name}: unknown field, wanted one of {', '.join(_FIELDS)}")
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name}: found {value!r}, wanted a text")
    named = [name for name in _PATTERNS if name in fields]
    if len(named) != 1:
        raise ValueError("wanted either delegate_id or event_name, a pattern for the whole text")
    if "producer" not in fields:
        raise ValueError("producer: missing, wanted the name of the component that logs the events")
    if fields.get("kind") not in kinds:
        raise ValueError(f"kind: found {fields.get('kind')!r}, wanted {', '.join(kinds)}")
    _check_unit(fields["kind"], fields.get("unit"))
    return Rule(
        fields["producer"],
        _compile(named[0], fields[named[0]]),
        named[0] == "delegate_id",
        fields["kind"],
        fields.get("unit"),
        fields.get("source", ""),
        LONGEST_MATCHED if kinds is _USER_KINDS else None,
    )


def _check_unit(kind: str, unit: str | None) -> None:
    """Check that events of the kind may have the unit.

    Raises:
        ValueError: The kind does not allow the unit.
    """
    if kind == COUNTER and (unit in (None, UNKNOWN) or unit in NS_PER_UNIT):
        raise ValueError("unit: a delegate_counter needs a unit other than a unit of time")
    if kind != COUNTER and unit not in (None, *NS_PER_UNIT, UNKNOWN):
        raise ValueError(f"unit: found '{unit}', wanted ns, us, ms, s or {UNKNOWN}")
    if unit == UNKNOWN and kind != OTHER:
        raise ValueError(f"unit: {UNKNOWN} is for events of kind {OTHER} only")


def _compile(field: str, text: str) -> re.Pattern[bytes]:
    if len(text) > _LONGEST_PATTERN:
        raise ValueError(f"{field}: more than {_LONGEST_PATTERN:,} characters")
    try:
        return re.compile(text.encode(), re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{field}: not a regular expression: {error}") from error


class Producers:
    """Rules in the order in which they apply."""

    def __init__(self, own: Sequence[Rule] = ()) -> None:
        """Order the rules: the runtime's, the user's (`own`), all other shipped ones."""
        runtime = [rule for rule in _shipped() if rule.producer == _RUNTIME]
        others = [rule for rule in _shipped() if rule.producer != _RUNTIME]
        self._rules = {
            is_of_delegates: [
                rule
                for rule in (*runtime, *own, *others)
                if rule.is_of_delegates == is_of_delegates
            ]
            for is_of_delegates in (False, True)
        }
        self._find = lru_cache(_MOST_KNOWN)(self._first)

    def rule_of(self, name: bytes, delegate_id: int | bytes | None) -> Rule | None:
        """The rule for an event with this name and delegate id; None if none matches.

        >>> Producers().rule_of(b"", b"RPC (execute) time (us)").unit
        'us'
        """
        if isinstance(delegate_id, int):
            return None  # an integer does not identify its producer
        return self._find(delegate_id is not None, name if delegate_id is None else delegate_id)

    def rules(self, *, is_of_delegates: bool) -> Sequence[Rule]:
        """The rules for events with a delegate id, or without one, in their order."""
        return self._rules[is_of_delegates]

    def _first(self, is_of_delegates: bool, text: bytes) -> Rule | None:
        rules = self._rules[is_of_delegates]
        return next((rule for rule in rules if rule.matches(text)), None)


@cache
def shipped_producers() -> Producers:
    """The rules that ship with tracehouse."""
    return Producers()


@cache
def user_rules() -> Sequence[Rule]:
    """The user's rules that this process uses in addition to the shipped ones."""
    return tuple(_read_rules[0]())


def use_user_rules(read: Callable[[], Sequence[Rule]]) -> None:
    """From now on, use the rules that `read` returns, in the whole process.

    It is called when the first rule is needed, where its SourceError is raised.
    """
    _read_rules[:] = [read]
    user_rules.cache_clear()
    known_producers.cache_clear()


@cache
def known_producers() -> Producers:
    """The shipped rules and the user's."""
    return Producers(user_rules())


def read_user_rules(path: str | os.PathLike[str] | None = None) -> list[Rule]:
    """The rules in the tables `[[producers]]` of a settings file.

    Args:
        path: The file; by default ./tracehouse.toml, if it exists.

    Raises:
        SourceError: The file cannot be read, is not TOML, or has an invalid rule.
    """
    file, tables = str(path or FILE_NAME), read_tables("producers", path=path)
    rules = []
    for number, fields in enumerate(tables.get("producers", []), 1):
        try:
            rules.append(parse_rule(fields))
        except ValueError as error:
            raise SourceError(file, f"[[producers]] number {number}: {error}") from error
    return rules


@cache
def _shipped() -> tuple[Rule, ...]:
    import tomllib

    text = (files("tracehouse.ingest") / "producers.toml").read_text("utf-8")
    return tuple(parse_rule(fields, _KINDS) for fields in tomllib.loads(text)["producers"])
