"""The maps of an ETRecord, from parsed JSON: what each instruction of each method is. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ingest.strict_json import describe, parse_integer

MAX_METHODS = 1_000
MAX_NAME_LETTERS = 1_000  # names stand in every row of what they name

Handles = int | list[int]

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class DelegateMap:
    """What a delegate was given at one instruction.

    Attributes:
        name: Name of the backend; None if absent.
        handles: Debug handle or handles by delegate id, as text.
    """

    name: str | None
    handles: dict[str, Handles]


def parse_methods(
    value: object, parse: Callable[[object], _Item | None]
) -> dict[str, dict[int, _Item]]:
    """The items of each method by instruction, each as `parse` gives it; None means no item.

    Raises:
        ValueError: The value is of another form than ``{method: {instruction: item}}``, there are
            more than MAX_METHODS, or a name is longer than MAX_NAME_LETTERS.
    """
    if len(_parse_object(value)) > MAX_METHODS:
        raise ValueError(
            f"has {len(_parse_object(value)):,} methods, wanted at most {MAX_METHODS:,}"
        )
    return {
        need_name(method): {
            parse_integer(instruction, bits=32): parsed
            for instruction, item in _parse_object(items).items()
            if (parsed := parse(item)) is not None
        }
        for method, items in _parse_object(value).items()
    }


def parse_handles(value: object) -> Handles | None:
    """A debug handle, several or none.

    Raises:
        ValueError: The value is neither an integer nor a list of these nor null.
    """
    if value is None:
        return None
    if isinstance(value, list):
        return [parse_integer(handle) for handle in value]
    return parse_integer(value)


def parse_delegate(value: object) -> DelegateMap:
    """What a delegate was given.

    Raises:
        ValueError: The value is no object, its name no text or too long, or its delegate_map no map
            of handles.
    """
    delegate = _parse_object(value)
    name = delegate.get("name")
    if not isinstance(name, str | None):
        raise ValueError(f"found {describe(name)}, wanted the name of a backend")
    ids = _parse_object(delegate.get("delegate_map"))
    handles = {id_: parse_handles(value) for id_, value in ids.items()}
    need_name(name or "")
    return DelegateMap(name, {id_: value for id_, value in handles.items() if value is not None})


def need_name(text: str) -> str:
    """The text, if it is not too long for a name.

    Raises:
        ValueError: It is.
    """
    if len(text) > MAX_NAME_LETTERS:
        raise ValueError(
            f"found a name of {len(text):,} letters, {text!r:.40}..., "
            f"wanted at most {MAX_NAME_LETTERS:,}"
        )
    return text


def _parse_object(value: object) -> dict[str, object]:
    if value is None:  # an absent map
        return {}
    if isinstance(value, dict):
        return value
    raise ValueError(f"found {describe(value)}, wanted an object")
